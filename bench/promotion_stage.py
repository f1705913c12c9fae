"""Where promotions are measured: servers, a job with keyed state, and its traffic."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from tandem.embedded import KafkaBroker, ZooKeeperServer
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, RestartPolicy

_VALUE_BYTES = 1_000
_PARTITIONS = 2
_AT_ONCE = RestartPolicy(first_delay_s=0.0, healthy_s=5.0, most_in_a_row=1_000)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured. `rate`: records/s of 1 kB; `shared`: the replicas see each other's checkpoints; `conf`: of Spark."""

    state_mb: int
    rate: int
    actives: int = 1
    shipping: bool = True
    shared: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def replicas(self) -> int:
        """The actives and one standby."""
        return self.actives + 1


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
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._feed, self._read)]
        for thread in self._threads:
            thread.start()

    def fill(self) -> None:
        """Send every key once."""
        for key in range(self.keys):
            self._send(key)
            if key % 1_000 == 0:
                self._producer.poll(0.01)
        self._producer.flush(60)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._consumer.close()

    def _send(self, key: int) -> None:
        value = self._random.randbytes(_VALUE_BYTES)
        while True:
            try:
                self._producer.produce(self._source, value, b"key-%d" % key, key % _PARTITIONS)
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
            if first is not None:
                now = time.time()
                self.arrivals += [now] * (1 + len(self._consumer.consume(5_000, 0)))


@contextmanager
def running(setting: Setting) -> Iterator[tuple[LocalJob, Traffic]]:
    """Servers, job and traffic; nothing is left of them afterwards."""
    memory = Path("/dev/shm")  # noqa: S108
    with (
        tempfile.TemporaryDirectory(prefix="tandem-promotion-", ignore_cleanup_errors=True) as work,
        tempfile.TemporaryDirectory(prefix="tandem-promotion-", dir=memory, ignore_cleanup_errors=True) as states,
        KafkaBroker(Path(work) / "kafka") as kafka,
        ZooKeeperServer(Path(work) / "zookeeper") as zookeeper,
    ):
        folder = Path(work)
        Topics(KafkaConnection({"bootstrap.servers": kafka.bootstrap})).ensure(
            [NewTopic("in", _PARTITIONS), NewTopic("out", 1)]
        )
        shutil.copy(Path(__file__).with_name("jobs.py"), folder / "jobs.py")
        manifests = [
            _manifest(folder / f"job-{number}.yaml", kafka, zookeeper, setting, _states(setting, Path(states), number))
            for number in range(setting.replicas)
        ]
        job = LocalJob(manifests[0], folder / "run", pin_to_cores=True, policy=_AT_ONCE)
        for number, manifest in enumerate(manifests):
            name = f"replica-{number}"
            job.replace(name, tuple(str(manifest) if w == str(manifests[0]) else w for w in job.argv(name)))
        traffic = Traffic(kafka.bootstrap, "in", "out", setting.state_mb * 1_000_000 // _VALUE_BYTES)
        try:
            job.start()
            yield job, traffic
        finally:
            job.stop()
            traffic.stop()


def _states(setting: Setting, folder: Path, number: int) -> tuple[Path, Path]:
    """The folders of a replica's checkpoints, and of the snapshot store."""
    return folder / ("all" if setting.shared else str(number)), folder / "store"


def _manifest(
    path: Path, kafka: KafkaBroker, zookeeper: ZooKeeperServer, setting: Setting, states: tuple[Path, Path]
) -> Path:
    checkpoints, store = map(str, states)
    spec = {
        "job": {"file": "jobs.py", "function": "latest"},
        "replicas": setting.actives,
        "standbys": 1,
        "kafka": {"bootstrapServers": kafka.bootstrap},
        "zookeeper": {"connect": zookeeper.connect},
        "sources": [{"name": "events", "topics": ["in"]}],
        "sinks": [{"name": "out", "topic": "out"}],
        "checkpoint": {"directory": checkpoints, "shipping": setting.shipping},
        "snapshots": {"store": store},
        "spark": {"conf": dict(setting.conf)},
    }
    tree = {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": "promotion"}}
    path.write_text(json.dumps({**tree, "spec": spec}))  # JSON is YAML
    return path
