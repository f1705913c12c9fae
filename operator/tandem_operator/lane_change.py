"""Another number of lanes for a job that lives: what comes next, from what is seen. Pure.

1. Checking: a task says whether the number can change, while the lanes run.
2. Stopping: the jobs of all lanes are suspended. Each lane takes a last snapshot.
3. Dividing: a task divides the states, and writes all logs in one transaction. Before that, the lanes are what they were.
4. Beginning: the jobs of the lanes before go, and those of the new ones are made.

The stage is in the status before anything is done for it, and each deed may be repeated: so another operator goes on where
one was killed. A task that has failed is tried once more, which also tells whether the first one was killed behind its
transaction. What cannot be done ends as Refused: the lanes go on as they were, until the spec changes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tandem_operator.observed import LANES_S, UNBEGUN_MS, PodPhase, TaskSeen
from tandem_operator.plan.times import read_ms, written
from tandem_operator.status import LONGEST_FAILURE, LaneChange, LaneStage

_MOST_TRIES: Final = 2
_STOP_MS: Final = 600_000
"""So long the lanes may take to stop."""
_AFTER_REFUSAL: Final = "The job goes on with {before} lanes. Set spec.lanes to {before}, or repair it and set it again"


@dataclass(frozen=True, slots=True)
class LaneJob:
    """The job of a lane: with how many lanes it was made, and whether it was asked to stop for good, and has."""

    uid: str
    lanes: int
    is_asked_to_stop: bool = False
    has_stopped: bool = False


@dataclass(frozen=True, slots=True)
class LanesStep:
    """What is to be done about the number of lanes. `lanes`: how many there are to be now.

    `change` : what is to be remembered; None: nothing changes. `stops`, `removes`: lanes whose jobs are to be suspended, or
    deleted. `task` : which one is to be there; `ended`: the number has changed. `holds` : the lanes' jobs stay as they are.
    """

    lanes: int
    change: LaneChange | None = None
    stops: frozenset[int] = frozenset()
    removes: frozenset[int] = frozenset()
    task: Literal["check", "change"] | None = None
    ended: bool = False
    holds: bool = False


def lanes_step(
    wanted: int,
    generation: int,
    known: LaneChange | None,
    lanes: Mapping[int, LaneJob],
    task: TaskSeen | None,
    now_ms: int,
) -> LanesStep:
    """The next step. `wanted`, `generation`: of the spec; `task`: that of the stage that is known, if it is there."""
    if known is not None and known.to != wanted and known.stage in ("Checking", "Stopping", "Refused"):
        known = None  # nothing is written yet
    if known is None or known.stage == "Refused":
        return _begun(wanted, generation, known, lanes, now_ms)
    match known.stage:
        case "Checking":
            step = LanesStep(known.before, known, task="check")
            return _after(step, task, now_ms, "Stopping")
        case "Stopping":
            return _stopped(known, lanes, now_ms)
        case "Dividing":
            step = LanesStep(known.before, known, task="change", holds=True)
            return _after(step, task, now_ms, "Beginning")
        case _:
            return _beginning(known, lanes)


def _begun(
    wanted: int, generation: int, known: LaneChange | None, lanes: Mapping[int, LaneJob], now_ms: int
) -> LanesStep:
    numbers = {one.lanes for one in lanes.values()}
    if numbers <= {wanted}:
        return LanesStep(wanted)
    before = max(numbers - {wanted})
    if wanted in numbers:  # the jobs of new lanes are made when the logs are theirs
        return LanesStep(wanted, _change(before, wanted, "Beginning", generation, now_ms))
    if known is not None and known.generation == generation:
        return LanesStep(before, known)
    return LanesStep(before, _change(before, wanted, "Checking", generation, now_ms))


def _change(before: int, to: int, stage: LaneStage, generation: int, now_ms: int) -> LaneChange:
    return LaneChange(before=before, to=to, stage=stage, generation=generation, since=written(now_ms))


def _after(step: LanesStep, task: TaskSeen | None, now_ms: int, then: LaneStage) -> LanesStep:
    """What follows from a stage's task."""
    known = step.change
    assert known is not None  # noqa: S101
    if task is None:
        return step
    failure = _failure(task, now_ms)
    if failure:
        if known.attempt < _MOST_TRIES:
            again = known.model_copy(update={"attempt": known.attempt + 1})
            return LanesStep(step.lanes, again, holds=step.holds)
        return _refused(known, failure)
    return LanesStep(step.lanes, _at(known, then, now_ms), holds=step.holds) if task.has_ended else step


def _failure(task: TaskSeen, now_ms: int) -> str:
    """Why it will not do it any more; "": it may."""
    if task.phase in (PodPhase.FAILED, PodPhase.PENDING):
        return task.words if task.has_failed(now_ms) else ""
    is_late = not task.has_ended and now_ms >= task.created_ms + UNBEGUN_MS + (LANES_S + 60) * 1000
    return f"it has not ended within {LANES_S // 60} min" if is_late and task.created_ms else ""


def _stopped(known: LaneChange, lanes: Mapping[int, LaneJob], now_ms: int) -> LanesStep:
    is_whole = set(range(known.before)) <= lanes.keys()
    if is_whole and all(one.has_stopped for one in lanes.values()):
        return LanesStep(known.before, _at(known, "Dividing", now_ms), holds=True)
    if now_ms - read_ms(known.since) > _STOP_MS:
        late = (lane for lane in range(known.before) if lane not in lanes or not lanes[lane].has_stopped)
        named = ", ".join(map(str, late))
        return _refused(known, f"lanes {named} have not stopped within {_STOP_MS // 60_000} min")
    stops = frozenset(lane for lane, one in lanes.items() if not one.is_asked_to_stop)
    return LanesStep(known.before, known, stops=stops, holds=True)


def _beginning(known: LaneChange, lanes: Mapping[int, LaneJob]) -> LanesStep:
    old = frozenset(lane for lane, one in lanes.items() if one.lanes != known.to)
    if not old and set(range(known.to)) <= lanes.keys():
        return LanesStep(known.to, ended=True)
    return LanesStep(known.to, known, removes=old)


def _at(known: LaneChange, stage: LaneStage, now_ms: int) -> LaneChange:
    return known.model_copy(update={"stage": stage, "attempt": 1, "since": written(now_ms)})


def _refused(known: LaneChange, words: str) -> LanesStep:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    why = (lines[-1] if lines else "nobody knows why").rstrip(". ")
    message = f"{why}. {_AFTER_REFUSAL.format(before=known.before)}"
    refused = known.model_copy(update={"stage": "Refused", "message": message[:LONGEST_FAILURE]})
    return LanesStep(known.before, refused)
