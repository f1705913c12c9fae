"""Who leads: an election in ZooKeeper that only ever decides who proposes first.

Two processes may both believe for a while that they lead; the ordering log keeps that harmless. A suspended connection
ends the belief at once, and nothing else: the one that cut the last epoch continues to propose (`Pace.acts`), and others
do in the leader's silence, so that a job outlives an outage of ZooKeeper. An orderer beside a standby resigns as soon as
another one stands beside an active. A leader that was killed is passed over as soon as its connections close, long before
its session ends.
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kazoo.exceptions import NoNodeError

from tandem.coordination.beacon import Address
from tandem.coordination.peers import Peers
from tandem.coordination.zookeeper import Member
from tandem.logs import get_logger
from tandem.protocol.switchover import decode_holder, leading_orderer, replica_name
from tandem.waits import Task

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who takes part: its `name`, for readers of its node, the replica that it stands `beside`, and an `id` of its own."""

    name: str
    beside: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


class Election:
    """Holds an ephemeral, sequential node below `path` whenever ZooKeeper answers; the lowest node leads, of those beside
    active replicas if there are such, and of those that have not ended.

    `options` : arguments of KazooClient: hosts, timeout (s), TLS and credentials.
    `slots` : the folder that says which replicas are active.
    `on_change` : called with whether this process leads now, from a thread of the election.
    `peers` : watches the other candidates, and is watched by them as the candidate's `id`; None: nobody is.
    `task` : says when ZooKeeper does not answer.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        path: str,
        candidate: Candidate,
        slots: str = "",
        on_change: Callable[[bool], None] = lambda _: None,
        peers: Peers | None = None,
        task: Task | None = None,
    ) -> None:
        self._member = Member(options, "election", path, self._round, self._suspended, task=task)
        self._me = candidate
        self._slots = slots
        self._on_change = on_change
        self._peers = peers
        self._nodes: Sequence[str] = ()
        self._active: frozenset[str] = frozenset()
        self._addresses: dict[str, Address | None] = {}  # of a candidate's id
        self._leading = False

    @property
    def leading(self) -> bool:
        """Whether this process believes that it leads."""
        return self._leading

    def start(self) -> None:
        """Begin to take part; returns at once, whether or not ZooKeeper can be reached."""
        if self._peers is not None:
            self._peers.start(self._member.wake)
        self._member.start()

    def stop(self) -> None:
        """Resign: the node is removed, so that the next one leads without waiting for the session's end."""
        try:
            self._member.stop()
        finally:
            if self._peers is not None:
                self._peers.stop()

    def _round(self, member: Member) -> None:
        """Make sure that our node is there, and look whose is the first."""
        self._decide(member)  # somebody may have ended: what was read before says who is next
        nodes = _in_order(member)
        if self._me.id not in map(_id, nodes):
            # The reply to an earlier creation may have been lost: the id in the name shows that it worked.
            member.create(f"{self._me.id}.{self._me.beside}-", self._value(), sequence=True)
            nodes = _in_order(member)
        holders = member.values(self._slots).values() if self._slots else ()
        self._nodes = nodes
        self._active = frozenset(replica_name(decode_holder(value).incarnation) for value in holders)
        self._watch(member)
        self._decide(member)

    def _suspended(self) -> None:
        self._nodes = ()  # ours may be gone when ZooKeeper answers again
        self._set(False)

    def _decide(self, member: Member) -> None:
        ended = frozenset() if self._peers is None else self._peers.ended
        alive = [(node, _beside(node)) for node in self._nodes if _id(node) not in ended]
        first = leading_orderer(alive, self._active)
        self._set(first is not None and _id(first) == self._me.id and member.connected)

    def _value(self) -> bytes:
        address = None if self._peers is None else self._peers.address
        return json.dumps({"name": self._me.name} | ({} if address is None else asdict(address))).encode()

    def _watch(self, member: Member) -> None:
        """Keep a connection to each of the others that says where it can be reached."""
        if self._peers is None:
            return
        others = {_id(node): node for node in self._nodes if _id(node) != self._me.id}
        self._addresses = {other: self._addresses[other] for other in others.keys() & self._addresses.keys()}
        for other in others.keys() - self._addresses.keys():
            try:
                self._addresses[other] = Address.decode(member.value(others[other]))
            except NoNodeError:
                continue  # gone meanwhile
        self._peers.watch({other: address for other, address in self._addresses.items() if address is not None})

    def _set(self, leads: bool) -> None:
        if leads != self._leading:
            self._leading = leads
            _log.info("leadership", leading=leads, name=self._me.name)
            self._on_change(leads)


def _in_order(member: Member) -> list[str]:
    return sorted(member.children(), key=lambda node: int(node.rpartition("-")[2]))


def _id(node: str) -> str:
    """`<id>.replica-0-0000000012` → `<id>`."""
    return node.partition(".")[0]


def _beside(node: str) -> str:
    """`<id>.replica-0-0000000012` → `replica-0`."""
    return node.rpartition("-")[0].partition(".")[2]
