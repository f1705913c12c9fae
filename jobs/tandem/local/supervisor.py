"""A job's processes on this machine: started, watched, restarted, and ended as tests and commands ask."""

import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from tandem.local import sessions
from tandem.local.errors import JobEndedError
from tandem.local.keeping import ArgvOf, Crew, Keeper, end_all
from tandem.local.outcome import Event, Outcome
from tandem.local.plan import NewGeneration, PlannedProcess, port_problems
from tandem.local.restarts import RestartPolicy
from tandem.local.rundir import ProcessState, RunDirectory, StartRequest, default_run_directory
from tandem.manifest import Manifest, ManifestError, load
from tandem.process.info import ExitCode, ProcessInfo
from tandem.waiting import Deadline, wait_until

STOP_DEADLINE_S = 20.0
_POLL_S = 0.02


class LocalJob:
    """The processes of one job, or of one lane. All methods may be called from any thread.

    `job` : the file of the ReplicatedStreamJob, or what was loaded from an absolute path: a lane, if it has several. Every
    process reads the file again.
    `run_directory` : for logs and announcements; by default one of the job's own below the folder of run-time files.
    `pin_to_cores` : keep replica i with its JVM, and orderer or generator i, on core i of those that we may use
    (Linux).
    `policy` : when an ended process is restarted.
    `log_level` : of the processes.
    `argv_of` : the command line of a process, if it shall be another than the usual one.
    `begins` : the generation that the job begins, if this is to be one.

    Raises `ManifestError`, `OSError`: the manifest cannot be used.
    """

    def __init__(
        self,
        job: str | Path | Manifest,
        run_directory: str | Path | None = None,
        pin_to_cores: bool = False,
        policy: RestartPolicy | None = None,
        log_level: str = "INFO",
        argv_of: ArgvOf | None = None,
        begins: NewGeneration | None = None,
    ) -> None:
        begins = begins or NewGeneration()
        manifest = job if isinstance(job, Manifest) else load(Path(job).absolute())
        if problems := port_problems(manifest):
            raise ManifestError(manifest.path, problems)
        self.directory = RunDirectory(Path(run_directory or default_run_directory(manifest.name)).absolute())
        self.restarting = True
        """Whether an ended process is restarted; if not, it stays down until `start(name)`."""
        usual = partial(
            PlannedProcess.argv,
            manifest=manifest.path,
            run_directory=self.run_directory,
            log_level=log_level,
            savepoint=begins.savepoint,
            generation=begins.number,
        )
        self._crew = Crew(manifest, self.directory, argv_of or usual, pin_to_cores)
        self._keeper = Keeper(manifest, self.directory, self._crew, policy or RestartPolicy())
        self._state = threading.Condition(threading.RLock())
        self._outcome: Outcome | None = None
        self._stopping = False
        self._watcher: threading.Thread | None = None

    @property
    def manifest(self) -> Manifest:
        """The manifest that the job runs by now."""
        return self._keeper.manifest

    @property
    def name(self) -> str:
        """The job's name."""
        return self.manifest.name

    @property
    def run_directory(self) -> Path:
        """Where logs and announcements are."""
        return self.directory.path

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all processes: replicas first."""
        return self._crew.names

    @property
    def outcome(self) -> Outcome | None:
        """Why the job stopped by itself; None while it runs, and if it was stopped by `stop`."""
        return self._outcome

    def start(self, *names: str) -> Self:
        """Start the processes `names` (none given: all of them) that do not run; returns at once.

        Raises `AlreadyRunningError` if the run directory is taken, `JobEndedError` if this job has stopped by
        itself, and `UnknownProcessError`.
        """
        slots = [self._crew.slot(name) for name in names] or list(self._crew)
        with self._state:
            self.check()
            self._begin()
            self._keeper.start(slots)
            self._keeper.announce()
        return self

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """SIGTERM to every process, SIGKILL to what is left after `deadline_s`. Nothing of the job runs afterwards."""
        with self._state:
            self._stopping = True
            self._state.notify_all()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join()
            self._watcher = None
        self._end_processes(deadline_s)

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL, stay_down: bool = False) -> None:
        """Send a signal. SIGKILL goes to the whole session, JVM and workers too, and is waited for.

        With `stay_down` the process is not restarted until `start(name)`. Raises `NotRunningError`, `UnknownProcessError`.
        """
        with self._state:
            child, slot = self._crew.running(name), self._crew.slot(name)
            slot.held |= stay_down
            self._keeper.note(slot, f"gets {number.name}")
        sessions.send(child.pid, number)
        if number == signal.SIGKILL:
            sessions.end(child.pid)
            child.kill()

    def kill_all(self) -> None:
        """SIGKILL to everything that runs, for who cannot wait for `stop`."""
        with self._state:
            children = self._crew.children
        for child in children:
            sessions.send(child.pid, signal.SIGKILL)

    def pause(self, name: str) -> None:
        """SIGSTOP to the process, its JVM and workers: connections stay open, nothing is answered."""
        self.kill(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """SIGCONT after `pause`."""
        self.kill(name, signal.SIGCONT)

    def replace(self, name: str, argv: tuple[str, ...]) -> None:
        """From its next start on, a process has another command line. Raises `UnknownProcessError`."""
        with self._state:
            self._crew.slot(name).obey(StartRequest(name, argv))

    def argv(self, name: str) -> tuple[str, ...]:
        """The command line of a process. Raises `UnknownProcessError`."""
        return self._crew.slot(name).command.argv

    def processes(self) -> tuple[ProcessState, ...]:
        """How every process stands."""
        with self._state:
            return self._crew.states

    def process(self, name: str) -> ProcessState:
        """How one process stands. Raises `UnknownProcessError`."""
        with self._state:
            return self._crew.slot(name).state

    def is_up(self, name: str) -> bool:
        """Whether the present run of a process has said that it started: a replica computes then."""
        with self._state:
            return self._crew.slot(name).is_up

    def announcement(self, name: str) -> ProcessInfo | None:
        """What the present run of a process tells about itself; None while there is none, or it has not come that far."""
        with self._state:
            child = self._crew.slot(name).child
        info = self.directory.announced().get(name)
        return info if child is not None and info is not None and info.pid == child.pid else None

    def incarnation(self, name: str) -> str | None:
        """The transactional id of a replica's present run; None while there is none."""
        info = self.announcement(name)
        return info.incarnation if info is not None and info.incarnation else None

    def log_file(self, name: str) -> Path:
        """Where the output of a process goes."""
        return self._crew.slot(name).command.log_file

    def events(self) -> tuple[Event, ...]:
        """What happened lately, oldest first."""
        with self._state:
            return self._keeper.events

    def check(self) -> None:
        """Raises `JobEndedError` if the job has stopped by itself."""
        outcome = self._outcome
        if outcome is not None:
            raise JobEndedError(outcome.code, outcome.reason)

    def wait_until(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        """Ask `condition` until it holds or `deadline_s` have passed; return its last answer.

        Raises `JobEndedError` if the job stops by itself meanwhile: waiting longer would be in vain.
        """

        def holds() -> bool:
            self.check()
            return condition()

        return wait_until(holds, Deadline(deadline_s))

    def wait(self, deadline_s: float) -> Outcome | None:
        """Wait until the job has stopped by itself; None if it still runs after `deadline_s`."""
        wait_until(lambda: self._outcome is not None, Deadline(deadline_s))
        return self._outcome

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _begin(self) -> None:
        """Take the run directory and start watching, unless that is done."""
        self._keeper.begin()
        if self._watcher is None:
            self._stopping = False
            self._watcher = threading.Thread(target=self._watch, name=f"supervisor of {self.name}", daemon=True)
            self._watcher.start()

    def _watch(self) -> None:
        while True:
            with self._state:
                if self._stopping:
                    return
                try:
                    outcome = self._keeper.look(self.restarting)
                except Exception as error:  # those that wait for the job must see it
                    outcome = Outcome(ExitCode.FAILED, f"the supervisor failed: {error!r}")
                if outcome is None:
                    self._state.wait(_POLL_S)
                    continue
            self._end_processes(STOP_DEADLINE_S)
            self._outcome = outcome
            return

    def _end_processes(self, deadline_s: float) -> None:
        with self._state:
            children = self._crew.children
        end_all(children, deadline_s)
        with self._state:
            self._keeper.end()
