"""With several tasks, the rows of a key come in the order of its records, and so in every run; a table's rows likewise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source, running_count, values
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.planned import how_ordered
from tandem.engine.row_order import check_order
from tandem.engine.session import build_session
from tandem.jobapi.errors import JobError
from tandem.manifest import SparkSpec
from tandem.replica.rows import EpochRows

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

VALUES = [b"20", None, b"3", b"100"]
"""In no order of bytes; the last one counts in a compacted topic."""


def identity(events: DataFrame) -> DataFrame:
    return events.select("key", "value")


def behind_a_shuffle(events: DataFrame) -> DataFrame:
    return events.repartition(2, "key").select("key", "value")


JOBS: dict[str, Callable[[DataFrame], DataFrame]] = {"identity": identity, "shuffled": behind_a_shuffle}
UNORDERED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "coalesce": lambda events: events.coalesce(1),
    "repartitionByRange": lambda events: events.repartitionByRange(2, F.col("value")),
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of a replica with two tasks at a time, which put ten rows of a sort on disk at a time."""
    spec = SparkSpec(parallelism=2, conf={"spark.shuffle.spill.numElementsForceSpillThreshold": "10"})
    session = build_session("order", "replica-0", spec, file_system_jar(), tmp_path_factory.mktemp("scratch"))
    yield session
    session.stop()


def records() -> list[Record]:
    return [Record(value, key) for value in VALUES for key in (b"k", b"j", b"i", None)]


def values_of(table: pa.Table, wanted: bytes | None) -> list[bytes | None]:
    keys, values = (table[name].to_pylist() for name in ("key", "value"))
    return [value for key, value in zip(keys, values, strict=True) if key == wanted]


@pytest.mark.parametrize("name", JOBS)
def test_the_rows_of_a_key_come_in_the_order_of_its_records(two: SparkSession, tmp_path: Path, name: str) -> None:
    digests = set()
    for run in ("one", "other"):
        job = Job(two, tmp_path / run, [raw_source()], [kafka_sink()])
        job.start(JOBS[name](job.sources["events"]))
        rows = EpochRows.of(0, job.run(0, records()), ordered=False)
        job.stop()
        digests.add(rows.digest)
        assert [values_of(rows.table, key) for key in (b"i", b"j", b"k", None)] == [VALUES] * 4
    assert len(digests) == 1


@pytest.mark.parametrize("name", UNORDERED)
def test_what_has_no_order_is_refused_with_several_tasks(two: SparkSession, tmp_path: Path, name: str) -> None:
    job = Job(two, tmp_path, [raw_source()], [kafka_sink()])
    with pytest.raises(JobError, match=rf"Replace {name}\(\)"):
        check_order(UNORDERED[name](job.sources["events"]))
    check_order(job.sources["events"].repartition(2))
    check_order(job.sources["events"].join(F.broadcast(two.range(3).coalesce(1)), F.col("offset") == F.col("id")))


def with_a_number(table: DataFrame) -> DataFrame:
    return table.withColumn("n", F.monotonically_increasing_id())


def average(table: DataFrame) -> DataFrame:
    return table.groupBy("id").agg(F.avg(F.col("id") / 3).alias("n"))


def in_sql(table: DataFrame) -> DataFrame:
    query = "WITH t AS (SELECT * FROM {table} ORDER BY id) SELECT *, monotonically_increasing_id() AS n FROM t"
    return table.sparkSession.sql(query, table=table)


