"""`onError: deadLetter`: records that the code cannot take leave the job, and state is as if they had never been there."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local import LocalJob

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TOTALS = """
from pyspark.sql import functions as F

@F.udf("int")
def twice(number):
    if number == 13:
        raise ValueError("not this one")
    return 2 * number

def job(events):
    number = twice(F.col("value").cast("string").cast("int"))
    total = events.select(number.alias("number")).groupBy().agg(F.sum("number").alias("total"))
    return total.select(F.col("total").cast("string").alias("value"))
"""


@pytest.fixture
def job(tmp_path: Path, kafka: KafkaBroker, zookeeper: ZooKeeperServer) -> Iterator[SmallJob]:
    name = f"letters-{uuid.uuid4().hex[:6]}"
    spec = {"job": {"file": "job.py", "onError": "deadLetter"}, "ordering": HEARTBEAT}
    sinks = [{"name": "copies", "topic": f"{name}-copies"}]
    made = SmallJob(tmp_path / "job", Cluster(kafka, zookeeper), name, TOTALS, sinks=sinks, **spec)
    yield made
    made.local.stop()


@pytest.mark.thorough
def test_the_job_goes_on_without_the_records_that_it_cannot_take(job: SmallJob, tmp_path: Path) -> None:
    job.local.start()
    job.feed("1")
    job.wait_for("2")
    job.feed("2", "seven", "13", "3")
    job.wait_for("12")
    job.feed("eight")
    job.feed("4")
    job.wait_for("20")

    letters = [json.loads(value) for value in job.values(job.dead_letter)]
    assert [(letter["topic"], letter["offset"], letter["value"]) for letter in letters] == [
        (job.input, 2, "seven"),
        (job.input, 3, "13"),
        (job.input, 5, "eight"),
    ]
    assert letters[0]["reason"].startswith("the job raised: [CAST_INVALID_INPUT] The value 'seven' of the type")
    assert letters[1]["reason"] == "the job raised: ValueError: not this one (job.py:7)"

    # Who computes all of it again compares what comes out with what is published.
    job.local.stop()
    shutil.rmtree(tmp_path / "job" / "checkpoint")
    published = len(job.markers())
    job.local = LocalJob(job.local.manifest.path, tmp_path / "job" / "again").start()
    job.feed("5")
    job.wait_for("30")
    job.wait(
        lambda: all('"epoch": 0' in job.local.log_file(name).read_text() for name in ("replica-0", "replica-1")),
        "both replicas have computed it again",
    )
    assert job.local.outcome is None, job.story()
    assert [job.local.process(name).restarts for name in ("replica-0", "replica-1")] == [0, 0]
    assert len(job.markers()) > published
    assert len(job.values(job.dead_letter)) == 3
