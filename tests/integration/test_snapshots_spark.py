"""A real Spark goes on from a restored snapshot as if nothing had happened, though the snapshot holds few of its files."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import BEGINNING, Job, Record, gone, kafka_sink, raw_source, values
from tandem.checkpoint.position import EnginePosition
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import build_session
from tandem.manifest import SourceSpec, SparkSpec
from tandem.snapshots import SnapshotHead, SnapshotStore
from tandem.snapshots.local import pin
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FILES = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
BEFORE, AFTER = range(9), range(9, 14)
Query = Callable[[dict[str, DataFrame]], DataFrame]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that writes a full snapshot of its state every few epochs."""
    conf = {
        "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    }
    folder = tmp_path_factory.mktemp("spark")
    session = build_session("tests", "replica-0", SparkSpec(conf=conf), Jars.resolve().spark_classpath(), folder)
    yield session
    session.stop()


def running_count(streams: dict[str, DataFrame]) -> DataFrame:
    return streams["left"].groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))


def join(streams: dict[str, DataFrame]) -> DataFrame:
    left = streams["left"].select(F.col("key").alias("a"), F.col("value").alias("x"))
    right = streams["right"].select(F.col("key").alias("b"), F.col("value").alias("y"))
    joined = left.join(right, F.expr("a = b"))
    return joined.select(F.col("a").alias("key"), F.concat("x", "y").cast("string").alias("value"))


def sources() -> list[SourceSpec]:
    return [raw_source("left", "l"), raw_source("right", "r")]


def records(epoch: int) -> list[Record]:
    """The input of an epoch, the same whenever it is asked for."""
    chance = random.Random(epoch)
    return [Record(f"{epoch}-{i};".encode(), b"k%d" % chance.randrange(7), chance.choice("lr"), 0) for i in range(20)]


def started(spark: SparkSession, folder: Path, query: Query, after: EnginePosition = BEGINNING) -> Job:
    job = Job(spark, folder, sources(), [kafka_sink()])
    job.start(query(job.sources), after)
    return job


def results(job: Job, epochs: range) -> list[list[str]]:
    return [sorted(values(job.run(epoch, records(epoch)))) for epoch in epochs]


def folders_with(checkpoint: Path, *suffixes: str) -> set[Path]:
    return {path.parent for suffix in suffixes for path in checkpoint.glob(f"state/0/**/*.{suffix}")}


def all_have_a_full_snapshot(checkpoint: Path) -> bool:
    """Whether each state store has one: a join has four, and Spark's maintenance writes one after the other."""
    stores = folders_with(checkpoint, "changelog", "delta")
    return bool(stores) and stores <= folders_with(checkpoint, "zip", "snapshot")


@pytest.mark.parametrize(("query", "provider"), [(running_count, ROCKSDB), (running_count, FILES), (join, ROCKSDB)])
def test_spark_goes_on_from_a_snapshot_with_the_same_results(
    spark: SparkSession, tmp_path: Path, query: Query, provider: str
) -> None:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    checkpoint, staging = tmp_path / "one" / "checkpoint", tmp_path / "staging"
    first = started(spark, tmp_path / "one", query)
    results(first, BEFORE)
    first.committed(BEFORE[-1])
    assert wait_until(lambda: all_have_a_full_snapshot(checkpoint), Deadline(60)), (
        "Spark wrote no full snapshot of some state"
    )

    position = pin(checkpoint, 10_000, staging)
    store = SnapshotStore(str(tmp_path / "store"))
    head = SnapshotHead(
        job="j",
        epoch=position.epoch,
        log_offset=position.log_offset,
        config_digest="c",
        digest="",
        taken_at_ms=0,
        state_format="",
        incarnation="j.replica-0.1a",
    )
    saved = {file.path for file in store.save(head, staging).files}
    expected = results(first, AFTER)
    first.stop()
    gone(tmp_path / "one")
    shutil.rmtree(staging)

    restored = store.newest_usable(BEFORE[-1], "c", tmp_path / "two" / "checkpoint")
    assert restored == EnginePosition(BEFORE[-1], BEFORE[-1] * 10)
    second = started(spark, tmp_path / "two", query, restored)
    assert results(second, AFTER) == expected
    second.stop()

    assert not any(path.endswith(("/1.changelog", "/1.delta", ".crc")) for path in saved)
    assert "offsets/0" not in saved
    if provider == ROCKSDB:
        assert any("/SSTs/" in path for path in saved)
