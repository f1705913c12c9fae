"""Which processes a job has on one machine, and how each is started."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tandem.manifest import Issue, Manifest, Problem

Kind = Literal["replica", "orderer", "generator"]
_LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class NewGeneration:
    """A generation that a start may begin.

    `savepoint` : what it begins with; "": no savepoint. `number` : of the one that is begun if the job has changed; None: a
    job that has changed is refused.
    """

    savepoint: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedProcess:
    """A process that the job shall have. `index` counts within its kind; `beside`: an orderer's replica; `lane`: of
    a job with several."""

    name: str
    kind: Kind
    index: int
    beside: str = ""
    metrics_port: int = 0
    lane: int | None = None

    def argv(
        self, manifest: Path, run_directory: Path, log_level: str, savepoint: str = "", generation: int | None = None
    ) -> tuple[str, ...]:
        """The command line; the same one a container would have. It names files by absolute paths: who starts it may be in
        another folder.

        `savepoint`: of a new generation. `generation`: the one that is begun if the job has changed, None: none.
        """
        module = "tandem.replica" if self.kind == "replica" else "tandem.orderer"
        options = ["--name", self.name, "--run-directory", str(run_directory.absolute()), "--log-level", log_level]
        if self.kind == "replica":
            options += ["--metrics-port", str(self.metrics_port)]
            options += ["--savepoint", savepoint] if savepoint else []
            options += ["--accept-changes", "--generation", str(generation)] if generation is not None else []
        options += ["--lane", str(self.lane)] if self.lane is not None else []
        if self.beside:
            options += ["--replica", self.beside]
        return (sys.executable, "-m", module, str(manifest.absolute()), *options)


def manifest_in(argv: Sequence[str]) -> str:
    """The path of the manifest in a command line that `PlannedProcess.argv` made; "": in another one."""
    return argv[3] if len(argv) > 3 and argv[1] == "-m" else ""


def planned_processes(manifest: Manifest) -> tuple[PlannedProcess, ...]:
    """Replicas first, as many as shall be active or stand by: which of them is what, the slots decide. Then who orders: an
    orderer beside each replica in the modes `leader` and `none`, generators in mode `heartbeat`. A metrics port that the
    manifest fixes is that of replica-0; the next replica has the next port."""
    spec = manifest.spec
    port = spec.metrics.port
    replicas = [
        PlannedProcess(f"replica-{i}", "replica", i, metrics_port=port + i if port else 0, lane=manifest.lane)
        for i in range(spec.replicas + spec.standbys)
    ]
    if spec.ordering.mode == "heartbeat":
        ordering = [
            PlannedProcess(f"generator-{i}", "generator", i, lane=manifest.lane)
            for i in range(spec.ordering.generators)
        ]
    else:
        ordering = [
            PlannedProcess(f"orderer-{r.index}", "orderer", r.index, beside=r.name, lane=r.lane) for r in replicas
        ]
    return (*replicas, *ordering)


def port_problems(manifest: Manifest) -> tuple[Problem, ...]:
    """Why the processes of a job, or of a lane, cannot have the metrics ports that follow from the manifest."""
    ports = [process.metrics_port for lane in manifest.lanes for process in planned_processes(lane)]
    last = max(ports, default=0)
    if last <= _LAST_PORT or not manifest.spec.metrics.enabled:
        return ()
    count = sum(port > 0 for port in ports)
    issue = Issue(
        ("spec", "metrics", "port"),
        f"the {count} replicas on this machine have a port each, from this one on, and there is no port {last}",
        f"Set it to {_LAST_PORT - count + 1} or less, or to 0: any free ports",
    )
    return (manifest.problem(issue),)
