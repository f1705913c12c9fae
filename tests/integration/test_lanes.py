"""A job with two lanes on this machine: each key exact and in order, while replicas of both lanes are killed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.counting_lanes import LANES, PARTITIONS, Counting, counting_job, partition_of, refused
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.manifest import load
from tandem.replica.lanes_before import lanes_before

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

COUNT_AND_COPY = """
from pyspark.sql import functions as F

def job(events):
    counts = events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    return {"counts": counts, "apart": events.select("key", "value")}
"""


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counting]:
    folder, name = tmp_path_factory.mktemp("lanes"), f"lanes-{uuid.uuid4().hex[:6]}"
    sinks = [
        {"name": "counts", "topic": f"{name}-counts"},
        {"name": "apart", "topic": f"{name}-apart", "partitionBy": "lane"},
    ]
    with (
        KafkaBroker(folder / "kafka") as kafka,
        ZooKeeperServer(folder / "zookeeper") as zookeeper,
        counting_job(folder, Cluster(kafka, zookeeper), name, code=COUNT_AND_COPY, sinks=sinks) as counting,
    ):
        counting.feed(1)  # they are partitioned as the manifest says, so the job begins
        counting.lanes.start()
        yield counting


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


def test_the_rows_of_a_lane_are_in_its_partitions_where_the_sink_says_so(counting: Counting) -> None:
    counting.wait_counted()
    places = counting.places(f"{counting.name}-apart")
    assert set(places) == set(counting.sent)
    for key, partitions in places.items():
        assert {one % LANES for one in partitions} == {partition_of(key) % LANES}, f"{key} is in {partitions}"
        assert len(partitions) == 1, f"{key} is in {partitions}"
    assert {one for partitions in places.values() for one in partitions} == set(range(PARTITIONS))


def test_the_commands_know_lanes(counting: Counting) -> None:
    run = ("--run-directory", str(counting.lanes.jobs[0].run_directory.parent))
    both = json.loads(counting.tandem("status", counting.name, *run, "--json"))["lanes"]
    assert [one["job"] for one in both] == [f"{counting.name}.lane-0", f"{counting.name}.lane-1"]
    assert "2 lanes" in counting.tandem("status", counting.name, *run)
    one = json.loads(counting.tandem("status", counting.name, *run, "--lane", "1", "--json"))
    assert one["job"] == f"{counting.name}.lane-1"
    assert "killed" in counting.tandem("kill", counting.name, "replica-0", *run, "--lane", "1")


@pytest.mark.parametrize(
    ("lanes", "which"),
    [pytest.param(4, ("--lane", "3"), id="more", marks=pytest.mark.thorough), pytest.param(1, (), id="one")],
)
def test_a_new_lane_of_a_job_with_another_number_of_lanes_refuses_to_read_everything_again(
    counting: Counting, tmp_path: Path, lanes: int, which: tuple[str, ...]
) -> None:
    counting.feed(1)
    counting.wait_counted()
    assert lanes_before(load(counting.manifest)) == 2
    other = counting.manifest.with_name(f"with-{lanes}.yaml")
    other.write_text(counting.manifest.read_text().replace('"lanes": 2', f'"lanes": {lanes}'))
    said = refused(other, tmp_path, *which)
    assert f"ran with 2 lanes, and spec.lanes is {lanes}: new lanes would read all inputs again" in said
