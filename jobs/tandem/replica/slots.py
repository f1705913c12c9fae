"""Slots: as many as the job shall have active replicas, each an ephemeral node in ZooKeeper.

Whoever holds a slot is active; a standby that gets one is thereby promoted. Like the election, slots only say who *should*
compute: a replica that goes on without one costs computing time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tandem.logs import get_logger
from tandem.zookeeper import Member

_log = get_logger(__name__)


class Slots:
    """Tries to hold one of the job's slots whenever ZooKeeper answers.

    Parameters
    ----------
    options : arguments of KazooClient.
    job, count : the job, and how many slots it has.
    incarnation : who holds the slot, for whoever reads the node.
    """

    def __init__(self, options: Mapping[str, Any], job: str, count: int, incarnation: str) -> None:
        self._member = Member(options, "slots", f"/tandem/{job}/slots", self._round, self._suspended)
        self._count = count
        self._incarnation = incarnation
        self._slot: int | None = None
        self._surplus = False

    @property
    def slot(self) -> int | None:
        """The slot that this incarnation holds, as far as it knows; it is not given up while ZooKeeper is away."""
        return self._slot

    @property
    def is_surplus(self) -> bool:
        """Whether ZooKeeper says that others hold all slots."""
        return self._surplus

    def start(self) -> None:
        """Begin to try; returns at once."""
        self._member.start()

    def stop(self) -> None:
        """Give the slot up, at once."""
        self._member.stop()

    def _round(self, member: Member) -> None:
        """Look whose the slots are, and take a free one if none is ours."""
        taken = set(member.children())
        free = [slot for slot in range(self._count) if str(slot) not in taken]
        mine = self._mine(member, taken)
        if mine is None:
            mine = next((slot for slot in free if member.create(str(slot), self._incarnation.encode())), None)
        if mine != self._slot:
            _log.info("slot", slot=mine, before=self._slot)
        self._slot, self._surplus = mine, mine is None

    def _mine(self, member: Member, taken: set[str]) -> int | None:
        """Our slot; after a lost reply or a session's end only the node itself can tell."""
        for slot in range(self._count):
            if str(slot) in taken and member.value(str(slot)) == self._incarnation.encode():
                return slot
        return None

    def _suspended(self) -> None:
        self._surplus = False
