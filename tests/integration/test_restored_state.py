"""A query that restores computes what one that ran through computes, whatever its plan, its inputs, and where it restores.

`TANDEM_EXAMPLES=300` tries more plans than CI has time for, of more operators, keys and aggregates.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import BEGINNING, Job, Record, as_json, kafka_sink, values
from integration.restored_plans import Plan, plans
from integration.timed_inputs import Epoch, inputs, records
from tandem.checkpoint.compared import restore
from tandem.checkpoint.position import EnginePosition
from tandem.engine.plan_check import check_watermarks
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec
from tandem.replica.rows import EpochRows

pytestmark = pytest.mark.integration

EXAMPLES = int(os.environ.get("TANDEM_EXAMPLES", "4"))

ONE_INPUT_FALLS_SILENT: tuple[Epoch, ...] = (
    (("l", "a", 5), ("r", "a", 30)),
    (("l", "b", 300),),
    (("l", "c", 600),),
    (("r", "z", 1200),),
    (("r", "z", 1260),),
    (("r", "z", 1320),),
)


class Runs:
    """One query after another over the same epochs."""

    def __init__(self, spark: SparkSession, folders: Iterator[Path], plan: Plan, epochs: tuple[Epoch, ...]) -> None:
        self._spark = spark
        self._folders = folders
        self._plan = plan
        self._epochs = epochs

    def digests(self, restored_before: frozenset[int]) -> list[str]:
        """Of each epoch's rows, by a query that is stopped and restored before the epochs given."""
        return [
            EpochRows.of(number, table, ordered=True).digest
            for number, table in enumerate(self._tables(restored_before))
        ]

    def rows(self) -> list[set[tuple[str, bytes]]]:
        """Of each epoch: sink and value."""
        tables = [table.to_pylist() for table in self._tables(frozenset())]
        return [{(row["sink"], row["value"]) for row in table} for table in tables]

    def _tables(self, restored_before: frozenset[int]) -> list[pa.Table]:
        found: list[pa.Table] = []
        folder, job = self._started(BEGINNING, None)
        for number, epoch in enumerate(self._epochs):
            if number in restored_before:
                job.committed(number - 1)
                job.stop()
                folder, job = self._started(EnginePosition(number - 1, (number - 1) * 10), folder)
            found.append(job.run(number, records(epoch)))
        job.stop()
        return found

    def _started(self, after: EnginePosition, earlier: Path | None) -> tuple[Path, Job]:
        folder = next(self._folders)
        job = Job(
            self._spark, folder, self._plan.sources, [kafka_sink(f"out_{n}") for n in range(len(self._plan.operators))]
        )
        if earlier is not None:
            assert restore([earlier / "checkpoint"], after.epoch, folder / "checkpoint") == after
        job.start(self._plan.result(job.sources), after)
        return folder, job


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="TANDEM_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@example(Plan(("left outer join",)), ONE_INPUT_FALLS_SILENT, frozenset({3}))
@example(
    Plan(("windows", "left outer join", "windows of the other input"), right_idle_s=2),
    ONE_INPUT_FALLS_SILENT[::-1],
    frozenset({1, 3, 5}),
)
@given(plan=plans, epochs=inputs(), cuts=st.frozensets(st.integers(1, 6), min_size=1))
def test_a_query_that_restores_computes_what_one_that_ran_through_computes(
    spark: SparkSession, folders: Iterator[Path], plan: Plan, epochs: tuple[Epoch, ...], cuts: frozenset[int]
) -> None:
    runs = Runs(spark, folders, plan, epochs)
    assert runs.digests(cuts) == runs.digests(frozenset())


def only(name: str, spark: SparkSession, folders: Iterator[Path], epochs: tuple[Epoch, ...]) -> list[set[bytes]]:
    """The values of a job with that operator alone."""
    return [{value for _, value in rows} for rows in Runs(spark, folders, Plan((name,)), epochs).rows()]


TWO_SILENT: tuple[Epoch, ...] = (
    (("l", "a", 5),),
    (("l", "a", 300),),
    (("l", "b", 310), ("r", "b", 20)),
    (("l", "c", 900),),
)


def test_a_sink_has_the_rows_that_it_would_have_as_a_job_of_its_own(
    spark: SparkSession, folders: Iterator[Path]
) -> None:
    names = ("windows", "windows of the other input", "left outer join")
    together = Runs(spark, folders, Plan(names), TWO_SILENT).rows()
    for place, name in enumerate(names):
        own = [{value for sink, value in rows if sink == f"out_{place}"} for rows in together]
        assert own == only(name, spark, folders, TWO_SILENT), name
    # The windows of the busy input came out, though the other one is silent: the first one after the second epoch.
    assert any(b"10:00:00" in value for _, value in together[2])


def test_an_input_that_is_idle_for_too_long_holds_back_no_other(spark: SparkSession, folders: Iterator[Path]) -> None:
    """The epochs are a second apart. An order without a refund comes out once refunds are idle, else it waits for them."""
    epochs: tuple[Epoch, ...] = (
        (("l", "a", 5), ("r", "a", 30)),
        (("l", "b", 300),),
        (("l", "c", 1200),),
        (("l", "c", 1260),),
        (("l", "c", 1320),),
        (("r", "d", 1400),),
        (("l", "c", 1380), ("r", "c", 1390)),
    )

    def first(idle_s: int | None) -> int | None:
        rows = Runs(spark, folders, Plan(("left outer join",), right_idle_s=idle_s), epochs).rows()
        unmatched = [n for n, some in enumerate(rows) if any(b'"id":"b"' in value for _, value in some)]
        return min(unmatched, default=None)

    assert first(2) == 3  # epoch 2 comes 2 s after epoch 0, so the watermark moves with it, and epoch 3 evicts
    assert first(None) == 6


