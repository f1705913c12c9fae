"""A job under load: a feeder of numbered records, a reader of committed output, and what must hold between them."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from tandem.embedded import KafkaBroker, ZooKeeperServer
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob
from tandem.local.observe import Observer

PARTITIONS = 2
START_DEADLINE_S = 180.0
CATCH_UP_DEADLINE_S = 120.0

JOB = """
from pyspark.sql import functions as F

def job(events):
    number = F.col("value").cast("string")
    copies = events.select("key", "value")
    counts = events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    return {"copies": copies, "counts": counts}
"""


@dataclass(frozen=True)
class Cluster:
    """A broker and a ZooKeeper for one job."""

    kafka: KafkaBroker
    zookeeper: ZooKeeperServer

    @property
    def connection(self) -> KafkaConnection:
        return KafkaConnection({"bootstrap.servers": self.kafka.bootstrap})


def write_manifest(folder: Path, cluster: Cluster, name: str, code: str = JOB, **spec: object) -> Path:
    """A manifest and its job file in `folder`, and the topics; `spec` overrides top-level fields."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.py").write_text(code)
    sinks = spec.get("sinks", [{"name": s, "topic": f"{name}-{s}"} for s in ("copies", "counts")])
    topics = [NewTopic(f"{name}-in", PARTITIONS), *(NewTopic(s["topic"], 1) for s in sinks if "topic" in s)]  # type: ignore[union-attr]
    Topics(cluster.connection).ensure(topics)
    body: dict[str, object] = {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": cluster.kafka.bootstrap},
        "zookeeper": {"connect": cluster.zookeeper.connect},
        "sources": [{"name": "events", "topics": [f"{name}-in"]}],
        "sinks": sinks,
        "ordering": {"mode": "leader", "minEpochInterval": "400ms"},  # leaves the machine some time for restarts
        "checkpoint": {"directory": str(folder / "checkpoint")},
        **spec,
    }
    manifest = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": name},
        "spec": body,
    }
    path = folder / "job.yaml"
    path.write_text(json.dumps(manifest))
    return path


@dataclass
class Feeder:
    """Sends numbered records, `rate` a second, round the partitions; the key is the partition's."""

    bootstrap: str
    topic: str
    rate: float
    sent: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        # A broker that is down for a while delays records, it never loses them.
        self._producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 5,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        started = time.monotonic()
        while not self._stop.wait(0.01):
            due = int((time.monotonic() - started) * self.rate)
            for number in range(self.sent, due):
                partition = number % PARTITIONS
                self._producer.produce(self.topic, str(number), f"k{partition}", partition)
            self.sent = max(self.sent, due)
            self._producer.poll(0)

    def stop(self) -> int:
        """Stop, and wait until all is in Kafka; how many were sent."""
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0, "the feeder could not deliver its records"
        return self.sent


