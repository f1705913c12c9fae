"""Slots: as many as the job shall have active replicas, each an ephemeral node in ZooKeeper.

A replica with a slot is active; a standby that gets one is thereby promoted. Like the election, slots only say who *should*
compute: a replica that goes on without one costs computing time, and nothing else. Beside the slots, every replica says
what it does, and one request at a time asks for a switchover (`protocol/switchover.py` decides what follows from that).

    /tandem/<job>/slots/<n>                 who holds slot n, and whom it relieved
    /tandem/<job>/replicas/<incarnation>    its role
    /tandem/<job>/addresses/<incarnation>   where others can watch whether it lives
    /tandem/<job>/switchover/request        who is to leave, and who is to take over
"""

import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tandem.coordination.beacon import Address
from tandem.coordination.peers import Peers
from tandem.coordination.zookeeper import Member, Nodes
from tandem.core.events import Seen
from tandem.logs import get_logger
from tandem.protocol.membership import free_slots, held_by, replaces_ended
from tandem.protocol.switchover import (
    HandoverRequest,
    Holder,
    Role,
    View,
    decode_holder,
    decode_request,
    encode,
    is_summoned,
    may_take_free_slot,
    must_end,
    plan_leaving,
    slot_to_take_over,
    successor_holder_of,
)
from tandem.waits import Task

_log = get_logger(__name__)

REQUEST = "switchover/request"
"""The node of a handover request; its name is older than the term."""
FOLDERS = ("slots", "replicas", "switchover", "addresses")
_LOOK_S = 1.0
"""How often everything is read where no watch has fired."""


def root_of(job: str) -> str:
    """Where a job's nodes are."""
    return f"/tandem/{job}"


def look(nodes: Nodes) -> View:
    """Read a job's slots, roles and request. Raises `ZOOKEEPER_ERRORS`."""
    request = nodes.values("switchover").get("request")
    return View(
        {int(name): decode_holder(value) for name, value in nodes.values("slots").items() if name.isdigit()},
        {name: _role(value) for name, value in nodes.values("replicas").items()},
        None if request is None else decode_request(request),
    )