@pytest.mark.parametrize(
    ("what", "table"),
    [
        (r"monotonically_increasing_id\(\)", lambda table: with_a_number(table.orderBy("id"))),
        (
            r"monotonically_increasing_id\(\)",
            lambda table: with_a_number(table.repartitionByRange(2, "id").where("id > 1")),
        ),
        (r"monotonically_increasing_id\(\)", lambda table: with_a_number(table.orderBy("id").repartition(4))),
        (r"monotonically_increasing_id\(\)", in_sql),
        (r"spark_partition_id\(\)", lambda table: table.orderBy("id").where(F.spark_partition_id() == 0)),
        (r"rand\(\)", lambda table: table.orderBy("id").withColumn("n", F.rand(7))),
        (r"sample\(\)", lambda table: table.orderBy("id").sample(0.5, 7)),
        (r"mapInArrow\(\)", lambda table: table.orderBy("id").mapInArrow(lambda batches: batches, "id LONG")),
        ("a sum or average of floats", lambda table: average(table.orderBy("id"))),
    ],
)
def test_what_goes_by_the_partitions_of_a_sorted_table_is_refused_with_several_tasks(
    two: SparkSession, tmp_path: Path, what: str, table: Callable[[DataFrame], DataFrame]
) -> None:
    events = Job(two, tmp_path, [raw_source()], [kafka_sink()]).sources["events"]
    with pytest.raises(JobError, match=f"Replace {what} of a table that orderBy"):
        check_order(events.join(table(two.range(9)), F.col("offset") == F.col("id")))
    in_order = two.range(9).orderBy("id")
    for other in (
        *(with_a_number(two.range(9)), with_a_number(in_order.limit(5)), with_a_number(in_order.repartition(4, "id"))),
        *(
            in_order,
            average(two.range(9)).orderBy("id"),
            in_order.groupBy("id").agg(F.sum("id"), F.max(F.col("id") / 3)),
        ),
    ):
        check_order(events.join(other, F.col("offset") == F.col("id")))


def numbers(session: SparkSession) -> DataFrame:
    """Rows in four partitions, of which many have the same `k`."""
    return session.range(0, 400, 1, 4).selectExpr("id % 3 AS k", "id AS v")


def test_the_first_of_equal_rows_are_those_that_come_first(two: SparkSession) -> None:
    assert [row.v for row in numbers(two).orderBy("k").limit(5).collect()] == [0, 3, 6, 9, 12]


def test_equal_rows_stay_in_their_order_if_a_sort_puts_them_on_disk(two: SparkSession) -> None:
    rows = numbers(two).repartition(2, "k").sortWithinPartitions("k").collect()
    for k in range(3):
        assert [row.v for row in rows if row.k == k] == list(range(k, 400, 3))


def test_an_aggregation_without_room_fails_and_does_not_give_its_groups_in_another_order(
    two: SparkSession, tmp_path: Path
) -> None:
    setting = "spark.sql.TungstenAggregate.testFallbackStartsAt"
    job = Job(two, tmp_path, [raw_source()], [kafka_sink()])
    two.conf.set(setting, "1,2")
    try:
        job.start(running_count(job.sources["events"]))
        with pytest.raises(StreamingQueryException, match="OutOfMemoryException: HashAggregate had no room"):
            job.run(0, records())
    finally:
        two.conf.unset(setting)
        job.stop()


@pytest.mark.parametrize("written", ["abcdefgh", "hgfedcba"])
def test_a_tables_files_are_read_in_the_order_of_their_names(two: SparkSession, tmp_path: Path, written: str) -> None:
    for letter in written:
        (tmp_path / f"{letter}.csv").write_text(f"{letter}\n")
    table = two.read.csv(str(tmp_path))
    assert [row._c0 for row in table.collect()] == list("abcdefgh")
    assert list(how_ordered(table)) == ["the order of a table's files (see the release of Tandem)"]
    one = two.read.csv(str(tmp_path / "a.csv"))
    assert not how_ordered(one)
    assert how_ordered(one.orderBy("_c0").limit(1))


def test_a_table_that_changes_where_it_is_read_stops_the_query(two: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("k,one\n")
    job = Job(two, tmp_path / "job", [raw_source()], [kafka_sink()])
    events = job.sources["events"].withColumn("_c0", F.col("key").cast("string"))
    job.start(events.join(F.broadcast(two.read.csv(str(file))), "_c0").select(F.col("_c1").alias("value")))
    assert values(job.run(0, [Record(b"x", b"k")])) == ["one"]
    file.write_text("k,another\n")
    with pytest.raises(StreamingQueryException, match=r"ChangedTableException: the file .*names\.csv"):
        job.run(1, [Record(b"x", b"k")])
    job.stop()