class Reader:
    """Reads the committed output from its beginning on, and remembers when each record came."""

    def __init__(self, bootstrap: str, copies: str, counts: str) -> None:
        self.copies: list[int] = []
        self.counts: dict[str, list[int]] = defaultdict(list)
        self.times: list[float] = []
        self._copies_topic = copies
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
                "reconnect.backoff.max.ms": 200,
            }
        )
        self._consumer.assign([TopicPartition(copies, 0, 0), TopicPartition(counts, 0, 0)])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            if message is None or message.error():
                continue
            value = int(message.value() or b"0")
            if message.topic() == self._copies_topic:
                self.copies.append(value)
                self.times.append(time.monotonic())
            else:
                self.counts[(message.key() or b"").decode()].append(value)
        self._consumer.close()

    def stop(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()

    def longest_gap(self, start: float, end: float) -> float:
        """Longest time (s) without output between two times."""
        inside = [start, *(t for t in list(self.times) if start <= t <= end), end]
        return max(b - a for a, b in pairwise(inside))


class Workload:
    """A running job, fed and read."""

    def __init__(self, cluster: Cluster, manifest: Path, name: str, rate: float = 200.0) -> None:
        self.cluster = cluster
        self.job = LocalJob(manifest, manifest.parent / "run")
        self._observer = Observer.of(self.job)
        self.name = name
        self.feeder = Feeder(cluster.kafka.bootstrap, f"{name}-in", rate)
        self.reader = Reader(cluster.kafka.bootstrap, f"{name}-copies", f"{name}-counts")

    def close(self) -> None:
        """Stop everything."""
        self.job.stop()
        self.feeder.stop()
        self.reader.stop()

    def publisher(self) -> str:
        """The replica that published the newest epoch."""
        owner = self._observer.look().publisher
        assert owner is not None, "nothing is published yet"
        return owner

    def other(self) -> str:
        """A replica that did not."""
        return next(name for name in self.job.names if name.startswith("replica") and name != self.publisher())

    def leader(self) -> str:
        """The orderer that leads."""
        found: list[str] = []

        def one_leads() -> bool:
            found[:] = [orderer.name for orderer in self._observer.look().orderers if orderer.leading]
            return len(found) == 1

        self.wait(one_leads, 30, "one orderer leads")
        return found[0]

    def wait(self, condition: Callable[[], bool], deadline_s: float, what: str) -> None:
        """Wait for a condition; fail with what was waited for, and the ends of the logs."""
        if not self.job.wait_until(condition, deadline_s):
            raise AssertionError(f"not within {deadline_s:.0f} s: {what}\n{self.story()}")

    def both_at_head(self) -> bool:
        """Whether every replica runs and has reached the head of the log."""
        return all(
            replica.alive and replica.ready and replica.epoch >= 0 and replica.lag_epochs <= 2
            for replica in self._observer.look().replicas
            if not replica.standby
        )

    def roles(self) -> tuple[list[str], list[str]]:
        """The active replicas that are at the head, and those that stand by."""
        replicas = [replica for replica in self._observer.look().replicas if replica.alive]
        active = [r.name for r in replicas if not r.standby and r.ready and r.epoch >= 0 and r.lag_epochs <= 2]
        return active, [replica.name for replica in replicas if replica.standby]

    def when_staffed(self, active: int, standby: int, deadline_s: float = START_DEADLINE_S) -> None:
        """Wait until so many replicas are active and at the head, and so many stand by, and output flows."""

        def staffed() -> bool:
            at_head, standing_by = self.roles()
            return (len(at_head), len(standing_by)) == (active, standby)

        self.wait(staffed, deadline_s, f"{active} active replicas at the head and {standby} standing by")
        self.flows_on(1)

    def when_whole(self) -> None:
        """Wait until all replicas are at the head and output flows."""
        self.wait(self.both_at_head, START_DEADLINE_S, "both replicas at the head")
        seen = len(self.reader.copies)
        self.wait(lambda: len(self.reader.copies) > seen, 30, "output flows")

    def flows_on(self, records: int, deadline_s: float = 60.0) -> None:
        """Wait for `records` more records of output."""
        seen = len(self.reader.copies)
        self.wait(lambda: len(self.reader.copies) >= seen + records, deadline_s, f"{records} more records of output")

    @contextmanager
    def output_goes_on(self, within_s: float) -> Iterator[None]:
        """While the block runs, no gap in the output is longer than `within_s`."""
        started = time.monotonic()
        yield
        gap = self.reader.longest_gap(started, time.monotonic())
        assert gap <= within_s, f"the output had a gap of {gap:.1f} s\n{self.story()}"

    def check_exactly_once(self) -> None:
        """Everything sent until now comes out once, in order, and the counts are those of the records."""
        sent = self.feeder.sent
        self.wait(lambda: len(self.reader.copies) >= sent, CATCH_UP_DEADLINE_S, f"all of {sent} records")
        check_copies(list(self.reader.copies), sent)
        for key, counts in list(self.reader.counts.items()):
            assert counts == sorted(set(counts)), f"the counts of {key} repeat or go back: {counts[-20:]}"

    def story(self) -> str:
        """What happened, for a failing test."""
        lines = [f"{event.process} {event.text}" for event in self.job.events()]
        for name in self.job.names:
            path = self.job.log_file(name)
            lines += [f"--- {name}", *(path.read_text(errors="replace").splitlines()[-12:] if path.exists() else [])]
        return "\n".join(line[:600] for line in lines)


def check_copies(copies: list[int], sent: int) -> None:
    """`copies` holds 0 … sent − 1 (and perhaps newer ones): each once, those of one partition in order."""
    repeated = [number for number, times in Counter(copies).items() if times > 1]
    lost = sorted(set(range(sent)) - set(copies))
    assert not repeated, f"{len(repeated)} records are duplicated, the first: {repeated[:10]}"
    assert not lost, f"{len(lost)} records are lost, the first: {lost[:10]}"
    for partition in range(PARTITIONS):
        mine = [number for number in copies if number % PARTITIONS == partition]
        assert mine == sorted(mine), f"records of partition {partition} are reordered"