class Slots:
    """Tries to hold one of the job's slots whenever ZooKeeper answers, and takes part in switchovers.

    `options` : arguments of KazooClient.
    `job`, `count` : the job, and how many slots it has; 0: nobody contends, replicas only say what they do.
    `incarnation` : who holds the slot, for readers of the node.
    `peers` : the other replicas, to watch them and to be watched by them; None: nobody is.
    `task` : says when ZooKeeper does not answer.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        job: str,
        count: int,
        incarnation: str,
        clock_s: Callable[[], float] = time.monotonic,
        peers: Peers | None = None,
        task: Task | None = None,
    ) -> None:
        self._member = Member(options, "slots", root_of(job), self._round, self._suspended, FOLDERS, task)
        self._count = count
        self._me = incarnation
        self._clock_s = clock_s
        self._peers = peers
        self._addresses: dict[str, Address] = {}
        self._replaces_ended = False
        self._role = Role.STANDBY if count else Role.CATCHING_UP
        self._leaving: HandoverRequest | None = None
        self._asked_to_leave = False
        self._looked_s = -float("inf")
        self._view = View()
        self._slot: int | None = None
        self._surplus = False
        self._successor_holder: Holder | None = None
        self.on_ended: Callable[[], None] = lambda: None
        """Called, by a thread of `peers`, when one of them has ended, or is back."""

    @property
    def slot(self) -> int | None:
        """The slot that this incarnation holds, as far as it knows; it is not given up while ZooKeeper is away."""
        return self._slot

    @property
    def view(self) -> View:
        """What was last read; while ZooKeeper is away, what it was before."""
        return self._view

    @property
    def connected(self) -> bool:
        """Whether ZooKeeper answers."""
        return self._member.connected

    @property
    def is_surplus(self) -> bool:
        """Whether ZooKeeper says that others hold all slots, and nobody has asked for one more replica."""
        return self._surplus

    @property
    def is_summoned(self) -> bool:
        """Whether a request asks this standby to compute, to take over."""
        return self._member.connected and is_summoned(self._view, self._me)

    @property
    def replaces_ended(self) -> bool:
        """Whether an active has ended in whose place this standby is to compute, though its slot is not free yet."""
        return self._replaces_ended

    @property
    def successor_holder(self) -> Holder | None:
        """Who took this replica's slot as a request asked; None while nobody has."""
        return self._successor_holder

    @property
    def must_end(self) -> bool:
        """Whether this replica is drained, and nobody has to wait for it."""
        return must_end(self._view, self._me, self._role)

    @property
    def can_hand_over(self) -> bool:
        """Whether there is somebody who could take over the slot before this replica stops."""
        if not self._member.connected or self._slot is None or not self._view.roles:
            return False
        if self._leaving is not None:
            return self._leaving.successor in self._view.roles
        return bool(self._view.standbys())

    def seen(self, has_proved: bool = False) -> Seen:
        """What a core is to know; `has_proved`: the state that this replica follows was found to be right."""
        promotes = (self._slot, self.replaces_ended, self.is_summoned)
        ended = frozenset() if self._peers is None else self._peers.ended
        return Seen(
            *promotes, self.must_end, has_proved, self._surplus, self._successor_holder, self.can_hand_over, ended
        )

    def start(self) -> None:
        """Begin to try; returns at once."""
        if self._peers is not None:
            self._peers.start(self._somebody_ended)
        self._member.start()

    def stop(self) -> None:
        """Give the slot up, at once."""
        try:
            self._member.stop()
        finally:
            if self._peers is not None:
                self._peers.stop()

    def tell(self, role: Role) -> None:
        """This replica does something else now; ZooKeeper is informed at once."""
        if role is not self._role:
            self._role = role
            self._look_again()

    def leave(self) -> None:
        """This replica is to stop: ask a standby, if there is one, to take over the slot."""
        self._asked_to_leave = True
        self._look_again()

    def _somebody_ended(self) -> None:
        self._look_again()
        self.on_ended()

    def _look_again(self) -> None:
        self._looked_s = -float("inf")
        self._member.wake()

    def _round(self, member: Member) -> None:
        """Look whose the slots are, and take a free one, or the one that a request gives us."""
        if not member.has_news and self._clock_s() - self._looked_s < _LOOK_S:
            return
        role = self._role
        view = look(member)
        if view.roles.get(self._me) is not role:
            self._say(member, role, self._me in view.roles)
        if self._asked_to_leave:
            self._request_to_leave(member, view)
        mine = self._take(member, view, role)
        self._watch_peers(member, view)
        if mine != self._slot:
            _log.info("slot", slot=mine, before=self._slot)
        self._view, self._looked_s = view, self._clock_s()
        self._successor_holder = self._successor_holder or successor_holder_of(view, self._me)
        self._surplus = self._count > 0 and mine is None and not is_summoned(view, self._me)
        self._slot = mine

    def _say(self, member: Member, role: Role, is_there: bool) -> None:
        name = f"replicas/{self._me}"
        if is_there:
            member.write(name, role.encode())
            return
        if self._peers is not None and self._peers.address is not None:
            member.create(f"addresses/{self._me}", self._peers.address.encode())
        member.create(name, role.encode())

    def _take(self, member: Member, view: View, role: Role) -> int | None:
        """Our slot, perhaps a new one; after a lost reply or a session's end only the node itself can tell."""
        mine = held_by(
            self._me.encode(), ((slot, holder.incarnation.encode()) for slot, holder in view.holders.items())
        )
        free = free_slots(self._count, view.holders)
        ended = frozenset() if self._peers is None else self._peers.ended
        if mine is None and may_take_free_slot(view, self._me, role, len(free), ended):
            own = encode(Holder(self._me))
            mine = next((slot for slot in free if member.create(f"slots/{slot}", own)), None)
        wanted = slot_to_take_over(view, self._me, role) if mine is None else None
        if wanted is not None and view.request is not None:
            holder = Holder(self._me, view.holders[wanted].incarnation, view.request.drains)
            if member.replace(f"slots/{wanted}", encode(holder), only_while=REQUEST):
                _log.info("took_over_slot", slot=wanted, relieved=holder.relieved, request=view.request.id)
                mine = wanted
        return mine

    def _watch_peers(self, member: Member, view: View) -> None:
        """Who of the others has ended, and whether this replica, if it stands by, is to replace one of them."""
        if self._peers is None:
            return
        others = view.roles.keys() - {self._me}
        if others - self._addresses.keys():
            found = {name: Address.decode(value) for name, value in member.values("addresses").items()}
            self._addresses = {name: address for name, address in found.items() if address is not None}
        self._peers.watch({name: address for name, address in self._addresses.items() if name in others})
        self._replaces_ended = replaces_ended(view, self._me, self._peers.ended)

    def _request_to_leave(self, member: Member, view: View) -> None:
        """Ask for a successor; for another one, if that has gone meanwhile."""
        if self._leaving is not None and view.request == self._leaving and self._leaving.successor not in view.roles:
            member.remove(REQUEST)
            self._leaving = None
        elif view.request is None:
            request = plan_leaving(view, self._me, uuid.uuid4().hex[:8])
            if request is not None and member.create(REQUEST, encode(request)):
                self._leaving = request

    def _suspended(self) -> None:
        self._surplus = self._replaces_ended = False
        self._looked_s = -float("inf")


def _role(value: bytes) -> Role:
    with suppress(ValueError):
        return Role(value.decode(errors="replace"))
    return Role.CATCHING_UP
