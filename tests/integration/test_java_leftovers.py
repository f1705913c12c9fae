"""A JVM that is killed leaves its libraries and sockets behind; the replica that comes after it removes them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from integration.small_job import HEARTBEAT, SmallJob, when_whole
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.observe import Observer
from tandem.replica.java_folder import java_folder

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(600)]

COUNT = """
from pyspark.sql import functions as F

def job(events):
    @F.udf("string")
    def same(text):
        return text

    counted = events.groupBy(same(F.col("value").cast("string")).alias("value")).count()
    return counted.select("value")
"""


def left(job: SmallJob) -> Path:
    """Where the only replica's JVM has its temporary files."""
    (replica,) = Observer.of(job.local).look().replicas
    return java_folder(replica.incarnation)


def test_nothing_of_a_killed_jvm_is_left_when_its_successor_runs(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    name = f"leftovers-{uuid.uuid4().hex[:6]}"
    spec = {"ordering": HEARTBEAT, "replicas": 1, "sinks": [{"name": "copies", "topic": f"{name}-copies"}]}
    job = SmallJob(tmp_path, Cluster(kafka, zookeeper), name, COUNT, **spec)
    try:
        job.local.start()
        job.feed("one")
        job.wait_for("one")
        killed = left(job)
        files = [path.name for path in killed.iterdir()]
        assert any(file.startswith("librocksdbjni") for file in files), files
        assert any(file.endswith(".sock") for file in files), files

        job.local.kill("replica-0")
        job.wait(lambda: job.local.process("replica-0").restarts == 1, "it is started again")
        when_whole(job)
        assert left(job) != killed
        assert not killed.exists()
        successor = left(job)
    finally:
        job.local.stop()
    assert not successor.exists()
