"""A job whose manifest leaves the engine open: its replica says which one it runs, and the log counts that one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.changes import what_has_changed
from tandem.local.observe import Observer
from tandem.manifest import load
from tandem.manifest.identity import parts_of
from tandem.protocol.values import Config

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CODE = """
from pyspark.sql import functions as F


@F.udf("string")
def normalize(text):
    return text.lower()


def job(events):
    return events.select(normalize(F.col("value").cast("string")).alias("value"))
"""
WORDS = "microBatch: the job has a Python UDF (normalize)"


@pytest.fixture
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[SmallJob]:
    name = f"engine-{uuid.uuid4().hex[:6]}"
    sinks = [{"name": "copies", "topic": f"{name}-copies"}]
    made = SmallJob(
        tmp_path, Cluster(kafka, zookeeper), name, CODE, sinks=sinks, ordering=HEARTBEAT, replicas=1, engine="auto"
    )
    made.local.start()
    yield made
    made.local.stop()


@pytest.mark.thorough
def test_the_replica_says_which_engine_it_runs_and_naming_that_changes_nothing(job: SmallJob) -> None:
    job.feed("A")
    job.wait_for("a")
    observer = Observer.of(job.local)
    job.wait(lambda: observer.look().engines == (WORDS,), "the status names the engine")
    logged = (job.local.run_directory / "replica-0.log").read_text()
    assert any("engine_chosen" in line and "a Python UDF (normalize)" in line for line in logged.splitlines())

    (accepted,) = [proposal for proposal in job.proposals() if isinstance(proposal, Config)]
    assert "engine" not in parts_of(accepted.digest)
    manifest = job.local.manifest.path
    assert what_has_changed(load(manifest), accepted) == ""
    text = manifest.read_text()
    assert text.count('"auto"') + text.count("engine: auto") == 1
    manifest.write_text(text.replace("auto", "microBatch"))
    assert what_has_changed(load(manifest), accepted) == ""
    manifest.write_text(text.replace("auto", "realTime"))
    assert what_has_changed(load(manifest), accepted) == "different are spec.engine"
