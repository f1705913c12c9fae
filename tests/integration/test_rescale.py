"""State that was divided into another number of partitions goes on with exactly the results that it would have had."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.engine import Job, gone, kafka_sink, raw_source
from integration.remembering_job import records, results, started
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import build_session
from tandem.manifest import SparkSpec
from tandem.protocol.values import Cut, Offsets, TopicPartition
from tandem.snapshots import Inputs, Savepoint, Savepoints, SnapshotHead, SnapshotStore
from tandem.snapshots.local import pin
from tandem.state import RescaleError, StatelessJobError, StateReader, all_parts, rescale_savepoint, saved_state

pytestmark = pytest.mark.integration

INPUTS = Inputs.of(
    [("left", ("l",)), ("right", ("r",))],
    Cut(0, Offsets({TopicPartition("l", 0): 1, TopicPartition("r", 0): 1}), 0, 0, "o"),
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that writes a full snapshot of its state every few epochs."""
    conf = {
        "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    }
    folder = tmp_path_factory.mktemp("spark")
    session = build_session("tests", "replica-0", SparkSpec(conf=conf), Jars.resolve().spark_classpath(), folder)
    yield session
    session.stop()


def savepoint_of(job: Job, checkpoint: Path, savepoints: Savepoints, epoch: int, name: str) -> Savepoint:
    """A savepoint of a job that has computed `epoch`, as a replica makes it."""
    job.committed(epoch)
    staging = checkpoint.with_name(f"{name}-staging")
    position = pin(checkpoint, epoch, staging).position
    head = SnapshotHead("j", position.epoch, position.log_offset, "c", "", 0, "", "j.replica-0.1a")
    return savepoints.save(name, head, staging, INPUTS)


def restored(spark: SparkSession, folder: Path, savepoints: Savepoints, name: str) -> Job:
    position = savepoints.restore(savepoints.get(name), folder / "checkpoint")
    return started(spark, folder, position)


def state_in(spark: SparkSession, store: SnapshotStore, savepoint: Savepoint) -> dict[str, list[str]]:
    """All of a savepoint's state, without its partitions."""
    found = {}
    with saved_state(store, savepoint.snapshot) as place:
        reader = StateReader(spark, place.folder, place.batch)
        for operator in reader.operators():
            assert operator.partitions == savepoint.partitions
            for part in all_parts(operator):
                page = reader.page(operator, part, limit=10_000)
                found[f"{operator.kind} {part.label}"] = sorted(json.dumps(row) for row in page.rows)
    return found


def test_a_rescaled_job_goes_on_with_the_same_results(spark: SparkSession, tmp_path: Path) -> None:
    store = SnapshotStore(str(tmp_path / "store"))
    savepoints = Savepoints(store)
    first = started(spark, tmp_path / "one")
    results(first, range(4))
    one = savepoint_of(first, tmp_path / "one" / "checkpoint", savepoints, 3, "one")
    expected = results(first, range(4, 8))
    first.stop()
    gone(tmp_path / "one")

    three = rescale_savepoint(spark, savepoints, one, 3, "three", tmp_path)
    assert (one.partitions, three.partitions, three.rescaled_from) == (1, 3, "one")
    assert (three.snapshot.epoch, three.snapshot.log_offset, three.inputs) == (3, 30, INPUTS)
    state = state_in(spark, store, one)
    assert state_in(spark, store, three) == state
    assert min(map(len, state.values())) > 1

    second = restored(spark, tmp_path / "two", savepoints, "three")
    assert results(second, range(4, 6)) == expected[:2]
    again = savepoint_of(second, tmp_path / "two" / "checkpoint", savepoints, 5, "again")
    second.stop()
    gone(tmp_path / "two")
    assert again.partitions == 3

    two = rescale_savepoint(spark, savepoints, again, 2, "two", tmp_path)
    assert two.partitions == 2
    third = restored(spark, tmp_path / "three", savepoints, "two")
    assert results(third, range(6, 8)) == expected[2:]
    third.committed(7)
    assert len([*(tmp_path / "three" / "checkpoint" / "state" / "0").glob("[0-9]")]) == 2
    third.stop()

    with pytest.raises(RescaleError, match="the state has 2 partitions already"):
        rescale_savepoint(spark, savepoints, two, 2, "same", tmp_path)
    assert savepoints.list().names == ("again", "one", "three", "two")


def test_a_job_without_state_is_not_rescaled(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path / "one", [raw_source("left", "l"), raw_source("right", "r")], [kafka_sink()])
    job.start(job.sources["left"].select("key", "value"))
    job.run(0, records(0))
    savepoints = Savepoints(SnapshotStore(str(tmp_path / "store")))
    made = savepoint_of(job, tmp_path / "one" / "checkpoint", savepoints, 0, "one")
    job.stop()

    assert made.partitions == 0
    with pytest.raises(StatelessJobError, match="keeps no state"):
        rescale_savepoint(spark, savepoints, made, 2, "two", tmp_path)


def test_state_that_spark_cannot_divide_is_refused_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    provider = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(provider)
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        job = Job(spark, tmp_path / "one", [raw_source("left", "l"), raw_source("right", "r")], [kafka_sink()])
        job.start(job.sources["left"].groupBy("key").count().selectExpr("key", "cast(count AS string) AS value"))
        job.run(0, records(0))
        savepoints = Savepoints(SnapshotStore(str(tmp_path / "store")))
        made = savepoint_of(job, tmp_path / "one" / "checkpoint", savepoints, 0, "one")
        job.stop()
        with pytest.raises(RescaleError, match=r"Spark cannot divide this state again, .* operators 0 \(aggregation\)"):
            rescale_savepoint(spark, savepoints, made, 2, "two", tmp_path)
    finally:
        spark.conf.set(provider, before)
    assert savepoints.list().names == ("one",)
