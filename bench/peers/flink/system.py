"""Flink as a system of the bench: a JobManager with one job, and a TaskManager that is restarted at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from bench.measured import WORKLOADS
from bench.metrics import Sample
from bench.peers.flink.packages import flink_jars
from bench.peers.flink.settings import (
    JAVA_OPTIONS,
    JOBMANAGER_OPTIONS,
    LOG4J2,
    TASKMANAGER_OPTIONS,
    FlinkSettings,
)
from bench.peers.flink.sql import Route, script
from bench.plan import Run
from bench.restarted import Restarted, pin_to_first_core
from bench.systems import Place
from tandem.devservers.server import free_ports
from tandem.engine.jvm.java import java_executable
from tandem.local import sessions
from tandem.process.child import ChildProcess, Command

_JOBMANAGER = "org.apache.flink.container.entrypoint.StandaloneApplicationClusterEntryPoint"
_TASKMANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
_DRIVER = "org.apache.flink.table.runtime.application.SqlDriver"
"""Runs a script inside the JobManager, so that nobody else has to submit it."""


class Flink:
    """Both on the first core. A kill is one of the TaskManager: without high availability a job dies with its JobManager."""

    TASKMANAGER = "taskmanager"

    def __init__(self, run: Run, place: Place) -> None:
        self._folder = place.folder
        self._folder.mkdir(parents=True)
        scratch = self._folder / "scratch"
        scratch.mkdir()
        rpc_port, rest_port = free_ports(2)
        configuration = run.configuration
        settings = FlinkSettings(
            configuration.detection or "default",
            run.checkpoint_interval_ms,
            rpc_port,
            rest_port,
            place.memory / "checkpoints",
            scratch,
        )
        (self._folder / "config.yaml").write_text(settings.config())
        (self._folder / "log4j2.properties").write_text(LOG4J2)
        source, *more = WORKLOADS[run.job].job.topics(place.source)
        route = Route(place.bootstrap, source, place.sink, tuple(more))
        sql = script(run.job, route, place.name, configuration.delivery == "exactlyOnce")
        folder = str(self._folder)
        manager = (*JOBMANAGER_OPTIONS, "-cp", _class_path(), _JOBMANAGER, "--configDir", folder)
        self._jobmanager_command = self._java("jobmanager", *manager, "--job-classname", _DRIVER, "--script", sql)
        worker = (*TASKMANAGER_OPTIONS, "-cp", _class_path(), _TASKMANAGER, "--configDir", folder)
        self._taskmanager = Restarted("Flink's TaskManager", self._java(self.TASKMANAGER, *worker))
        self._jobmanager: ChildProcess | None = None

    def start(self) -> None:
        self._jobmanager = ChildProcess("Flink's JobManager", self._jobmanager_command)
        pin_to_first_core(self._jobmanager.pid)
        self._taskmanager.start()

    def check(self) -> None:
        if self._jobmanager is not None and not self._jobmanager.running:
            raise RuntimeError(f"Flink's JobManager ended by itself: {self._jobmanager.story()}")
        self._taskmanager.check()

    def at_head(self) -> bool:
        return True

    def leaders(self) -> dict[str, list[int]]:
        manager = [self._jobmanager.pid] if self._jobmanager is not None else []
        return {"flink": [*manager, *self._taskmanager.pids]}

    def actives(self) -> list[str]:
        return [self.TASKMANAGER]

    def samples(self) -> dict[str, Sample]:
        return {}

    def kill(self, replica: str) -> None:  # noqa: ARG002
        self._taskmanager.kill()

    def pause(self, replica: str) -> None:  # noqa: ARG002
        self._taskmanager.send(signal.SIGSTOP)

    def resume(self, replica: str) -> None:  # noqa: ARG002
        self._taskmanager.send(signal.SIGCONT)

    def stop(self) -> None:
        self._taskmanager.stop()
        if self._jobmanager is not None:
            sessions.end(self._jobmanager.pid)
            self._jobmanager.kill()

    def _java(self, name: str, *words: str) -> Command:
        own = (
            f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}",
            f"-Djava.io.tmpdir={self._folder / 'scratch'}",
        )
        return Command((str(java_executable()), *JAVA_OPTIONS, *own, *words), self._folder / f"{name}.log")


def _class_path() -> str:
    return os.pathsep.join(map(str, sorted(Path(flink_jars()).glob("*.jar"))))
