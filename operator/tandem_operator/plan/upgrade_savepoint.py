"""The savepoint that an upgrade begins with: its task, and the next one should that fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem_operator.actions import Object
from tandem_operator.observed import Observed, PodPhase, TaskSeen
from tandem_operator.resources import tasks
from tandem_operator.resources.settings import Settings
from tandem_operator.status import Upgrade

_PAUSES_MS: Final = (30_000, 120_000)
"""After each try but the last: a store that hiccups has recovered by then, or a node is there."""


@dataclass(frozen=True, slots=True)
class Try:
    """One of the tries to make the savepoint `name`. `seen`: its task, None: it is not there."""

    number: int
    name: str
    task: Object
    seen: TaskSeen | None

    @property
    def is_last(self) -> bool:
        """Whether there is none after it."""
        return self.number > len(_PAUSES_MS)

    def is_over(self, now_ms: int) -> bool:
        """Whether the next one is due, of one that failed."""
        return not self.is_last and self.seen is not None and now_ms >= self.seen.over_ms + _PAUSES_MS[self.number - 1]

    def story(self, now_ms: int) -> str:
        """What is to be said of it beyond that it is made; "": nothing."""
        if self.seen is None:
            return ""
        words = self.seen.words.rstrip(". ")
        if self.seen.has_failed(now_ms):
            return f". Try {self.number} of {len(_PAUSES_MS) + 1} failed, another one will follow: {words}"
        is_waiting = self.seen.phase is PodPhase.PENDING and self.seen.message
        return f". Pod {self.seen.name} waits: {self.seen.message.rstrip('. ')}" if is_waiting else ""


def newest_try(observed: Observed, settings: Settings, known: Upgrade) -> Try:
    """The last one whose task is there; else the first one."""
    tries = [try_of(observed, settings, known, number) for number in range(1, len(_PAUSES_MS) + 2)]
    return next((one for one in reversed(tries) if one.seen is not None), tries[0])


def try_of(observed: Observed, settings: Settings, known: Upgrade, number: int) -> Try:
    """Each has a name of its own: the one before it may have made a savepoint, and have been unable to say so."""
    name = known.savepoint if number == 1 else f"{known.savepoint}-{number}"
    task = tasks.savepoint(observed.job, observed.uid, settings, name, known.revision)
    seen = next((one for one in observed.tasks if one.name == task["metadata"]["name"]), None)
    return Try(number, name, task, seen)
