"""A job in real-time mode in two replicas: they are killed, and every record comes out once, in order.

`TANDEM_ORDERING=leader,heartbeat` tries both modes; CI has time for one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.command import Command
from integration.counting_job import COUNTS, check_each_record_counted_once
from integration.small_job import HEARTBEAT, SmallJob
from integration.windowed_job import WINDOWS, barriers_of, check_windows
from integration.workload import Cluster, Workload, running
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TWO_SCANS = """
from pyspark.sql import functions as F

def job(events):
    return {"copies": events.select("key", "value"), "counts": events.where("key = 'k0'").select("key", "value")}
"""


@pytest.fixture(params=os.environ.get("TANDEM_ORDERING", "leader").split(","))
def workload(
    request: pytest.FixtureRequest,
    kafka: KafkaBroker,
    zookeeper: ZooKeeperServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Workload]:
    cluster = Cluster(kafka, zookeeper)
    name = f"real-time-{uuid.uuid4().hex[:6]}"
    ordering = {"mode": request.param, "minEpochInterval": "20ms"}
    folder = tmp_path_factory.mktemp(request.param)
    with running(folder, cluster, name, code=TWO_SCANS, engine="realTime", ordering=ordering) as workload:
        yield workload


@pytest.mark.thorough
def test_replicas_that_are_killed_lose_repeat_and_reorder_nothing(workload: Workload) -> None:
    workload.flows_on(100)
    for name in workload.publisher_and_other():
        published = workload.published_epoch()
        workload.job.kill(name)
        workload.flows_on(200)
        workload.when_whole()
        (*_, begun) = workload.logged(name, "stateless_begun")
        assert begun["epoch"] >= published, "what was published is computed again"
    workload.check_copied_once()

    verify = Command("verify", str(workload.job.manifest.path))
    assert verify.exit_code() == 0, verify.output


def test_counts_of_a_replica_that_is_killed_report_every_record_once(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    cluster, name = Cluster(kafka, zookeeper), f"real-time-{uuid.uuid4().hex[:6]}"
    # Enough for a barrier before the kill, and no more: whoever comes back has to catch up beside them, on two busy cores.
    ordering = {"mode": "leader", "minEpochInterval": "100ms", "barrierInterval": "2s"}
    with running(tmp_path, cluster, name, code=COUNTS, engine="realTime", ordering=ordering) as workload:
        workload.flows_on(1_000)
        publisher, _ = workload.publisher_and_other()
        workload.job.kill(publisher)
        workload.flows_on(200)
        workload.when_whole()
        (*_, restored) = workload.logged(publisher, "checkpoint_restored")
        assert restored["epoch"] > 0, "all is computed again, from the first epoch on"
        check_each_record_counted_once(workload)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_windows_of_replicas_that_are_killed_are_counted_once_and_the_same_records_are_late_everywhere(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    cluster, name = Cluster(kafka, zookeeper), f"real-time-{uuid.uuid4().hex[:6]}"
    ordering = {"mode": "leader", "minEpochInterval": "20ms", "barrierInterval": "2s"}
    job = {"file": "job.py", "outputMode": "update"}
    with running(tmp_path, cluster, name, code=WINDOWS, engine="realTime", ordering=ordering, job=job) as workload:
        workload.flows_on(300)
        first, second = workload.publisher_and_other()
        workload.job.kill(first)
        workload.flows_on(200)
        workload.wait(
            lambda: bool(workload.logged(first, "checkpoint_restored")), 180, f"{first} has restored its state"
        )
        (*_, restored) = workload.logged(first, "checkpoint_restored")
        assert restored["epoch"] in barriers_of(workload)
        workload.job.kill(second)
        workload.flows_on(1_000)  # by the one that was restored
        assert check_windows(workload) > 0, "no record was late"
        verify = Command("verify", str(workload.job.manifest.path))
        assert verify.exit_code() == 0, verify.output

        workload.feeder.stop()
        workload.wait(
            lambda: max(barriers_of(workload)) == workload.published_epoch() >= workload.reader.newest,
            60,
            "the last epoch is a barrier, which the watermark moves at",
        )


NUMBERS = """
from pyspark.sql import functions as F

def job(events):
    number = F.col("value").cast("string").cast("int")
    doubled = events.select((2 * number).cast("string").alias("value"))
    return {"copies": doubled, "more": doubled}
"""


def test_the_record_that_a_job_of_two_sinks_cannot_take_is_found(
    tmp_path: Path, kafka: KafkaBroker, zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    job = SmallJob(
        tmp_path / "job",
        Cluster(kafka, zookeeper),
        topic_prefix,
        NUMBERS,
        sinks=[{"name": sink, "topic": f"{topic_prefix}-{sink}"} for sink in ("copies", "more")],
        job={"file": "job.py", "onError": "deadLetter"},
        ordering=HEARTBEAT,
        engine="realTime",
        replicas=1,
    )
    try:
        job.local.start()
        job.feed("1")
        job.wait_for("2")
        job.feed("2", "seven", "3")
        job.feed("4")
        job.wait_for("4", "6", "8")
        (letter,) = [json.loads(value) for value in job.values(job.dead_letter)]
        assert (letter["offset"], letter["value"]) == (2, "seven")
        assert job.local.process("replica-0").restarts == 0
    finally:
        job.local.stop()
