"""Planned switchover and drain: who does what, given the slots, the request, and everybody's role. Pure; liveness only.

1. A *request* names the replica that leaves and the standby that is its successor. It is void when its requester is gone.
2. The successor computes as a surplus, and says `READY` when it has been at the log's head for a while.
3. In one step it takes the slot of who leaves: the new node names both. Until then nothing has changed.
4. Who reads that it was relieved leaves: it finishes what it has claimed, and stands by again, or ends if it is drained.

So a process that dies on the way leaves the others as they were, and the log decides about every epoch meanwhile.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """What a replica says of itself."""

    STANDBY = "stands by"
    PROVED = "stands by, proved"
    CATCHING_UP = "catches up"
    READY = "is at the head"

    @property
    def stands_by(self) -> bool:
        """Whether it stands by, be its state proved or not."""
        return self in (Role.STANDBY, Role.PROVED)


@dataclass(frozen=True, slots=True)
class HandoverRequest:
    """Replica `leaves` shall give its slot to the incarnation `successor`; nobody takes it over if that is empty.

    `drains`: it shall end afterwards, not stand by.
    """

    id: str
    leaves: str
    successor: str = ""
    drains: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a slot. `relieved`: the incarnation that it took the slot from, as a request said; `drained`: for good."""

    incarnation: str
    relieved: str = ""
    drained: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """What was read in ZooKeeper: slot → holder, incarnation → role, and the request, if there is one."""

    holders: Mapping[int, Holder] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    request: HandoverRequest | None = None

    def slot_of(self, incarnation: str) -> int | None:
        """The slot that it holds."""
        return next((slot for slot, holder in sorted(self.holders.items()) if holder.incarnation == incarnation), None)

    def slot_of_replica(self, replica: str) -> int | None:
        """The slot that any incarnation of `replica` holds."""
        held = (slot for slot, holder in sorted(self.holders.items()) if replica_name(holder.incarnation) == replica)
        return next(held, None)

    def standbys(self) -> tuple[str, ...]:
        """The incarnations that stand by: first those that have proved their state, whose JVM is warm, then by name."""
        names = (name for name, role in self.roles.items() if role.stands_by)
        return tuple(sorted(names, key=lambda name: (self.roles[name] is not Role.PROVED, name)))

    def present(self, replica: str) -> tuple[str, ...]:
        """The incarnations of `replica` that are there."""
        return tuple(sorted(name for name in self.roles if replica_name(name) == replica))


class SwitchoverRefusedError(Exception):
    """A switchover or a drain cannot be: why, and what to do."""


def replica_name(incarnation: str) -> str:
    """`flights.replica-0.1a2b3c4d` → `replica-0`."""
    return incarnation.rpartition(".")[0].rpartition(".")[2]


# What a replica does --------------------------------------------------------------------------------------------------


def is_summoned(view: View, me: str) -> bool:
    """Whether I am to compute as a surplus, because a request names me, and who leaves still has its slot."""
    request = view.request
    return request is not None and request.successor == me and view.slot_of_replica(request.leaves) is not None


def slot_to_take_over(view: View, me: str, role: Role) -> int | None:
    """The slot to take from who leaves: only once I am at the head, and if I have no other."""
    if view.request is None or role is not Role.READY or not is_summoned(view, me) or view.slot_of(me) is not None:
        return None
    return view.slot_of_replica(view.request.leaves)


def successor_holder_of(view: View, me: str) -> Holder | None:
    """Who took my slot from me as a request said; None while nobody has."""
    return next((holder for holder in view.holders.values() if holder.relieved == me), None)


def may_take_free_slot(view: View, me: str, role: Role, free: int, ended: Set[str] = frozenset()) -> bool:
    """Whether one of `free` slots would be for me: not once I was relieved, nor while I am to be drained.

    Nor while I stand by and others compute without a slot, as after a promotion by the log's silence: it is for them first,
    unless they have ended.
    """
    if not _may_hold_a_slot(view, me):
        return False
    return not role.stands_by or sum(_waits_for_a_slot(view, name) for name in view.roles.keys() - ended) < free


def _waits_for_a_slot(view: View, name: str) -> bool:
    computes_without = not view.roles[name].stands_by and view.slot_of(name) is None and not is_summoned(view, name)
    return computes_without and _may_hold_a_slot(view, name)


def _may_hold_a_slot(view: View, name: str) -> bool:
    return successor_holder_of(view, name) is None and not _is_drained(view, name)


def must_end(view: View, me: str, role: Role) -> bool:
    """Whether I am drained and nobody has to wait for me: relieved, standing by, or without a successor by force."""
    successor_holder = successor_holder_of(view, me)
    if successor_holder is not None and successor_holder.drained:
        return True
    request = view.request
    return request is not None and _is_drained(view, me) and (role.stands_by or not request.successor)


def _is_drained(view: View, me: str) -> bool:
    return view.request is not None and view.request.drains and view.request.leaves == replica_name(me)


# What is requested ----------------------------------------------------------------------------------------------------