WATERMARKS: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "of another column, without state": (
        lambda d: d.withColumn("b", F.col("at")).withWatermark("b", "5 seconds"),
        "fails",
    ),
    "of the same column": (lambda d: d.withWatermark("at", "5 seconds").dropDuplicates(["id", "at"]), "fails"),
    "of windows": (
        lambda d: (
            d.groupBy(F.window("at", "1 minute"))
            .count()
            .withColumn("b", F.window_time("window"))
            .withWatermark("b", "5 seconds")
        ),
        "waits",
    ),
    "of windows, passed on": (
        lambda d: d.groupBy(F.window("at", "1 minute")).count().groupBy(F.window("window", "3 minutes")).count(),
        "good",
    ),
}


@pytest.mark.parametrize("name", WATERMARKS)
def test_a_second_watermark_is_refused_where_spark_would_fail_or_wait_for_ever(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    plan, outcome = WATERMARKS[name]
    source = SourceSpec(name="left", topics=("l",), format="json", schema="id STRING, at TIMESTAMP")
    job = Job(spark, tmp_path / "job", [source, SourceSpec(name="right", topics=("r",))], [kafka_sink()])
    frame = plan(job.sources["left"].withWatermark("at", "1 minute")).select(F.to_json(F.struct("*")).alias("value"))

    def rows() -> list[str]:
        times = [f"2024-06-01T{10 + epoch}:00:00Z" for epoch in range(4)]
        tables = [job.run(epoch, [Record(as_json(id="a", at=at), topic="l")]) for epoch, at in enumerate(times)]
        return [value for table in tables for value in values(table)]

    job.start(frame)
    if outcome == "fails":
        with pytest.raises(StreamingQueryException, match="Redefining watermark"):
            rows()
    else:
        assert bool(rows()) is (outcome == "good")
    job.stop()
    if outcome == "good":
        check_watermarks(frame)
    else:
        with pytest.raises(JobError, match="has a watermark already"):
            check_watermarks(frame)


Change = tuple[Callable[[DataFrame], DataFrame], Callable[[DataFrame], DataFrame], str | None]


def _kept(frame: DataFrame, key: str | Column, length: str = "1 minute") -> DataFrame:
    counts = frame.withWatermark("at", "1 minute").groupBy(F.window("at", length), key).count()
    return counts.select(F.to_json(F.struct("*")).alias("value"))


CHANGES: dict[str, Change] = {
    "another column": (
        lambda d: _kept(d, "id"),
        lambda d: _kept(d, "other"),
        r"by .*l/value.id, now by .*l/value.other",
    ),
    "another column of the same name": (
        lambda d: _kept(d, F.col("id").alias("k")),
        lambda d: _kept(d, F.col("other").alias("k")),
        "operator 0 .aggregation. kept its state by",
    ),
    "other windows": (
        lambda d: _kept(d, "id"),
        lambda d: _kept(d, "id", length="2 minutes"),
        "windows of 60 s.* now by .*windows of 120 s",
    ),
    "another function of the same column": (
        lambda d: _kept(d, "id"),
        lambda d: _kept(d, F.upper("id").alias("id")),
        r"kept its state by .*, l/value.id, now by .*, upper\(l/value.id\)",
    ),
    "other duplicates": (
        lambda d: d.dropDuplicates(["id"]).select(F.col("id").alias("value")),
        lambda d: d.dropDuplicates(["other"]).select(F.col("id").alias("value")),
        r"\(dropDuplicates\) kept its state by l/value.id, now by l/value.other",
    ),
    "a column by another name": (
        lambda d: _kept(d, "id"),
        lambda d: _kept(d.withColumnRenamed("id", "it"), "it"),
        None,
    ),
    "a column computed with more care": (
        lambda d: _kept(d, F.upper("id").alias("k")),
        lambda d: _kept(d, F.coalesce(F.upper(F.trim("id")), F.lit("none")).alias("k")),
        None,
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_state_that_is_kept_by_other_columns_is_refused(spark: SparkSession, tmp_path: Path, name: str) -> None:
    before, after, expected = CHANGES[name]
    source = SourceSpec(name="left", topics=("l",), format="json", schema="id STRING, other STRING, at TIMESTAMP")
    there = SourceSpec(name="right", topics=("r",))
    first = Job(spark, tmp_path / "first", [source, there], [kafka_sink()])
    first.start(before(first.sources["left"]))
    first.run(0, [Record(as_json(id="a", other="b", at="2024-06-01T10:00:00Z"), topic="l")])
    first.committed(0)
    first.stop()
    position = restore([tmp_path / "first" / "checkpoint"], 0, tmp_path / "second" / "checkpoint")
    second = Job(spark, tmp_path / "second", [source, there], [kafka_sink()])
    result = after(second.sources["left"])
    if expected is None:
        second.start(result, position)
        second.run(1, [])
        second.stop()
    else:
        with pytest.raises(JobError, match=expected):
            second.start(result, position)


def test_a_plan_that_spark_refuses_when_it_is_pruned_starts_whole(spark: SparkSession, folders: Iterator[Path]) -> None:
    runs = Runs(spark, folders, Plan(("windows by struct", "sessions by binary")), ONE_INPUT_FALLS_SILENT)
    assert runs.digests(frozenset({2})) == runs.digests(frozenset())
