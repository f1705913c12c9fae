"""The systems under measurement: Tandem as `tandem run` would start it, and plain Spark under a supervisor."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.faults import Target
from bench.measured import WORKLOADS
from bench.metrics import Sample, scrape
from bench.plan import Run
from bench.progress import Checked, is_at_head, stands_by
from bench.restarted import Restarted
from bench.workloads.manifests import with_more
from tandem.local import LocalJob, LocalLanes, NotRunningError, RestartPolicy
from tandem.manifest import load
from tandem.process.child import Command

_ROOT = Path(__file__).resolve().parent.parent
_AT_ONCE = RestartPolicy(first_delay_s=0.0, healthy_s=5.0, most_in_a_row=1_000)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run happens: the servers, its topics (of the sources, the first), its folders on disk and in memory."""

    name: str
    bootstrap: str
    zookeeper: str
    source: str
    sink: str
    folder: Path
    memory: Path


class System(Checked, Target, Protocol):
    """A running job, in one or more replicas."""

    def start(self) -> None:
        """Start it; returns at once."""

    def at_head(self) -> bool:
        """Whether every replica keeps up, as far as it tells."""

    def leaders(self) -> dict[str, list[int]]:
        """Of each replica, the processes that lead its sessions, its orderer's included."""

    def actives(self) -> list[str]:
        """The replicas that do not stand by."""

    def samples(self) -> dict[str, Sample]:
        """The metrics of each replica that answers."""

    def stop(self) -> None:
        """End everything."""


def _let_replicas_import_from(folder: Path) -> None:
    """Processes that are started from now on find modules there, too."""
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(folder) not in before:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, before)])