def plan_promotion(view: View, replica: str | None, instead_of: str | None, request_id: str) -> HandoverRequest:
    """The request that standby `replica` becomes active in place of `instead_of`; None: the first of `View.standbys`, the
    first active.

    Raises `SwitchoverRefusedError`.
    """
    _refuse_second(view)
    active = [replica_name(holder.incarnation) for _, holder in sorted(view.holders.items())]
    standbys = view.standbys()
    if replica is not None:
        _known(view, replica)
        if replica in active:
            raise SwitchoverRefusedError(f"{replica} is active already; standing by: {_names(standbys)}")
        standbys = tuple(name for name in standbys if replica_name(name) == replica)
        if not standbys:
            raise SwitchoverRefusedError(f"{replica} does not stand by: it {view.roles[view.present(replica)[0]]}")
    if not standbys:
        raise SwitchoverRefusedError("no replica stands by that could take over; wait until one does: tandem status")
    if instead_of is not None and instead_of not in active:
        raise SwitchoverRefusedError(f"{instead_of} is not active; active: {', '.join(active) or 'none'}")
    if not active:
        raise SwitchoverRefusedError("no replica holds a slot at the moment; wait until one does: tandem status")
    return HandoverRequest(request_id, instead_of or active[0], standbys[0])


def plan_drain(view: View, replica: str, force: bool, request_id: str, to_nobody: bool = False) -> HandoverRequest:
    """The request that `replica` ends for good, after a standby took over from it if it is active.

    `force`: also where no standby could; `to_nobody`: and where one could, too. Raises `SwitchoverRefusedError`.
    """
    _refuse_second(view)
    _known(view, replica)
    mine = view.present(replica)
    if to_nobody or all(view.roles[name].stands_by for name in mine):
        return HandoverRequest(request_id, replica, drains=True)
    standbys = [name for name in view.standbys() if name not in mine]
    if standbys and view.slot_of_replica(replica) is not None:
        return HandoverRequest(request_id, replica, standbys[0], drains=True)
    if not force:
        raise SwitchoverRefusedError(
            f"{replica} is active and no replica stands by to take over from it; wait until one does, or give --force"
        )
    return HandoverRequest(request_id, replica, drains=True)


def plan_leaving(view: View, me: str, request_id: str) -> HandoverRequest | None:
    """The request of an active replica that is asked to stop; None if it has no slot to hand over, or nobody to hand it to.

    It does not drain: this incarnation ends by itself, and one that is started soon in its place shall stand by.
    """
    standbys = [name for name in view.standbys() if name != me]
    if view.slot_of(me) is None or not standbys or view.request is not None:
        return None
    return HandoverRequest(request_id, replica_name(me), standbys[0])


def _refuse_second(view: View) -> None:
    if view.request is not None:
        to = f" to {replica_name(view.request.successor)}" if view.request.successor else ""
        raise SwitchoverRefusedError(f"{view.request.leaves} is being switched over{to}; wait until that is done")


def _known(view: View, replica: str) -> None:
    if not view.present(replica):
        known = _names(view.roles)
        raise SwitchoverRefusedError(f"there is no replica {replica} that is up; there are: {known}")


def _names(incarnations: Iterable[str]) -> str:
    return ", ".join(sorted({replica_name(name) for name in incarnations})) or "none"


# How far it is --------------------------------------------------------------------------------------------------------


class Stage(StrEnum):
    """How far a request is."""

    SUMMONED = "prepares"
    CATCHING_UP = "catches up"
    READY = "is at the head"
    RELIEVED = "has taken over"
    DONE = "done"
    SUCCESSOR_GONE = "the successor ended"
    LEAVER_GONE = "who leaves ended by itself"


def stage_of(view: View, request: HandoverRequest, leaving: Collection[str]) -> Stage:
    """How far `request` is; `leaving` are the incarnations of the replica that leaves, as they were at the request."""
    gone = not any(name in view.roles for name in leaving)
    if not request.successor:
        return Stage.DONE if gone else Stage.SUMMONED
    relieved = any(holder.relieved in leaving for holder in view.holders.values())
    lost = view.slot_of_replica(request.leaves) is None  # with its session: then the successor takes a free slot
    if relieved or (lost and view.slot_of(request.successor) is not None):
        return Stage.DONE if gone else Stage.RELIEVED
    role = view.roles.get(request.successor)
    if role is None:
        return Stage.SUCCESSOR_GONE
    if lost:
        return Stage.LEAVER_GONE
    if role.stands_by:
        return Stage.SUMMONED
    return Stage.READY if role is Role.READY else Stage.CATCHING_UP


# Who leads ------------------------------------------------------------------------------------------------------------


def leading_orderer(nodes: Sequence[tuple[str, str]], active: Collection[str]) -> str | None:
    """Of orderers (node, replica that it stands beside), in the order of their arrival, the first beside an active replica.

    The first of all if none is: an orderer beside a standby resigns as soon as there is a better one.
    """
    beside_active = [node for node, replica in nodes if replica in active]
    return next(iter([*beside_active, *(node for node, _ in nodes)]), None)


# As bytes -------------------------------------------------------------------------------------------------------------


def encode(value: HandoverRequest | Holder) -> bytes:
    """A request or a holder as the value of a node."""
    return json.dumps(asdict(value)).encode()


def decode_request(value: bytes) -> HandoverRequest | None:
    """The request in a node; None if it is none, as of another version."""
    try:
        return HandoverRequest(**json.loads(value))
    except (ValueError, TypeError):
        return None


def decode_holder(value: bytes) -> Holder:
    """The holder in a node; one that is no JSON is the bare name of an incarnation."""
    try:
        return Holder(**json.loads(value))
    except (ValueError, TypeError):
        return Holder(value.decode(errors="replace"))
