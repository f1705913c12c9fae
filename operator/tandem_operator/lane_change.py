"""Another number of lanes for a job that lives: what comes next, from what is seen. Pure.

1. Checking: a task says whether the number can change, while the lanes run.
2. Stopping: the jobs of all lanes are suspended. Each lane takes a last snapshot.
3. Dividing: a task divides the states, and writes all logs in one transaction. Before that, the lanes are what they were.
4. Beginning: the jobs of the lanes before go, and those of the new ones are made.

The stage is in the status before anything is done for it, and each deed may be repeated: so another operator goes on where
one was killed. What a task refuses (exit code 78) ends the change as Refused: nothing is written, and the lanes go on as
they were, until the spec changes again.

A task that fails otherwise is tried again, later and later: it may have been killed behind its transaction, which only
another one tells, and as long as none has, the stage stays. When none has after the last try, that is said as it is: the
lanes start as they were, and if the logs are of other lanes, their replicas refuse to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from tandem.process.info import ExitCode
from tandem_operator.observed import LANES_S, UNBEGUN_MS, PodPhase, TaskSeen
from tandem_operator.plan.times import read_ms, written
from tandem_operator.status import LONGEST_FAILURE, LaneChange, LaneStage

_MOST_TRIES: Final[Mapping[LaneStage, int]] = {"Checking": 2, "Dividing": 7}
_WAITS_MS: Final = (0, 15_000, 30_000, 60_000, 120_000, 300_000)
"""Before the second try of a task, the third, …: what is wrong may pass, but the lanes stand still meanwhile."""
_LONGEST_MS: Final = 3_600_000
"""After so long in a stage a task that has failed, or was never made, is not tried again, but for one that failed once."""
_SAY_MS: Final = 60_000
"""After so long it is said why a task has not begun."""
_UNMADE_MS: Final = 300_000
"""After so long without its task a change whose number was set back ends, if no task of the stage was there before."""
_STOP_MS: Final = 600_000
"""So long the lanes may take to stop."""
_ASK_MS: Final = 60_000
"""A lane that is not asked to stop by then is asked late: an operator was away. The time to stop begins again, once."""
_AFTER_REFUSAL: Final = "The job goes on with {lanes}. Set spec.lanes to {before}, or repair it and set it again"
_AFTER_DOUBT: Final = (
    "Whether the logs are those of {to} lanes by now is not known. The job starts with {lanes}: it goes on or, if the logs "
    "are its own no longer, refuses to run and publishes nothing. Repair it, and set spec.lanes to {before}, then to {to}: "
    "that is done from what the logs say"
)


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
    deleted; one that is to be suspended and is gone is made so, and says then that nothing of it runs. `task` : which one is
    to be there; `ended`: the number has changed. `holds` : the lanes' jobs stay as they are.
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
            if task is None and _is_unmade(known, wanted, now_ms):
                return _refused(known, known.message or "its task could not be made", _AFTER_DOUBT)
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
        return replace(step, task=None) if _is_early(known, now_ms) else step
    failure = _failure(task, now_ms)
    if failure and task.exit_code == ExitCode.REFUSED:
        return _refused(known, failure)
    if failure:
        return _tried(step, known, failure, now_ms)
    if task.has_ended:
        return LanesStep(step.lanes, _at(known, then, now_ms), holds=step.holds)
    if task.phase is PodPhase.PENDING and task.message and now_ms >= task.created_ms + _SAY_MS:
        waits = f"the task of try {known.attempt} has not begun: {_line(task.message)}"
        return replace(step, change=known.model_copy(update={"message": waits[:LONGEST_FAILURE]}))
    return step


def _tried(step: LanesStep, known: LaneChange, failure: str, now_ms: int) -> LanesStep:
    """What follows from a try that has failed and decided nothing."""
    most = _MOST_TRIES[known.stage]
    is_long = known.attempt > 1 and now_ms - read_ms(known.since) > _LONGEST_MS
    if known.attempt >= most or is_long:
        return _refused(known, failure, _AFTER_DOUBT if known.stage == "Dividing" else _AFTER_REFUSAL)
    message = f"try {known.attempt} of {most} failed: {_line(failure)}"[:LONGEST_FAILURE]
    at = written(now_ms + _WAITS_MS[known.attempt - 1])
    again = known.model_copy(update={"attempt": known.attempt + 1, "message": message, "retry_at": at})
    return LanesStep(step.lanes, again, holds=step.holds)


def _is_unmade(known: LaneChange, wanted: int, now_ms: int) -> bool:
    """Whether the lanes have stood still for too long without a task of the stage, which a quota or a webhook may refuse.

    One that is to be tried again gets a while first, however late it is: only another try tells what a killed one has done.
    """
    if known.retry_at is not None and now_ms - read_ms(known.retry_at) <= _UNMADE_MS:
        return False
    is_back = known.attempt == 1 and known.to != wanted
    return now_ms - read_ms(known.since) > (_UNMADE_MS if is_back else _LONGEST_MS)


def _is_early(known: LaneChange, now_ms: int) -> bool:
    """Whether the next try is still to wait; not for longer than it ever has to, if a clock was set back."""
    return known.retry_at is not None and 0 < read_ms(known.retry_at) - now_ms <= _WAITS_MS[-1]


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
    gone = set(range(known.before)) - lanes.keys()
    stops = frozenset(gone | {lane for lane, one in lanes.items() if not one.is_asked_to_stop})
    passed_ms = now_ms - read_ms(known.since)
    if stops and passed_ms > _ASK_MS and known.attempt == 1:
        again = known.model_copy(update={"attempt": 2, "since": written(now_ms)})
        return LanesStep(known.before, again, stops=stops, holds=True)
    if passed_ms > _STOP_MS:
        late = (lane for lane in range(known.before) if lane not in lanes or not lanes[lane].has_stopped)
        named = ", ".join(map(str, late))
        return _refused(known, f"lanes {named} have not stopped within {_STOP_MS // 60_000} min")
    return LanesStep(known.before, known, stops=stops, holds=True)


def _beginning(known: LaneChange, lanes: Mapping[int, LaneJob]) -> LanesStep:
    old = frozenset(lane for lane, one in lanes.items() if one.lanes != known.to)
    if not old and (known.to == 1 or set(range(known.to)) <= lanes.keys()):
        return LanesStep(known.to, ended=True)
    return LanesStep(known.to, known, removes=old)


def _at(known: LaneChange, stage: LaneStage, now_ms: int) -> LaneChange:
    fields = {"stage": stage, "attempt": 1, "since": written(now_ms), "message": "", "retry_at": None}
    return known.model_copy(update=fields)


def _refused(known: LaneChange, words: str, then: str = _AFTER_REFUSAL) -> LanesStep:
    advice = then.format(before=known.before, to=known.to, lanes=count_of_lanes(known.before))
    message = f"{_line(words)[: LONGEST_FAILURE - len(advice) - 2]}. {advice}"
    return LanesStep(known.before, known.model_copy(update={"stage": "Refused", "message": message, "retry_at": None}))


def lanes_now(wanted: int, known: LaneChange | None) -> int:
    """How many lanes' jobs there are by what the status says; `wanted`: of the spec."""
    if known is None:
        return wanted
    return known.to if known.stage == "Beginning" else known.before


def count_of_lanes(count: int) -> str:
    """In words.

    >>> count_of_lanes(1), count_of_lanes(4)
    ('1 lane', '4 lanes')
    """
    return "1 lane" if count == 1 else f"{count} lanes"


def _line(words: str) -> str:
    """The line that says most, the last one."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return (lines[-1] if lines else "nobody knows why").rstrip(". ")
