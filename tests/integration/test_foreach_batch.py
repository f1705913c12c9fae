"""A sink `foreachBatch`, on real processes: called by the epoch's owner before the marker, at least once, same rows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.small_job import HEARTBEAT, SmallJob, when_whole
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local import LocalJob
from tandem.process.info import ExitCode
from tandem.protocol.values import Claim

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

JOB = """
from pyspark.sql import functions as F

def job(events):
    text = F.col("value").cast("string")
    rows = events.select(text.alias("name"), F.length(text).alias("size"), F.array(F.lit(1.5)).alias("parts"),
                         F.lit("2024-05-01 10:00:00").cast("timestamp").alias("at"))
    return {"copies": events.select(text.alias("value")), "calls": rows}
"""

WRITER = '''
import json, os, time
from pathlib import Path

FOLDER = Path({folder!r})
HERE = FOLDER / "calls.jsonl"


def write(df, batch_id):
    """As Spark's own documentation shows it: a view of the batch, and SQL over it."""
    df.persist()
    df.createOrReplaceTempView("updates")
    found = df.sparkSession.sql("SELECT name, size, at FROM updates ORDER BY name")
    names = [row.name for row in found.collect()]
    with HERE.open("a") as file:
        call = {{"batch": batch_id, "names": names, "count": df.count(), "pid": os.getpid(), "types": df.dtypes}}
        file.write(json.dumps(call) + "\\n")
    if "slow" in names:
        time.sleep(1.5)
    if "twice" in names and not (FOLDER / "raised").exists():
        (FOLDER / "raised").touch()
        raise OSError("the service is away")
    if "bad" in names and not (FOLDER / "fixed").exists():
        raise ValueError("no such row, please")
    while "hold" in names and not (FOLDER / "go").exists():
        time.sleep(0.05)
    df.unpersist()
