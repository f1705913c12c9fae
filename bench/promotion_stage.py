"""Where promotions are measured: servers, a job with keyed state, and its traffic."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.systems import give_each_its_manifest, write_manifest
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, RestartPolicy

_VALUE_BYTES = 1_000
_PARTITIONS = 2
_AT_ONCE = RestartPolicy(first_delay_s=0.0, healthy_s=5.0, most_in_a_row=1_000)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured. `rate`: records/s of 1 kB; `shared`: the replicas see each other's checkpoints; `conf`: of Spark.

    `snapshot_ms` : between two snapshots.
    """

    state_mb: int
    rate: int
    actives: int = 1
    standbys: int = 1
    shipping: bool = True
    shared: bool = False
    snapshot_ms: int = 5_000
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def replicas(self) -> int:
        """The actives and the standbys."""
        return self.actives + self.standbys

    @property
    def keys(self) -> int:
        """How many make a state of that size."""
        return self.state_mb * 1_000_000 // _VALUE_BYTES


@dataclass(frozen=True, slots=True)
class Stage:
    """Servers with the topics `in` and `out`, a folder on disk, and one in memory."""

    kafka: KafkaBroker
    zookeeper: ZooKeeperServer
    folder: Path
    memory: Path


class Traffic:
    """Feeds random values, reads committed output; in threads of this process."""

    def __init__(self, bootstrap: str, source: str, sink: str, keys: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2})
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "bench", "isolation.level": "read_committed"}
            | {"enable.auto.commit": False, "fetch.wait.max.ms": 20}
        )
        self._consumer.assign([TopicPartition(sink, 0, 0)])
        self._source, self.keys = source, keys
        self._random = random.Random(1)
        self.rate = 0.0
        self.sent = 0
        self.arrivals: list[float] = []
        self.latencies: list[tuple[float, float]] = []
        """When a key's row arrived, and how long after the first record that it tells of; s."""
        self._waiting: dict[bytes, float] = {}
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._feed, self._read)]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Keys that were sent, and have no row since."""
        return len(self._waiting)

    def fill(self) -> None:
        """Send every key once."""
        self._burst(range(self.keys))

    def burst(self, count: int) -> None:
        """Send that many different keys as fast as can be."""
        self._burst(self._random.sample(range(self.keys), count))

    def _burst(self, keys: Sequence[int]) -> None:
        for number, key in enumerate(keys):
            self._send(key)
            if number % 1_000 == 0:
                self._producer.poll(0.01)
        self._producer.flush(60)

    def longest_gap_ms(self, start: float, end: float) -> float:
        """The longest time without output in [start, end], Unix s."""
        times = [time for time in self.arrivals if start <= time <= end]
        return round(1_000 * max(after - before for before, after in pairwise([start, *times, end])), 1)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._consumer.close()

    def _send(self, key: int) -> None:
        name, value = b"key-%d" % key, self._random.randbytes(_VALUE_BYTES)
        self._waiting.setdefault(name, time.time())
        while True:
            try:
                self._producer.produce(self._source, value, name, key % _PARTITIONS)
            except BufferError:
                self._producer.poll(0.05)
            else:
                return

    def _feed(self) -> None:
        last = time.monotonic()
        owed = 0.0
        while not self._stopped.wait(0.005):
            now = time.monotonic()
            owed, last = owed + (now - last) * self.rate, now
            while owed >= 1:
                owed -= 1
                self._send(self._random.randrange(self.keys))
                self.sent += 1
            self._producer.poll(0)

    def _read(self) -> None:
        while not self._stopped.is_set():
            first = self._consumer.poll(0.1)
            if first is None:
                continue
            now = time.time()
            for message in (first, *self._consumer.consume(5_000, 0)):
                if message.error() is None:
                    self._arrived(message.key(), now)

    def _arrived(self, key: bytes | None, now: float) -> None:
        self.arrivals.append(now)
        sent = self._waiting.pop(key, None) if key is not None else None
        if sent is not None:
            self.latencies.append((now, now - sent))


@contextmanager
def stage() -> Iterator[Stage]:
    """Nothing is left of it afterwards."""
    memory = Path("/dev/shm")  # noqa: S108
    with (
        tempfile.TemporaryDirectory(prefix="tandem-promotion-", ignore_cleanup_errors=True) as work,
        tempfile.TemporaryDirectory(prefix="tandem-promotion-", dir=memory, ignore_cleanup_errors=True) as states,
        KafkaBroker(Path(work) / "kafka") as kafka,
        ZooKeeperServer(Path(work) / "zookeeper") as zookeeper,
    ):
        Topics(KafkaConnection({"bootstrap.servers": kafka.bootstrap})).ensure(
            [NewTopic("in", _PARTITIONS), NewTopic("out", 1)]
        )
        yield Stage(kafka, zookeeper, Path(work), Path(states))


@contextmanager
def running(setting: Setting) -> Iterator[tuple[LocalJob, Traffic]]:
    """Servers, job and traffic."""
    with stage() as place:
        folder = place.folder
        shutil.copy(Path(__file__).with_name("jobs.py"), folder / "jobs.py")
        manifests = [_manifest(place, setting, number) for number in range(setting.replicas)]
        # Two replicas on one core would be a matter of who was killed before.
        has_own_cores = setting.replicas <= len(os.sched_getaffinity(0))
        job = LocalJob(manifests[0], folder / "run", pin_to_cores=has_own_cores, policy=_AT_ONCE)
        give_each_its_manifest(job, manifests)
        traffic = Traffic(place.kafka.bootstrap, "in", "out", setting.keys)
        try:
            job.start()
            yield job, traffic
        finally:
            job.stop()
            traffic.stop()


def _manifest(place: Stage, setting: Setting, number: int) -> Path:
    """The manifest of one replica: it has a folder of checkpoints of its own."""
    spec: dict[str, object] = {
        "job": {"file": "jobs.py", "function": "latest"},
        "replicas": setting.actives,
        "standbys": setting.standbys,
        "kafka": {"bootstrapServers": place.kafka.bootstrap},
        "zookeeper": {"connect": place.zookeeper.connect},
        "sources": [{"name": "events", "topics": ["in"]}],
        "sinks": [{"name": "out", "topic": "out"}],
        "checkpoint": {
            "directory": str(place.memory / ("all" if setting.shared else str(number))),
            "shipping": setting.shipping,
        },
        "snapshots": {"store": str(place.memory / "store"), "interval": f"{setting.snapshot_ms}ms"},
        "spark": {"conf": dict(setting.conf)},
    }
    return write_manifest(place.folder / f"job-{number}.yaml", "promotion", spec)
