"""What happened to a job's processes, and whether the job is over."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tandem.local.slot import Ended, Slot, how_it_ended
from tandem.process.info import ExitCode


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a process at `at` (Unix time, s)."""

    at: float
    process: str
    text: str

    @property
    def clock(self) -> str:
        """The time of day here."""
        return datetime.fromtimestamp(self.at).astimezone().strftime("%H:%M:%S")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why a job stopped by itself, and what a command should exit with."""

    code: ExitCode
    reason: str


def refusal(slot: Slot, ended: Ended) -> Outcome:
    """A process refused to run, and a restart would not help: its own words are the reason."""
    reason = ended.end.reason or f"no reason given; its log is {slot.command.log_file}"
    return Outcome(ExitCode(ended.exit_code), f"{slot.plan.name} {how_it_ended(ended.exit_code)}: {reason}")


def outcome_of(slots: Sequence[Slot]) -> Outcome | None:
    """The job is over when no replica, or nobody who orders, will ever run again; None while it is not."""
    replicas = [slot for slot in slots if slot.plan.kind == "replica"]
    orderers = [slot for slot in slots if slot.plan.kind != "replica"]
    for group in (replicas, orderers):
        lost = [slot for slot in group if slot.lost]
        if lost and all(slot.finished for slot in group):
            return _lost(lost[-1])
    if all(slot.finished for slot in replicas):
        return Outcome(ExitCode.OK, "every replica was stopped")
    return None


def _lost(slot: Slot) -> Outcome:
    state = slot.state
    code = ExitCode.REFUSED if state.exit_code == ExitCode.REFUSED else ExitCode.FAILED
    again = f" after {state.restarts} restarts" if state.restarts else ""
    reason = f": {state.reason}" if state.reason else f"; its log is {slot.command.log_file}"
    return Outcome(code, f"{state.name} {how_it_ended(state.exit_code or 0)}{again}{reason}")
