"""A job that is not determined by its input: the replica that did not publish finds out, says where, and stops."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator

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


FAILS_IN_ONE = """
import os
from pathlib import Path
from pyspark.sql import functions as F

@F.udf("string")
def checked(value):
    if bytes(value) == b"b":
        try:
            with Path("FOLDER", "fails").open("x") as file:
                file.write(str(os.getsid(0)))
        except FileExistsError:
            pass
        if Path("FOLDER", "fails").read_text() == str(os.getsid(0)):
            raise RuntimeError("the model is not here")
    return bytes(value).decode()

def job(events):
    return events.select(checked("value").alias("value"))
"""
"""In the replica that comes to it first: each has a session of its own."""


@pytest.fixture
def started(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., SmallJob]]:
    """Two replicas of some code, both of which compute."""
    made = []

    def start(code: str, **spec: object) -> SmallJob:
        name = f"diverging-{uuid.uuid4().hex[:6]}"
        sinks = [{"name": "copies", "topic": f"{name}-copies"}]
        folder = tmp_path_factory.mktemp("diverging")
        code = code.replace("FOLDER", str(folder))
        job = SmallJob(folder, Cluster(kafka, zookeeper), name, code, sinks=sinks, ordering=HEARTBEAT, **spec)
        made.append(job)
        job.local.start()
        job.wait(lambda: all(job.local.is_up(name) for name in ("replica-0", "replica-1")), "both replicas compute")
        return job

    yield start
    for job in made:
        job.local.stop()


def stopped(job: SmallJob) -> tuple[str, str]:
    """The replica that stops, once one does, and the other one."""
    job.wait(lambda: any(job.local.process(name).exit_code is not None for name in job.local.names), "one stops")
    (gone,) = (name for name in job.local.names if job.local.process(name).exit_code is not None)
    assert (job.local.process(gone).exit_code, job.local.process(gone).restarts) == (ExitCode.REFUSED, 0)
    return gone, {"replica-0": "replica-1", "replica-1": "replica-0"}[gone]


@pytest.mark.thorough
def test_an_error_that_only_one_replica_has_stops_that_one_and_the_other_goes_on(
    started: Callable[..., SmallJob],
) -> None:
    job = started(FAILS_IN_ONE)
    job.feed("a", "b")

    gone, other = stopped(job)

    reason = job.local.process(gone).reason
    assert "the job raised while it ran: RuntimeError: the model is not here (job.py:" in reason
    assert f"about the record {job.input}/0, offset 1 (key null, value 'b')" in reason
    assert re.search(rf"But {job.name}\.{other}\.\w+ has computed that epoch without an error", reason)
    job.feed("c")
    job.wait_for("a", "b", "c")
    assert job.local.process(other).state == "running"
    counts = [marker.inputs.partition(":")[0] for marker in job.markers()]
    assert sum(map(int, filter(None, counts))) == 3, "markers say which records their epochs had"
    assert job.local.outcome is None


def test_the_replica_that_did_not_publish_stops_with_the_first_differing_row_and_the_other_goes_on(
    started: Callable[..., SmallJob],
) -> None:
    job = started(OF_ITS_PROCESS)
    job.feed("a", "a", "b", "b")

    gone, other = stopped(job)

    process = job.local.process(gone)
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
