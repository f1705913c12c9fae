"""A job with two lanes on this machine: each key exact and in order, while replicas of both lanes are killed."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from typer.testing import CliRunner

from integration.workload import Cluster, write_manifest
from tandem.cli.main import app
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, LocalLanes
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.replica.lanes_before import lanes_before
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

COUNT = """
from pyspark.sql import functions as F

def job(events):
    return events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
"""
KEYS = 12
PATIENCE_S = 180.0


@dataclass
class Counting:
    """A count per key in two lanes, fed and read. `sent`: key → how many records."""

    cluster: Cluster
    manifest: Path
    name: str
    lanes: LocalLanes
    sent: dict[str, int]

    def feed(self, rounds: int) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.kafka.bootstrap, "enable.idempotence": True})
        for number in range(rounds * KEYS):
            key = f"k{number % KEYS}"
            producer.produce(f"{self.name}-in", b"", key)
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


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counting]:
    folder, name = tmp_path_factory.mktemp("lanes"), f"lanes-{uuid.uuid4().hex[:6]}"
    with KafkaBroker(folder / "kafka") as kafka, ZooKeeperServer(folder / "zookeeper") as zookeeper:
        cluster = Cluster(kafka, zookeeper)
        Topics(cluster.connection).ensure([NewTopic(f"{name}-in", 4)])
        sinks = [{"name": "counts", "topic": f"{name}-counts"}]
        manifest = write_manifest(folder / "job", cluster, name, COUNT, lanes=2, sinks=sinks)
        jobs = [LocalJob(lane, folder / "run" / f"lane-{lane.lane}") for lane in load(manifest).lanes]
        lanes = LocalLanes(jobs)
        lanes.start()
        try:
            yield Counting(cluster, manifest, name, lanes, defaultdict(int))
        finally:
            lanes.stop()


def test_each_key_is_counted_once_and_in_order_under_kills_in_both_lanes(counting: Counting) -> None:
    counting.feed(20)
    counting.wait_counted()
    for lane, name in ((0, "replica-0"), (1, "replica-1"), (0, "orderer-1")):
        counting.feed(20)
        counting.lanes.jobs[lane].kill(name)
        counting.feed(20)
    counting.wait_counted()
    for key, counts in counting.counts().items():
        assert counts == sorted(set(counts)), f"the counts of {key} go back, or come twice"


def test_a_lane_has_the_keys_of_its_partitions(counting: Counting) -> None:
    report = json.loads(counting.tandem("verify", str(counting.manifest), "--json"))
    lanes = report["lanes"]
    assert [one["job"] for one in lanes] == [f"{counting.name}.lane-0", f"{counting.name}.lane-1"]
    assert all(one["good"] and one["epochs"] > 0 and one["input_offsets"] > 0 for one in lanes)
    assert sum(one["input_offsets"] for one in lanes) == sum(counting.sent.values())


def test_the_commands_know_lanes(counting: Counting) -> None:
    run = ("--run-directory", str(counting.lanes.jobs[0].run_directory.parent))
    both = json.loads(counting.tandem("status", counting.name, *run, "--json"))["lanes"]
    assert [one["job"] for one in both] == [f"{counting.name}.lane-0", f"{counting.name}.lane-1"]
    assert "2 lanes" in counting.tandem("status", counting.name, *run)
    one = json.loads(counting.tandem("status", counting.name, *run, "--lane", "1", "--json"))
    assert one["job"] == f"{counting.name}.lane-1"
    assert "killed" in counting.tandem("kill", counting.name, "replica-0", *run, "--lane", "1")


@pytest.mark.parametrize(("lanes", "which"), [(4, ("--lane", "3")), (1, ())], ids=["more", "one"])
def test_a_new_lane_of_a_job_with_another_number_of_lanes_refuses_to_read_everything_again(
    counting: Counting, tmp_path: Path, lanes: int, which: tuple[str, ...]
) -> None:
    counting.feed(1)
    counting.wait_counted()
    assert lanes_before(load(counting.manifest)) == 2
    other = counting.manifest.with_name(f"with-{lanes}.yaml")
    other.write_text(counting.manifest.read_text().replace('"lanes": 2', f'"lanes": {lanes}'))
    argv = [sys.executable, "-m", "tandem.replica", str(other), "--name", "replica-0", "--run-directory", str(tmp_path)]
    ended = subprocess.run([*argv, *which], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == ExitCode.REFUSED, ended.stderr
    said = ended.stdout + ended.stderr
    assert f"ran with 2 lanes, and spec.lanes is {lanes}: new lanes would read all inputs again" in said
