"""Who leads: an election in ZooKeeper that only ever decides who proposes first.

Two processes may both believe for a while that they lead; the ordering log keeps that harmless. A suspended connection
ends the belief at once, and nothing else: the one that cut the last epoch continues to propose (`Pace.acts`), and others
do in the leader's silence, so that a job outlives an outage of ZooKeeper. An orderer beside a standby resigns as soon as
another one stands beside an active.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from tandem.coordination.zookeeper import Member
from tandem.logs import get_logger
from tandem.protocol.switchover import decode_holder, leading_orderer, replica_name
from tandem.waits import Task

_log = get_logger(__name__)


class Election:
    """Holds an ephemeral, sequential node below `path` whenever ZooKeeper answers; the lowest node leads, of those beside
    active replicas if there are such.

    `options` : arguments of KazooClient: hosts, timeout (s), TLS and credentials.
    `name` : who takes part, for readers of the node.
    `on_change` : called with whether this process leads now, from a thread of the election.
    `beside` : the replica that it stands beside; `slots`: the folder that tells which replicas are active.
    `task` : says when ZooKeeper does not answer.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        path: str,
        name: str,
        on_change: Callable[[bool], None] = lambda _: None,
        beside: str = "",
        slots: str = "",
        task: Task | None = None,
    ) -> None:
        self._member = Member(options, "election", path, self._round, lambda: self._set(False), task=task)
        self._name = name
        self._on_change = on_change
        self._beside = beside
        self._slots = slots
        self._guid = uuid.uuid4().hex
        self._leading = False

    @property
    def leading(self) -> bool:
        """Whether this process believes that it leads."""
        return self._leading

    def start(self) -> None:
        """Begin to take part; returns at once, whether or not ZooKeeper can be reached."""
        self._member.start()

    def stop(self) -> None:
        """Resign: the node is removed, so that the next one leads without waiting for the session's end."""
        self._member.stop()

    def _round(self, member: Member) -> None:
        """Make sure that our node is there, and look whose is the first."""
        nodes = self._nodes(member)
        if not any(self._guid in node for node in nodes):
            # The reply to an earlier creation may have been lost: the guid in the name tells that it worked.
            member.create(f"{self._guid}.{self._beside}-", self._name.encode(), sequence=True)
            nodes = self._nodes(member)
        holders = member.values(self._slots).values() if self._slots else ()
        active = {replica_name(decode_holder(value).incarnation) for value in holders}
        first = leading_orderer([(node, _beside(node)) for node in nodes], active)
        self._set(first is not None and self._guid in first and member.connected)

    def _nodes(self, member: Member) -> list[str]:
        return sorted(member.children(), key=lambda node: int(node.rpartition("-")[2]))

    def _set(self, leads: bool) -> None:
        if leads != self._leading:
            self._leading = leads
            _log.info("leadership", leading=leads, name=self._name)
            self._on_change(leads)


def _beside(node: str) -> str:
    """`<guid>.replica-0-0000000012` → `replica-0`."""
    return node.rpartition("-")[0].partition(".")[2]