class Tandem:
    """Replicas and orderers as local processes, of lane l replica i and its orderer on core i + l.

    Names of processes are those of `tandem run`, behind `lane-1/` and the like where there are several lanes.
    """

    def __init__(self, run: Run, place: Place) -> None:
        configuration = run.configuration
        count = configuration.replicas + configuration.standbys
        place.folder.mkdir(parents=True)
        if WORKLOADS[run.job].job.is_beside:
            shutil.copy(Path(__file__).with_name("jobs.py"), place.folder / "jobs.py")
        else:
            _let_replicas_import_from(_ROOT)
        manifests = [manifest_of(run, place, number).absolute() for number in range(count)]
        self._lost = place.memory / "0" if configuration.passive else None
        self._jobs: dict[str, LocalJob] = {}
        for manifest in load(manifests[0]).lanes:
            behind = "" if manifest.lane is None else f"lane-{manifest.lane}/"
            job = LocalJob(manifest, place.folder / f"run-{manifest.lane or 0}", pin_to_cores=True, policy=_AT_ONCE)
            give_each_its_manifest(job, manifests)
            self._jobs[behind] = job
        self._replicas = [f"{behind}replica-{number}" for behind in self._jobs for number in range(count)]

    def start(self) -> None:
        LocalLanes(tuple(self._jobs.values())).start()

    def check(self) -> None:
        for job in self._jobs.values():
            job.check()

    def at_head(self) -> bool:
        samples = self.samples()
        return len(samples) == len(self._replicas) and all(map(is_at_head, samples.values()))

    def leaders(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for replica in self._replicas:
            job, name = self._found(replica)
            found[replica] = [job.process(one).pid for one in (name, self._found(self.beside(replica))[1])]
        return found

    def actives(self) -> list[str]:
        samples = self.samples()
        return [replica for replica in self._replicas if replica not in samples or not stands_by(samples[replica])]

    def samples(self) -> dict[str, Sample]:
        taken = {replica: self.sample(replica) for replica in self._replicas}
        return {replica: sample for replica, sample in taken.items() if sample is not None}

    def sample(self, process: str) -> Sample | None:
        """The metrics of one process; None while it does not answer."""
        job, name = self._found(process)
        info = job.announcement(name)
        return scrape(info.metrics_port) if info is not None and info.metrics_port else None

    def beside(self, replica: str) -> str:
        """The orderer or generator that stands beside a replica and dies with it."""
        job, own = self._found(replica)
        number = own.rpartition("-")[2]
        return replica.removesuffix(own) + next(n for n in job.names if n.endswith(f"-{number}") and n != own)

    def kill(self, replica: str) -> None:
        """Of a passive one the checkpoint is moved away just before, so that nothing starts with it again."""
        if self._lost is None:
            self._send(replica, signal.SIGKILL)
            return
        gone = self._lost.with_name("lost")
        with suppress(FileNotFoundError):
            self._lost.rename(gone)
        self._send(replica, signal.SIGKILL)
        shutil.rmtree(gone, ignore_errors=True)

    def pause(self, replica: str) -> None:
        self._send(replica, signal.SIGSTOP)

    def resume(self, replica: str) -> None:
        self._send(replica, signal.SIGCONT)

    def _send(self, replica: str, number: signal.Signals) -> None:
        """A signal to a replica and its orderer, at once."""

        def send(process: str) -> None:
            job, name = self._found(process)
            with suppress(NotRunningError):
                job.kill(name, number)

        with ThreadPoolExecutor(2, "signal") as pool:
            list(pool.map(send, (replica, self.beside(replica))))

    def stop(self) -> None:
        LocalLanes(tuple(self._jobs.values())).stop()

    def _found(self, process: str) -> tuple[LocalJob, str]:
        """The job that a process belongs to, and its name there."""
        behind = process[: process.rfind("/") + 1]
        return self._jobs[behind], process.removeprefix(behind)


class PlainSpark:
    """One Spark process on the first core, restarted at once."""

    NAME = "spark"

    def __init__(self, run: Run, place: Place) -> None:
        tuning = run.configuration.tuning
        place.folder.mkdir(parents=True)
        # By default a checkpoint is on disk; tuned as in Tandem it is in memory.
        checkpoint = place.folder / "checkpoint" if tuning == "default" else place.memory
        interval = str(run.min_epoch_interval_ms)
        words = (tuning, run.job, place.bootstrap, place.source, place.sink, str(checkpoint), interval)
        command = (sys.executable, "-m", "bench.plain", *words)
        self._process = Restarted(
            "plain Spark", Command(command, place.folder / "spark.log", {"PYTHONPATH": str(_ROOT)})
        )

    def start(self) -> None:
        self._process.start()

    def check(self) -> None:
        self._process.check()

    def at_head(self) -> bool:
        return True

    def leaders(self) -> dict[str, list[int]]:
        return {self.NAME: self._process.pids}

    def actives(self) -> list[str]:
        return [self.NAME]

    def samples(self) -> dict[str, Sample]:
        return {}

    def kill(self, replica: str) -> None:  # noqa: ARG002
        self._process.kill()

    def pause(self, replica: str) -> None:  # noqa: ARG002
        self._process.send(signal.SIGSTOP)

    def resume(self, replica: str) -> None:  # noqa: ARG002
        self._process.send(signal.SIGCONT)

    def stop(self) -> None:
        self._process.stop()


def manifest_of(run: Run, place: Place, number: int) -> Path:
    """The manifest of one replica. Where there is a store each has checkpoints of its own, as on machines of their own."""
    configuration, job = run.configuration, WORKLOADS[run.job].job
    sources = zip(job.sources, job.topics(place.source), strict=True)
    has_store = bool(configuration.standbys) or configuration.passive
    own = place.memory / str(number) if has_store else place.memory
    spec: dict[str, object] = {
        "job": job.code,
        "engine": configuration.engine,
        "replicas": configuration.replicas,
        "standbys": configuration.standbys,
        "kafka": {"bootstrapServers": place.bootstrap},
        "zookeeper": {"connect": place.zookeeper},
        "sources": [{"name": name, "topics": [topic], **job.reading} for name, topic in sources],
        "sinks": [{"name": "out", "topic": place.sink}],
        "ordering": {"mode": configuration.mode, "minEpochInterval": f"{run.min_epoch_interval_ms}ms"},
        "checkpoint": {"directory": str(own)},
        "delivery": configuration.delivery,
    }
    if configuration.lanes > 1:
        spec["lanes"] = configuration.lanes
    if has_store:
        spec["snapshots"] = {"store": str(place.memory / "store")}
    return write_manifest(place.folder / f"job-{number}.yaml", place.name, with_more(spec, job.spec))


def write_manifest(path: Path, name: str, spec: Mapping[str, object]) -> Path:
    """Write the manifest of a job to `path`, and return that."""
    tree = {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": name}}
    path.write_text(json.dumps({**tree, "spec": spec}))  # JSON is YAML
    return path


def give_each_its_manifest(job: LocalJob, manifests: Sequence[Path]) -> None:
    """Let replica i of a job that was built from the first manifest take the i-th."""
    first = str(manifests[0])
    for number, manifest in enumerate(manifests):
        name = f"replica-{number}"
        job.replace(name, tuple(str(manifest) if word == first else word for word in job.argv(name)))
