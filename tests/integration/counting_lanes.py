"""A job with two lanes that counts its records by key: fed, read, and waited for."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from typer.testing import CliRunner

from integration.command import completed
from integration.workload import Cluster, write_manifest
from tandem.cli.main import app
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, LocalLanes
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.waiting import Deadline, wait_until

COUNT = """
from pyspark.sql import functions as F

def job(events):
    return events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
"""
KEYS = 12
PARTITIONS = 4
LANES = 2
PATIENCE_S = 300.0


def partition_of(key: str) -> int:
    """By another rule than a producer of Kafka's has."""
    return int(key.removeprefix("k")) % PARTITIONS


@dataclass
class Counting:
    """A count per key in two lanes, fed and read. `sent`: key → how many records. `value`: of the record of a key."""

    cluster: Cluster
    manifest: Path
    name: str
    lanes: LocalLanes
    value: Callable[[str], bytes]
    sent: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def feed(self, rounds: int) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.kafka.bootstrap, "enable.idempotence": True})
        for number in range(rounds * KEYS):
            key = f"k{number % KEYS}"
            producer.produce(f"{self.name}-in", self.value(key), key, partition=partition_of(key))
            self.sent[key] += 1
        assert producer.flush(60) == 0

    def counts(self) -> dict[str, list[int]]:
        """What was published of each key, in order."""
        consumer = Consumer(self.cluster.connection.consumer())
        found: dict[str, list[int]] = defaultdict(list)
        try:
            place = TopicPartition(f"{self.name}-counts", 0, 0)
            consumer.assign([place])
            ended = False
            while not ended:
                message = consumer.poll(30)
                assert message is not None, "the topic's end does not come"
                ended = message.error() is not None
                if not ended:
                    found[(message.key() or b"").decode()].append(int(message.value() or b""))
            return found
        finally:
            consumer.close()

    def places(self, topic: str) -> dict[str, set[int]]:
        """In which partitions of a topic with as many as the input each key was published."""
        consumer = Consumer(self.cluster.connection.consumer())
        found: dict[str, set[int]] = defaultdict(set)
        try:
            consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
            left = set(range(PARTITIONS))
            while left:
                message = consumer.poll(30)
                assert message is not None, "the topic's ends do not come"
                if message.error() is None:
                    found[(message.key() or b"").decode()].add(message.partition() or 0)
                else:
                    left.discard(message.partition() or 0)
            return found
        finally:
            consumer.close()

    def all_counted(self) -> bool:
        return {key: counts[-1] for key, counts in self.counts().items()} == self.sent

    def wait_counted(self) -> None:
        if not wait_until(self.all_counted, Deadline(PATIENCE_S), 0.5):
            logs = [path for job in self.lanes.jobs for path in sorted(job.run_directory.glob("*.log"))]
            tails = [f"--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in logs]
            raise AssertionError(f"{self.counts()} are not {self.sent}\n" + "\n".join(tails))

    def tandem(self, command: str, *arguments: str) -> str:
        result = CliRunner().invoke(app, [command, *arguments])
        assert result.exit_code == 0, result.output
        return result.output


@contextmanager
def counting_job(
    folder: Path,
    cluster: Cluster,
    name: str,
    value: Callable[[str], bytes] = lambda _: b"",
    code: str = COUNT,
    **spec: object,
) -> Iterator[Counting]:
    """A job that is not started yet, and is stopped in the end; `spec` overrides fields of its manifest."""
    Topics(cluster.connection).ensure([NewTopic(f"{name}-{what}", PARTITIONS) for what in ("in", "apart")])
    fields = {"lanes": LANES, "sinks": [{"name": "counts", "topic": f"{name}-counts"}], **spec}
    manifest = write_manifest(folder / "job", cluster, name, code, **fields)
    lanes = LocalLanes([LocalJob(lane, folder / "run" / f"lane-{lane.lane}") for lane in load(manifest).lanes])
    try:
        yield Counting(cluster, manifest, name, lanes, value)
    finally:
        lanes.stop()


def refused(manifest: Path, run_directory: Path, *which: str) -> str:
    """What a replica says that refuses to run."""
    argv = [sys.executable, "-m", "tandem.replica", str(manifest), "--run-directory", str(run_directory), *which]
    ended = completed(argv)
    assert ended.returncode == ExitCode.REFUSED, ended.stderr
    return ended.stdout + ended.stderr