'''

MakeJob = Callable[..., SmallJob]


@pytest.fixture(scope="module")
def make_job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeJob]:
    made: list[SmallJob] = []

    def make(replicas: int, **spec: object) -> SmallJob:
        name = f"calls-{uuid.uuid4().hex[:6]}"
        folder, cluster = tmp_path_factory.mktemp(name), Cluster(kafka, zookeeper)
        (folder / "writer.py").write_text(WRITER.format(folder=str(folder)))
        sinks = [{"name": "copies", "topic": f"{name}-copies"}, {"name": "calls", "foreachBatch": "writer:write"}]
        job = SmallJob(folder, cluster, name, JOB, replicas=replicas, sinks=sinks, ordering=HEARTBEAT, **spec)
        made.append(job)
        job.local.start()
        return job

    yield make
    for job in made:
        job.local.stop()


def calls(job: SmallJob) -> list[dict[str, Any]]:
    """All calls that had rows."""
    path = Path(job.folder / "calls.jsonl")
    lines = path.read_text().splitlines() if path.exists() else []
    return [call for call in map(json.loads, lines) if call["names"]]


def owner(job: SmallJob, name: str) -> str:
    """The replica that has claimed the epoch of that record; who claimed last may be ahead of it."""
    (epoch,) = {call["batch"] for call in calls(job) if name in call["names"]}
    return [one for one in job.proposals() if isinstance(one, Claim) and one.epoch == epoch][-1].owner.split(".")[1]


def caller(job: SmallJob, name: str) -> str:
    """The replica that is in its call with that record, or was."""
    pid = next(call["pid"] for call in calls(job) if name in call["names"])
    return next(one.name for one in job.local.processes() if one.pid == pid)


@pytest.fixture(scope="module")
def pair(make_job: MakeJob) -> SmallJob:
    """Both have computed from the first epoch on: who has only seen quick calls takes a slower one over."""
    job = make_job(2)
    when_whole(job)
    return job


def test_each_epoch_is_given_once_with_its_rows_and_its_number(pair: SmallJob) -> None:
    for name in "abcdef":
        pair.feed(name, f"{name}{name}")
        pair.wait_for(name, f"{name}{name}")

    found = calls(pair)
    assert sorted(name for call in found for name in call["names"]) == sorted(pair.values())
    assert len({call["batch"] for call in found}) == len(found)
    assert [call["batch"] for call in found] == sorted(call["batch"] for call in found)
    assert {call["batch"] for call in found} <= {marker.epoch for marker in pair.markers()}
    assert all(call["count"] == len(call["names"]) for call in found)
    types = [["name", "string"], ["size", "int"], ["parts", "array<double>"], ["at", "timestamp"]]
    assert found[0]["types"] == types


def test_nobody_calls_a_slow_function_beside_its_owner(pair: SmallJob) -> None:
    pair.feed("slow")
    pair.wait_for("slow")
    before = sum("slow" in call["names"] for call in calls(pair))  # by now both know how long a call may take

    pair.feed("slow")
    pair.wait(lambda: pair.values().count("slow") == 2, "the second slow one")

    assert sum("slow" in call["names"] for call in calls(pair)) == before + 1


def test_an_epoch_is_published_after_its_call_and_a_successor_calls_with_the_same_rows(pair: SmallJob) -> None:
    pair.feed("hold", "held")
    pair.wait(lambda: any("hold" in call["names"] for call in calls(pair)), "the call")
    assert "hold" not in pair.values(), "the epoch is published before its function has returned"
    pair.local.kill(caller(pair, "hold"))  # the newest claim may be another replica's, which has not called yet
    (pair.folder / "go").touch()
    pair.wait_for("hold", "held")

    found = [call for call in calls(pair) if "held" in call["names"] or "hold" in call["names"]]
    by_batch = {call["batch"]: call["names"] for call in found}
    assert len(found) > len(by_batch), "nobody called again"
    assert all(call["names"] == by_batch[call["batch"]] for call in found)
    assert len({call["pid"] for call in found}) > 1
    assert pair.values().count("hold") == 1


@pytest.mark.thorough
def test_after_a_kill_between_the_call_and_the_marker_the_same_batch_is_given_again(pair: SmallJob) -> None:
    when_whole(pair)
    with pair.withheld(pair.commits):
        pair.feed("between")
        pair.wait(lambda: any("between" in call["names"] for call in calls(pair)), "the call")
        pair.local.kill(owner(pair, "between"))
    pair.wait_for("between")

    found = [call for call in calls(pair) if "between" in call["names"]]
    assert len(found) > 1
    assert len({(call["batch"], *call["names"]) for call in found}) == 1


def test_a_function_that_raises_once_is_called_again(pair: SmallJob) -> None:
    pair.feed("twice")
    pair.wait_for("twice")

    found = [call["batch"] for call in calls(pair) if "twice" in call["names"]]
    assert len(found) >= 2
    assert len(set(found)) == 1


@pytest.mark.thorough
def test_a_function_that_raises_again_and_again_ends_the_job_with_its_line_and_loses_nothing(make_job: MakeJob) -> None:
    job = make_job(1)
    job.feed("good")
    job.wait_for("good")
    job.feed("bad")

    outcome = job.end()

    assert outcome.code == ExitCode.REFUSED
    assert "sink calls: its function raised in epoch" in outcome.reason
    assert "ValueError: no such row, please (writer.py:" in outcome.reason
    assert "Nothing is lost" in outcome.reason
    assert job.values() == ["good"]
    (job.folder / "fixed").touch()
    job.local = LocalJob(job.folder / "job.yaml", job.folder / "again")
    job.local.start()
    job.wait_for("bad")
    assert len({call["batch"] for call in calls(job) if "bad" in call["names"]}) == 1


@pytest.mark.thorough
def test_a_function_that_is_not_there_ends_the_job_at_its_start(make_job: MakeJob) -> None:
    job = make_job(1, job={"file": "job.py"})
    job.local.stop()
    (job.folder / "writer.py").write_text("def wirte(df, batch_id):\n    pass\n")
    job.local.start()

    outcome = job.end()

    assert outcome.code == ExitCode.REFUSED
    assert "sink calls: writer has no function write. Define it as `def write(df, batch_id)`" in outcome.reason


@pytest.mark.thorough
def test_the_real_time_engine_calls_it_too(make_job: MakeJob) -> None:
    job = make_job(1, engine="realTime")
    job.feed("rt1", "rt2")
    job.wait_for("rt1", "rt2")

    assert sorted(name for call in calls(job) for name in call["names"]) == ["rt1", "rt2"]
    job.local.stop()
