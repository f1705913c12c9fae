"""One process of a job over all its runs: started, watched, restarted as the policy decides."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tandem.local import sessions
from tandem.local.plan import PlannedProcess, manifest_in
from tandem.local.restarts import Decision, Ending, RestartPolicy, Then, decide
from tandem.local.rundir import ProcessState, StartRequest
from tandem.process.child import ChildProcess, Command
from tandem.process.ending import ASKED, BY_ITSELF, End, EndKind, last_words
from tandem.process.info import ExitCode, ProcessInfo


@dataclass(frozen=True, slots=True)
class Ended:
    """A run has ended: how, what it said of that, and what was decided."""

    exit_code: int
    end: End
    decision: Decision

    @property
    def text(self) -> str:
        """One sentence for people."""
        match self.decision.then:
            case Then.RESTART if self.decision.delay_s == 0:
                then = "restarted at once"
            case Then.RESTART:
                then = f"restarts in {self.decision.delay_s:g} s (restart {self.decision.in_a_row} in a row)"
            case Then.GIVE_UP:
                then = "is not restarted any more"
            case _:
                then = "stays down"
        why = f": {self.end.reason}" if self.exit_code >= 0 and self.end.reason else ""
        return f"{how_it_ended(self.exit_code, self.end.kind in ASKED)}{why}; {then}"


def how_it_ended(exit_code: int, asked: bool = False) -> str:
    """An exit code in words. `asked`: somebody wanted the end."""
    if exit_code < 0:
        return f"ended by {_signal_name(-exit_code)}"
    well = "ended well" if asked else "ended by itself"
    names = {ExitCode.OK: well, ExitCode.FAILED: "failed", ExitCode.REFUSED: "refused to run"}
    return names.get(ExitCode(exit_code), "was misused") if exit_code in list(ExitCode) else f"exited with {exit_code}"


@dataclass
class Slot:
    """Not thread-safe: its owner holds a lock.

    `held`: it stays down when it ends, until `launch`. `on_trial`: see `Ending`.
    """

    plan: PlannedProcess
    command: Command
    core: int | None = None
    held: bool = False
    on_trial: bool = False
    came_up: bool = False
    child: ChildProcess | None = None
    due: float | None = None
    _state: ProcessState = field(init=False)
    _started: float = 0.0
    _in_a_row: int = 0
    _log_start: int = 0

    def __post_init__(self) -> None:
        self._state = ProcessState(self.plan.name, self.plan.kind)

    @property
    def state(self) -> ProcessState:
        """How it stands now."""
        return self._state.looked_at()

    @property
    def is_up(self) -> bool:
        """Whether its present run has said that it does what it is there for."""
        return self.child is not None and self._has_come_up(self.child.pid)

    @property
    def running(self) -> bool:
        """Whether a run of it has not been seen to end."""
        return self.child is not None

    @property
    def lost(self) -> bool:
        """Whether it will never run again by itself."""
        return self._state.state == "given up"

    @property
    def finished(self) -> bool:
        """Whether it is down for good: given up, or stopped by somebody."""
        return not self.running and self.due is None and not self.held and self._state.started_at > 0

    def obey(self, request: StartRequest) -> None:
        """From its next start on, it runs as asked."""
        self.on_trial = request.on_trial
        if request.argv:
            self.command = replace(self.command, argv=request.argv)

    def launch(self, by_hand: bool = False) -> None:
        """Start a run; one by hand begins a new count of restarts in a row."""
        if by_hand:
            self._in_a_row = 0
        log = self.command.log_file
        self._log_start = log.stat().st_size if log.exists() else 0
        self.child = ChildProcess(self.plan.name, self.command)
        if self.core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.child.pid, {self.core})  # it has one thread yet; all later ones inherit
        again = self._state.started_at > 0
        self.due, self.held, self._started = None, False, time.monotonic()
        self._set(
            state="running",
            pid=self.child.pid,
            started_at=time.time(),
            restarts=self._state.restarts + again,
            exit_code=None,
            reason="",
            end="",
            manifest=manifest_in(self.command.argv),
        )

    def check(self, policy: RestartPolicy, restarting: bool, job_ran: Callable[[], bool]) -> Ended | None:
        """Whether its run has ended since the last look, and what follows. Nothing of the run is left then.

        `job_ran` : whether a replica of the job has come up so far.
        """
        if self.child is None or (exit_code := self.child.exit_code) is None:
            return None
        session, self.child = self.child.pid, None
        sessions.end(session)
        end = self._end(session, exit_code)
        before, self.came_up = self.came_up, self.came_up or end.came_up
        ran_s = time.monotonic() - self._started
        ran = self.came_up or job_ran()
        ending = Ending(exit_code, ran_s, self._in_a_row, end.kind, ran, self.on_trial, end.came_up, before)
        decision = decide(policy, ending)
        if decision.then is Then.RESTART and (self.held or not restarting):
            self.held = True
            decision = Decision(Then.STAY_DOWN)
        return self._settled(exit_code, end, decision)

    def not_started(self, error: Exception, policy: RestartPolicy) -> Ended:
        """This machine could not start it: what follows is as after a run that failed at once."""
        decision = decide(policy, Ending(ExitCode.FAILED, 0.0, self._in_a_row))
        return self._settled(ExitCode.FAILED, End(EndKind.FAILED, f"it cannot be started: {error}"), decision)

    def _settled(self, exit_code: int, end: End, decision: Decision) -> Ended:
        self._in_a_row = decision.in_a_row
        self.due = time.monotonic() + decision.delay_s if decision.then is Then.RESTART else None
        state = {Then.RESTART: "restarting", Then.GIVE_UP: "given up"}.get(decision.then, "down")
        reason, kind = (end.reason, end.kind.value) if exit_code >= 0 and end.kind not in ASKED else ("", "")
        self._set(state=state, pid=0, exit_code=exit_code, reason=reason, end=kind)
        return Ended(exit_code, end, decision)

    def _end(self, pid: int, exit_code: int) -> End:
        """How a run ended: as it said itself, or else by its exit code and its last words."""
        end = End.read(self._folder, self.plan.name)
        if end is not None and end.pid == pid:
            return end
        if exit_code == ExitCode.OK:
            return End(EndKind.FAILED, BY_ITSELF, came_up=self._has_come_up(pid), pid=pid)
        kind = EndKind.REFUSED if exit_code == ExitCode.REFUSED else EndKind.FAILED
        reason = last_words(self.command.log_file, self._log_start)
        return End(kind, reason, came_up=self._has_come_up(pid), pid=pid)

    def _has_come_up(self, pid: int) -> bool:
        info = ProcessInfo.read(self._folder, self.plan.name)
        return info is not None and info.pid == pid and info.came_up

    @property
    def _folder(self) -> Path:
        return self.command.log_file.parent

    def put_down(self) -> None:
        """The job stops: forget the run, which has ended."""
        if self.child is not None:
            self._set(state="down", pid=0, exit_code=self.child.exit_code)
        self.child, self.due = None, None

    def _set(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
