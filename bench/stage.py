"""A run's surroundings: topics, reader, feeder and the system between them; brought up, drained, taken down."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from bench.analysis import Faults
from bench.build import build
from bench.definition import Workload
from bench.measured import WORKLOADS
from bench.plan import Run
from bench.progress import spend, wait_for
from bench.records import PARTITIONS, Arrivals
from bench.systems import Place, System
from bench.traffic import Feeder, Reader
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.waiting import Deadline, wait_until

_START_DEADLINE_S = 240.0
_DRAIN_DEADLINE_S = 180.0
_SILENCE_S = 5.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Servers:
    """The broker and ZooKeeper that all runs share, and where they may leave files: on disk, and in memory."""

    kafka: KafkaBroker
    zookeeper: ZooKeeperServer
    folder: Path
    memory: Path

    @property
    def connection(self) -> KafkaConnection:
        """How to reach the broker."""
        return KafkaConnection({"bootstrap.servers": self.kafka.bootstrap})


@dataclass
class Stage:
    """A system that runs, and its traffic. `folder`: with its logs.

    `sent` and `drained`, whether nothing came any more at the end, are known once `drain` has been called.
    """

    run: Run
    servers: Servers
    system: System
    feeder: Feeder
    reader: Reader
    seed: int
    say: Say
    folder: Path
    sent: int = 0
    drained: bool = False

    @property
    def workload(self) -> Workload:
        """What is run."""
        return WORKLOADS[self.run.job]

    def wait_until_up(self) -> None:
        """Wait, under a trickle of records, until output comes and every replica is at the head.

        Raises `RuntimeError` if that takes too long, and what the system raises when it stops by itself.
        """
        self.feeder.rate(self.workload.trickle)
        began = time.monotonic()
        if not wait_for(self.system, lambda: self.reader.count > 0, _START_DEADLINE_S):
            raise RuntimeError(f"no output after {_START_DEADLINE_S:.0f} s")
        output_s = time.monotonic() - began
        if not wait_for(self.system, self.system.at_head, _START_DEADLINE_S):
            raise RuntimeError(f"output after {output_s:.0f} s, but not every replica is at the head")
        self.say(f"first output after {output_s:.0f} s, all at the head after {time.monotonic() - began:.0f} s")

    def spend(self, seconds: float) -> None:
        """Let time pass; raises what the system, the feeder or the reader raises."""
        spend(self, seconds)

    def check(self) -> None:
        """Raises if anything has stopped by itself."""
        self.system.check()
        self.feeder.check()
        self.reader.check()

    def drain(self) -> Faults:
        """Stop feeding, wait until all that was sent has come out or nothing comes any more, and count.

        On a busy machine an epoch may take long: nothing comes any more if all replicas are at the head, and it was silent
        for twice as long as ever before.
        """
        self.sent = sent = self.feeder.finish()
        gaps_ns = np.diff(np.unique(self.arrivals()["arrived_ns"]))
        longest_s = float(gaps_ns.max()) / 1e9 if len(gaps_ns) else 0.0
        silence_s = max(
            _SILENCE_S, 3 * self.run.checkpoint_interval_ms / 1_000, min(2 * longest_s, _DRAIN_DEADLINE_S / 2)
        )
        seen, silence = self.reader.count, Deadline(silence_s)

        def is_drained() -> bool:
            nonlocal seen, silence
            if self.reader.count == seen:
                return silence.passed and self.system.at_head()
            seen, silence = self.reader.count, Deadline(silence_s)
            return self.workload.copies and seen >= sent and not self._faults(sent).lost

        self.drained = wait_until(is_drained, Deadline(_DRAIN_DEADLINE_S), 0.25)
        self.reader.check()  # or what a dead reader has not seen would count as lost
        return self._faults(sent)

    def arrivals(self) -> Arrivals:
        """All rows so far, in the order of arrival."""
        return self._resolved(self.reader.arrivals())

    def arrivals_until(self, end_ns: int) -> Arrivals:
        """The same, once all that arrived before `end_ns` (Unix, ns) is written: something later is, or nothing comes."""
        return self._resolved(self.reader.arrivals_until(end_ns))

    def around(self) -> list[int]:
        """The processes around the system."""
        return [self.servers.kafka.pid, self.servers.zookeeper.pid, self.feeder.pid, self.reader.pid]

    def _faults(self, sent: int) -> Faults:
        return self.workload.faults(self.arrivals(), self.seed, sent)

    def _resolved(self, arrivals: Arrivals) -> Arrivals:
        resolved = self.workload.resolved
        return arrivals if resolved is None else resolved(arrivals, self.seed, self.feeder.created())


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """A broker and a ZooKeeper below `folder`, and a folder in memory if there is one."""
    shm = Path("/dev/shm")  # noqa: S108
    with ExitStack() as stack:
        memory = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(
                    prefix="tandem-bench-", dir=shm if shm.is_dir() else None, ignore_cleanup_errors=True
                )
            )
        )
        kafka = stack.enter_context(KafkaBroker(folder / "kafka"))
        zookeeper = stack.enter_context(ZooKeeperServer(folder / "zookeeper"))
        yield Servers(kafka, zookeeper, folder, memory)


@contextmanager
def stage(run: Run, around: Servers, seed: int, name: str, say: Say) -> Iterator[Stage]:
    """Start everything of a run; in the end nothing of it is left, its topics included."""
    place = Place(
        name,
        around.kafka.bootstrap,
        around.zookeeper.connect,
        f"{name}-in",
        f"{name}-out",
        around.folder / name,
        around.memory / name,
    )
    topics = [*WORKLOADS[run.job].job.topics(place.source), place.sink]
    Topics(around.connection).ensure([NewTopic(topic, PARTITIONS) for topic in topics])
    system = build(run, place)
    with ExitStack() as stack:
        stack.callback(_remove, around, place, say)
        stack.callback(system.stop)
        system.start()
        log = place.folder / "traffic.log"
        file = place.folder / "arrivals.bin"
        created = place.folder / "created.bin"
        reader = stack.enter_context(Reader(place.bootstrap, place.sink, run.job, file, log))
        feeder = stack.enter_context(Feeder(place.bootstrap, place.source, seed, run.job, created, log))
        yield Stage(run, around, system, feeder, reader, seed, say, place.folder)


def _remove(around: Servers, place: Place, say: Say) -> None:
    """Topics that stay cost the next runs nothing but disk: that is no reason to give up what was measured."""
    admin = AdminClient({"bootstrap.servers": place.bootstrap})
    try:
        topics = admin.list_topics(timeout=10).topics
        own = [topic for topic in topics if topic.startswith((f"{place.name}-", f"{place.name}."))]
        for future in admin.delete_topics(own).values() if own else ():
            future.result(10)
    except (KafkaException, TimeoutError) as error:
        say(f"the topics of {place.name} stay: {error}")
    shutil.rmtree(around.memory / place.name, ignore_errors=True)
    shutil.rmtree(place.folder, ignore_errors=True)
