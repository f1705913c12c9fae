"""A job that is not determined by its input: the replica that did not publish finds out, says where, and stops."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest

from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.process.info import ExitCode

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

OF_ITS_PROCESS = """
import os
from pyspark.sql import functions as F

@F.udf("string")
def stamped(value):
    text = bytes(value).decode()
    return f"{text} by {os.getpid()}" if text == "b" else text

def job(events):
    return events.select(stamped("value").alias("value"))
"""


@pytest.fixture
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallJob]:
    """Two replicas; every second record of an epoch tells which process computed it."""
    name = f"diverging-{uuid.uuid4().hex[:6]}"
    sinks = [{"name": "copies", "topic": f"{name}-copies"}]
    folder = tmp_path_factory.mktemp("diverging")
    made = SmallJob(folder, Cluster(kafka, zookeeper), name, OF_ITS_PROCESS, sinks=sinks, ordering=HEARTBEAT)
    made.local.start()
    yield made
    made.local.stop()


def test_the_replica_that_did_not_publish_stops_with_the_first_differing_row_and_the_other_goes_on(
    job: SmallJob,
) -> None:
    job.wait(lambda: all(job.local.is_up(name) for name in ("replica-0", "replica-1")), "both replicas compute")
    job.feed("a", "a", "b", "b")
    job.wait(lambda: any(job.local.process(name).exit_code is not None for name in job.local.names), "one stops")

    (stopped,) = (name for name in job.local.names if job.local.process(name).exit_code is not None)
    process, other = job.local.process(stopped), {"replica-0": "replica-1", "replica-1": "replica-0"}[stopped]
    assert (process.exit_code, process.restarts) == (ExitCode.REFUSED, 0)
    first = re.search(
        rf"epoch \d+: computed digest \w+, published \w+ by {job.name}\.{other}\.\w+; "
        rf"row \d+: computed {job.name}-copies key=b'' value=b'b by (\d+)', "
        rf"published {job.name}-copies key=b'' value=b'b by (\d+)'",
        process.reason,
    )
    assert first is not None, process.reason
    assert first[1] != first[2]
    assert job.values()[2] == f"b by {first[2]}"

    job.feed("c", "d")
    job.wait_for("c", "d")
    assert job.values()[-2:] == ["c", "d"]
    assert job.local.process(other).state == "running"
    assert job.local.outcome is None
    assert {marker.owner.split(".")[1] for marker in job.markers()} == {other}
    owned = {path.parent.name.split(".")[1] for path in (job.folder / "checkpoint").glob("*/lineage")}
    assert owned == {other}, "nobody goes on from the state of one that has diverged"
