"""Real replicas: one that was killed has the watermarks that its peer has, and no sink waits for another's input."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest

from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.observe import Observer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TWO_WATERMARKS = """
from pyspark.sql import functions as F

def job(events):
    record = F.from_json(F.col("value").cast("string"), "kind STRING, id STRING, at TIMESTAMP").alias("r")
    parsed = events.select(record).select("r.*")
    orders = parsed.filter("kind = 'order'").select("id", "at").withWatermark("at", "10 seconds")
    refunds = parsed.filter("kind = 'refund'").select(F.col("id").alias("oid"), F.col("at").alias("rat"))
    refunds = refunds.withWatermark("rat", "10 seconds")
    joined = orders.join(refunds, F.expr("id = oid AND rat BETWEEN at AND at + INTERVAL 1 MINUTE"), "left_outer")
    counts = orders.groupBy(F.window("at", "1 minute")).count()
    return {
        "copies": joined.select(F.concat_ws(" ", "id", F.coalesce("oid", F.lit("kept"))).alias("value")),
        "counts": counts.select(F.concat_ws(" ", F.date_format("window.start", "HH:mm"), "count").alias("value")),
    }
"""


def order(name: str, at: str) -> str:
    return json.dumps({"kind": "order", "id": name, "at": f"2024-06-01T{at}Z"})


def refund(name: str, at: str) -> str:
    return json.dumps({"kind": "refund", "id": name, "at": f"2024-06-01T{at}Z"})


def at_head(job: SmallJob, epochs: int) -> list[str]:
    """The replicas that have computed so many epochs, or restored them, and are at the head of the log."""
    seen = Observer.of(job.local).look().replicas
    return [one.name for one in seen if one.alive and one.ready and one.lag_epochs == 0 and one.epoch >= epochs]


@pytest.fixture
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallJob]:
    """Two replicas."""
    name = f"restored-{uuid.uuid4().hex[:6]}"
    folder = tmp_path_factory.mktemp("restored")
    made = SmallJob(folder, Cluster(kafka, zookeeper), name, TWO_WATERMARKS, ordering=HEARTBEAT)
    made.local.start()
    yield made
    made.local.stop()


@pytest.mark.thorough
def test_a_killed_replica_goes_on_with_each_watermark_and_the_row_without_a_match_comes(job: SmallJob) -> None:
    counts = f"{job.name}-counts"
    job.wait(lambda: all(job.local.is_up(name) for name in ("replica-0", "replica-1")), "both replicas compute")
    job.feed(order("1", "10:00:05"), refund("1", "10:00:30"))
    job.wait_for("1 1")
    for name, at in (("2", "10:05:00"), ("3", "10:10:00")):
        before = len(job.markers())
        job.feed(order(name, at))
        job.wait(lambda before=before: len(job.markers()) > before, f"order {name} is published")  # type: ignore[misc]
    # Refunds are silent since 10:00:30: the windows of orders alone do not wait for them.
    job.wait(lambda: "10:00 1" in job.values(counts), "the first window of orders")

    job.local.kill("replica-0")
    job.wait(lambda: job.local.process("replica-0").restarts == 1 and job.local.is_up("replica-0"), "it is back")
    job.wait(lambda: "replica-0" in at_head(job, -1), "it is at the head")
    for minute in range(20, 24):
        before = len(job.markers())
        job.feed(refund("z", f"10:{minute}:00"))
        job.wait(lambda before=before: len(job.markers()) > before, f"refund {minute} is published")  # type: ignore[misc]

    job.wait_for("2 kept")
    last = job.markers()[-1].epoch
    job.wait(lambda: len(at_head(job, last)) == 2, "both computed all of it")
    assert [job.local.process(name).state for name in ("replica-0", "replica-1")] == ["running", "running"], job.story()
    assert job.values() == ["1 1", "2 kept"]
