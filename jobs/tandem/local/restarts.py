"""What to do when a process of a job has ended: a pure decision."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from tandem.process.ending import ASKED, EndKind
from tandem.process.info import ExitCode

_MOST_FOR_LOST_INPUT: Final = 2
"""Restarts in a row: if nobody's state is newer by then, nobody has read what is lost."""


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """At once the first time, then after `first_delay_s`, doubling up to `max_delay_s`; all in seconds.

    A process that ran for `healthy_s` starts again in this count. After `most_in_a_row` restarts without that it stays down.
    """

    first_delay_s: float = 0.5
    max_delay_s: float = 10.0
    healthy_s: float = 60.0
    most_in_a_row: int = 10

    def delay_s(self, in_a_row: int) -> float:
        """How long to wait before the next restart, when `in_a_row` restarts have gone before it."""
        if in_a_row == 0:
            return 0.0
        return float(min(self.max_delay_s, self.first_delay_s * 2.0 ** (in_a_row - 1)))


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended. `exit_code` −n: by signal n. `ran_s`: how long it ran. `in_a_row`: restarts since it was healthy.

    `kind` is what the process said of its end, `job_ran` whether a replica of this job has ever come up,
    `on_trial` whether it runs a manifest that no other process has proved yet, `came_up` whether this run came up,
    `came_up_before` whether an earlier run of this process did.
    """

    exit_code: int
    ran_s: float
    in_a_row: int
    kind: EndKind = EndKind.FAILED
    job_ran: bool = False
    on_trial: bool = False
    came_up: bool = True
    came_up_before: bool = False


class Then(Enum):
    """What follows an ending."""

    RESTART = "restart"
    STAY_DOWN = "stay down"
    GIVE_UP = "give up"
    STOP_JOB = "stop the job"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now. `in_a_row` is the count for the next ending."""

    then: Then
    delay_s: float = 0.0
    in_a_row: int = 0


def decide(policy: RestartPolicy, ending: Ending) -> Decision:
    """Restart after a signal or a failure; stop the whole job when a restart cannot help.

    Refusals differ. A broker that cannot be reached is the user's mistake at first, but an outage once the job
    has run. And a replica that diverged, is superseded, is on trial, or starts again where its surroundings have changed,
    must not take the others with it. One whose exit code is `OK` though nobody has asked it to end has failed.
    """
    code = ending.exit_code
    if code == ExitCode.OK and ending.kind in ASKED:
        return Decision(Then.STAY_DOWN)
    if ending.on_trial or (code == ExitCode.REFUSED and ending.kind in (EndKind.DIVERGED, EndKind.SUPERSEDED)):
        return Decision(Then.GIVE_UP)
    # Input that is gone: the others may have read it, and a new start begins from their state.
    of_the_job = (EndKind.UNREACHABLE, EndKind.LOST_INPUT)
    outage = code == ExitCode.REFUSED and ending.kind in of_the_job and ending.job_ran
    is_late = code == ExitCode.REFUSED and ending.kind is EndKind.TOO_LATE
    if code in (ExitCode.REFUSED, ExitCode.USAGE) and not outage and not is_late:
        return Decision(Then.GIVE_UP if _is_of_this_one(ending) else Then.STOP_JOB)
    in_a_row = 0 if ending.ran_s >= policy.healthy_s else ending.in_a_row
    most = _MOST_FOR_LOST_INPUT if ending.kind is EndKind.LOST_INPUT else policy.most_in_a_row
    if in_a_row >= most:
        return Decision(Then.GIVE_UP)
    return Decision(Then.RESTART, policy.delay_s(in_a_row), in_a_row + 1)


def _is_of_this_one(refused: Ending) -> bool:
    """Whether the others may well run with what this one refuses: its files have changed since, or its surroundings."""
    has_run = refused.came_up_before or (refused.job_ran and refused.kind is EndKind.CHANGED)
    return has_run and not refused.came_up
