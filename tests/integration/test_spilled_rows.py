"""With one task, too, what had no room stops an epoch where its order would change; a table's equal rows keep theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.session import build_session
from tandem.manifest import SparkSpec

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

RECORDS = [Record(str(number % 200).encode(), b"k") for number in range(600)]


@pytest.fixture(scope="module")
def spilling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of a replica, which puts ten rows of a sort on disk at a time."""
    spec = SparkSpec(conf={"spark.shuffle.spill.numElementsForceSpillThreshold": "10"})
    session = build_session("spilling", "replica-0", spec, file_system_jar(), tmp_path_factory.mktemp("scratch"))
    yield session
    session.stop()


def greatest(events: DataFrame) -> DataFrame:
    """Texts are aggregated behind a sort."""
    return events.groupBy("key").agg(F.max(F.col("value").cast("string")).alias("value"))


def lists(events: DataFrame) -> DataFrame:
    """More groups of objects than are kept without a sort, which is in memory."""
    found = events.groupBy("value").agg(F.collect_list("key").alias("keys"))
    return found.select(F.array_join(F.transform("keys", lambda key: key.cast("string")), ",").alias("value"))


def test_an_epoch_without_room_fails(spilling: SparkSession, tmp_path: Path) -> None:
    made = Job(spilling, tmp_path, [raw_source()], [kafka_sink()])
    made.start(greatest(made.sources["events"]))
    with pytest.raises(StreamingQueryException, match="OutOfMemoryException: Sort had no room"):
        made.run(0, RECORDS)
    made.stop()


@pytest.mark.parametrize(("job", "records", "rows"), [(greatest, RECORDS[:5], 1), (lists, RECORDS, 200)])
def test_one_that_has_room_passes(
    spilling: SparkSession, tmp_path: Path, job: Callable[[DataFrame], DataFrame], records: list[Record], rows: int
) -> None:
    made = Job(spilling, tmp_path, [raw_source()], [kafka_sink()])
    made.start(job(made.sources["events"]))
    assert made.run(0, records).num_rows == rows
    made.stop()


@pytest.mark.parametrize("read", [lambda table: table, DataFrame.cache], ids=["read each time", "cached"])
def test_a_tables_equal_rows_keep_their_order(
    spilling: SparkSession, tmp_path: Path, read: Callable[[DataFrame], DataFrame]
) -> None:
    (tmp_path / "table.csv").write_text("".join(f"{number % 3},{number}\n" for number in range(300)))
    table = spilling.read.csv(str(tmp_path / "table.csv"), schema="k INT, v INT")
    rows = read(table).sortWithinPartitions("k").collect()
    assert [row.v for row in rows] == sorted(range(300), key=lambda v: (v % 3, v))
