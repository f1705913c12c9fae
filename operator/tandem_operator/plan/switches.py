"""Tasks that ask the replicas for a switchover: not asked for again at once if one failed, and removed when they ended.

One that does not begin in time counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tandem_operator.actions import Action, DeletePod, Emit, Switch
from tandem_operator.observed import Observed, PodPhase, TaskSeen
from tandem_operator.resources.tasks import DRAIN, PROMOTE, kind_of

_AGAIN_MS: Final = 60_000


def patiently(observed: Observed, actions: Iterable[Action]) -> tuple[Action, ...]:
    """The actions without switches of a kind that failed less than a minute ago."""
    failed = {_kind(observed, task) for task in observed.tasks if _failed_lately(task, observed.now_ms)}
    return tuple(one for one in actions if not (isinstance(one, Switch) and _kind_asked(one) in failed))


def ended_switches(observed: Observed) -> tuple[Action, ...]:
    """Removes tasks that have ended, and reports why some failed. To be done after the switches of the pass."""
    return tuple(_removals(observed))


def _removals(observed: Observed) -> Iterator[Action]:
    for task in observed.tasks:
        failed = task.has_failed(observed.now_ms)
        is_due = (task.has_ended or failed) and not _failed_lately(task, observed.now_ms)
        if not is_due or _kind(observed, task) not in (PROMOTE, DRAIN):
            continue
        yield DeletePod(task.name, task.uid, "it has ended", 0)
        if failed:
            yield Emit("Warning", "SwitchFailed", f"{task.name} failed: {task.words}", once=task.uid)


def _failed_lately(task: TaskSeen, now_ms: int) -> bool:
    return task.phase is PodPhase.FAILED and now_ms - (task.ended_ms or task.created_ms) < _AGAIN_MS


def _kind(observed: Observed, task: TaskSeen) -> str:
    return kind_of(observed.job.name, task.name)


def _kind_asked(switch: Switch) -> str:
    return DRAIN if switch.drains else PROMOTE
