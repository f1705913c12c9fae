"""Upgrading a running job, one replica at a time: the old generation publishes until the new one has reached the head."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import current_config
from tandem.local import sessions
from tandem.local.catching_up import LOOK_EVERY_S, Standing, come_to_head
from tandem.local.observe import Observer
from tandem.local.plan import PlannedProcess, planned_processes
from tandem.local.rundir import ProcessState, RunDirectory, RunningJob, StartRequest
from tandem.manifest import Manifest
from tandem.manifest.going_on import accepting_command
from tandem.protocol.values import Config
from tandem.waiting import Deadline, wait_until

STEP_DEADLINE_S = 300.0
"""How long a process may take to stop or to come up, and a replica to come no nearer to the head."""


class UpgradeError(Exception):
    """The upgrade cannot be done, or was given up; the text says what runs now."""


class UpgradingJob(Protocol):
    """What an upgrade must know of the job. `generation`: of the newest config; `standing`: where a replica stands."""

    def generation(self) -> int: ...

    def standing(self, replica: str) -> Standing: ...


class ObservedJob:
    """What metrics and logs of a running job tell. `new`: the manifest that its replicas move to, if any."""

    def __init__(self, manifest: Manifest, directory: RunDirectory, new: Manifest | None = None) -> None:
        self._checkpoints = {manifest.checkpoint_directory, (new or manifest).checkpoint_directory}
        self._observer = Observer(manifest, directory, lambda: _running(directory).processes)
        self._connection = KafkaConnection(manifest.kafka_properties(os.environ)).silent
        self._topics = manifest.model.topics

    def generation(self) -> int:
        """See `UpgradingJob`."""
        return self.config().generation

    def config(self) -> Config:
        """The newest config. Raises `UpgradeError`."""
        config = current_config(self._connection, self._topics.ordering, self._topics.commits)
        if config is None:
            raise UpgradeError("the job has not run yet: there is nothing to upgrade")
        return config

    def standing(self, replica: str) -> Standing:
        """See `UpgradingJob`."""
        seen = next((r for r in self._observer.look().replicas if r.name == replica and r.alive), None)
        if seen is None:
            return Standing()
        restored = 0
        if seen.incarnation and seen.epoch < 0:
            restored = sum(_bytes_in(folder / seen.incarnation) for folder in self._checkpoints)
        ready = seen.ready and seen.epoch >= 0
        return Standing(ready, seen.epoch, seen.lag_epochs, seen.catch_up_s, restored, seen.waits)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Moves the processes of the job that runs in `directory` from the manifest `old` to `new`.

    `savepoint` : whose state the new generation begins with.
    `say` : receives every step, in words.
    `same_files` : only what the job reads has changed: then `new` may be the file that the job was started with.
    """

    directory: RunDirectory
    old: Manifest
    new: Manifest
    savepoint: str
    job: UpgradingJob
    say: Callable[[str], None] = lambda _: None
    step_deadline_s: float = STEP_DEADLINE_S
    same_files: bool = False
    clock_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def run(self) -> int:
        """Do it; returns the new generation.

        One that is down goes first, else the last. If it does not come up, or its generation is not accepted, it gets its
        old manifest back, and nothing has changed for the reader.

        Raises `UpgradeError`.
        """
        self._check_file()
        self._check()
        before = self.job.generation()
        plans = planned_processes(self.new)
        replicas = [plan for plan in reversed(plans) if plan.kind == "replica"]
        replicas.sort(key=lambda plan: self._state(plan.name).running)
        for plan in replicas:
            self._move(plan, before, first=plan is replicas[0])
        for plan in plans:
            if plan.kind != "replica":
                self._move_orderer(plan)
        return self.job.generation()

    @property
    def left(self) -> tuple[str, ...]:
        """The processes that an upgrade to `new` has left with another manifest; none if it moved nobody, or all."""
        states = _running(self.directory).processes
        other = tuple(state.name for state in states if state.manifest != str(self.new.path.absolute()))
        return other if len(other) < len(states) else ()

    def finish(self) -> int:
        """Move those that are `left`: the generation has begun, and the command that began it has ended before its end.

        Raises `UpgradeError`.
        """
        self._check()
        left = self.left
        for plan in planned_processes(self.new):
            if plan.kind != "replica" and plan.name in left:
                self._move_orderer(plan)
            elif plan.kind == "replica":
                if plan.name in left or not self._state(plan.name).running:
                    self.say(f"{plan.name} starts again")
                    self._restart(plan, self.new, begins=False)
                self._wait_at_head(plan.name)
                self._is_proved(plan)
        return self.job.generation()

    def _check_file(self) -> None:
        if self.new.path.resolve() == self.old.path.resolve() and not self.same_files:
            raise UpgradeError(
                "the job was started with this very file: put the changed job into another one, or stop the job and start "
                f"it again with: {accepting_command(self.new.path)}"
            )

    def _check(self) -> None:
        if self.new.name != self.old.name:
            raise UpgradeError(
                f"the running job is {self.old.name}, the new manifest is of {self.new.name}: give both one name"
            )
        if self.old.spec.replicas + self.old.spec.standbys == 1:
            raise UpgradeError(
                "a job with one replica has nobody who publishes meanwhile. Stop it, and start it again with: "
                f"{accepting_command(self.new.path)}"
            )
        running = [state.name for state in _running(self.directory).processes]
        if [plan.name for plan in planned_processes(self.new)] != running:
            raise UpgradeError(
                "an upgrade cannot change spec.replicas, spec.standbys, spec.ordering.mode or spec.ordering.generators "
                "at the same time: stop the job and start it again for that"
            )

    def _move(self, plan: PlannedProcess, before: int, first: bool) -> None:
        """One replica: down with the old, up with the new, until it is at the head and its generation has begun."""
        name = plan.name
        self.say(f"{name} starts again, from savepoint {self.savepoint}")
        self._restart(plan, self.new, on_trial=True)
        try:
            self._wait_at_head(name)
            self._wait(name, lambda: self.job.generation() > before, "had begun its generation")
        except UpgradeError as error:
            if not first or self.job.generation() > before:
                raise
            self.say(f"{name} goes back: {error}")
            self._restart(plan, self.old)
            raise UpgradeError(f"{error}; the old generation runs on") from error
        self._is_proved(plan)

    def _is_proved(self, plan: PlannedProcess) -> None:
        """From now on it is started again as any other, and the job's manifest is the new one.

        Without the savepoint, since its generation has begun: with it, it would begin another one after the next upgrade.
        """
        proved = StartRequest(plan.name, self._argv(plan, self.new, ""), manifest=str(self.new.path.absolute()))
        self.directory.ask_to_start(proved)
        self.say(f"{plan.name} is at the head")

    def _move_orderer(self, plan: PlannedProcess) -> None:
        self._restart(plan, self.new)
        self._wait(plan.name, partial(self._is_announced, plan.name), "is up")

    def _restart(self, plan: PlannedProcess, manifest: Manifest, on_trial: bool = False, begins: bool = True) -> None:
        """`begins` : it may begin the new generation."""
        name = plan.name
        state = self._state(name)
        if state.running:
            sessions.send(state.pid, signal.SIGTERM)
        if not wait_until(lambda: not self._state(name).running, Deadline(self.step_deadline_s), LOOK_EVERY_S):
            raise UpgradeError(f"{name} does not stop")
        savepoint = self.savepoint if manifest is self.new and begins else ""
        self.directory.ask_to_start(StartRequest(name, self._argv(plan, manifest, savepoint), on_trial))
        self._wait_until_started(name)

    def _wait_until_started(self, name: str) -> None:
        if not wait_until(lambda: self._state(name).running, Deadline(self.step_deadline_s), LOOK_EVERY_S):
            raise UpgradeError(f"{name} was not started by the job's supervisor")

    def _argv(self, plan: PlannedProcess, manifest: Manifest, savepoint: str) -> tuple[str, ...]:
        return plan.argv(manifest.path, self.directory.path, "INFO", savepoint)

    def _wait_at_head(self, name: str) -> None:
        """As long as it comes nearer; raises `UpgradeError` if it ends, or does not: see `come_to_head`."""
        ended = come_to_head(
            lambda: self.job.standing(name),
            lambda: self._state(name).running,
            lambda where: self.say(f"{name} {where.words}"),
            self.step_deadline_s,
            self.clock_s,
            self.sleep,
        )
        if ended.standing.ready:
            return
        self._must_run(name, "was at the head")
        where = ended.standing.words
        if ended.falls_behind:
            raise UpgradeError(
                f"{name} falls behind: it {ended.falls_behind}, and it {where}. Give the new code more cores, "
                "or make it faster, and run the command again"
            )
        raise UpgradeError(
            f"{name} has come no nearer to the log's head for {self.step_deadline_s:.0f} s: it {where}. See what it is "
            f"doing in {self.directory.log_file(name)}, and run the command again"
        )

    def _must_run(self, name: str, what: str) -> None:
        state = self._state(name)
        if not state.running:
            raise UpgradeError(f"{name} ended before it {what}: {state.reason or f'exit code {state.exit_code}'}")

    def _wait(self, name: str, condition: Callable[[], bool], what: str) -> None:
        """Until `condition`; raises `UpgradeError` if the process ends, or time does."""
        reached = wait_until(
            lambda: not self._state(name).running or condition(), Deadline(self.step_deadline_s), LOOK_EVERY_S
        )
        self._must_run(name, what)
        if not reached:
            raise UpgradeError(f"{name} needed longer than {self.step_deadline_s:.0f} s until it {what}")

    def _is_announced(self, name: str) -> bool:
        info = self.directory.announced().get(name)
        return info is not None and info.pid == self._state(name).pid

    def _state(self, name: str) -> ProcessState:
        return next(state for state in _running(self.directory).processes if state.name == name)


def _running(directory: RunDirectory) -> RunningJob:
    running = directory.read()
    if running is None:
        raise UpgradeError("the job does not run any more")
    return running


def _bytes_in(folder: Path) -> int:
    """Of all its files, as far as they can be seen: they come and go meanwhile."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found += Path(place, name).stat().st_size
    return found
