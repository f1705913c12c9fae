"""Plans that Spark takes, and whose first epoch fails whatever it has, are refused before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, kafka_sink
from integration.stateful_functions import counting, timers
from integration.tiers import variants
from integration.timed_inputs import COLUMNS, Timed, timed
from tandem.engine.first_epoch import check_first_epoch, check_planned
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec

pytestmark = pytest.mark.integration

Plan = Callable[[Timed], DataFrame]
NEAR = "id = rid AND rat BETWEEN at - INTERVAL 1 MINUTE AND at + INTERVAL 2 MINUTES"


def _collated(frame: DataFrame, collation: str = "UTF8_LCASE") -> DataFrame:
    return frame.withColumn("k", F.collate("id", collation))


def _joined(streams: Timed) -> DataFrame:
    return streams.left.join(streams.right, F.expr(NEAR))


def _kept(frame: DataFrame) -> DataFrame:
    def count(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:  # noqa: ARG001
        yield from ()

    return frame.groupBy("k").applyInPandasWithState(count, "what STRING", "n INT", "append", "NoTimeout")


def _begun(streams: Timed) -> DataFrame:
    begun = _collated(streams.left.sparkSession.sql("SELECT 'a' AS id, 1 AS n")).select("k", "n").groupBy("k")
    groups = _collated(streams.left).groupBy("k")
    return groups.transformWithState(counting(), "id STRING, what STRING", "append", "EventTime", initialState=begun)


def _mean(values: pd.Series) -> float:
    return float(values.mean())


COLLATIONS: dict[str, tuple[Plan, str]] = {
    "groupBy": (
        lambda s: _collated(s.left).groupBy("k").count(),
        r"^groupBy keeps its state by k of the type STRING COLL",
    ),
    "UNICODE": (lambda s: _collated(s.left, "UNICODE").groupBy("k").count(), r"COLLATE UNICODE\. .*lower\(k\)"),
    "an expression": (lambda s: s.left.groupBy(F.collate("id", "UNICODE_CI")).count(), r"by collate\(id"),
    "lower alone": (lambda s: _collated(s.left).groupBy(F.lower("k")).count(), r"by lower\(k\)"),
    "a struct": (lambda s: _collated(s.left).groupBy(F.struct("n", "k")).count(), "^groupBy .*STRUCT<"),
    "a cast, in an array": (
        lambda s: s.left.groupBy(F.array(F.col("id").cast("string collate UTF8_LCASE"))).count(),
        "^groupBy .*ARRAY<",
    ),
    "windows": (lambda s: _collated(s.left).groupBy("k", F.window("at", "1 minute")).count(), "^groupBy .* by k "),
    "sessions": (
        lambda s: _collated(s.left).groupBy("k", F.session_window("at", "1 minute")).count(),
        "^groupBy .* by k ",
    ),
    "dropDuplicates": (lambda s: _collated(s.left).dropDuplicates(["k"]), "^dropDuplicates .* by k "),
    "within": (
        lambda s: _collated(s.left).dropDuplicatesWithinWatermark(["k"]),
        "^dropDuplicatesWithinWatermark .* by k ",
    ),
    "distinct": (lambda s: _collated(s.left).select("k").distinct(), "^dropDuplicates .* by k "),
    "join": (
        lambda s: s.left.join(s.right, F.expr(f"collate(id, 'UTF8_LCASE') = collate(rid, 'UTF8_LCASE') AND {NEAR}")),
        "^join .* by collate",
    ),
    "applyInPandasWithState": (lambda s: _kept(_collated(s.left)), "^applyInPandasWithState .* by k "),
}
"""Operators by text that Spark does not compare by its bytes; and what is said."""

OTHERS: dict[str, tuple[Plan, str]] = {
    "two watermarks": (
        lambda s: _joined(s).dropDuplicates(["id"]),
        r"^dropDuplicates .*\(at, rat\).*INTERVAL 0 SECONDS",
    ),
    "two watermarks, within": (
        lambda s: _joined(s).dropDuplicatesWithinWatermark(["id"]),
        r"^dropDuplicatesWithinWatermark .*\(at, rat\)",
    ),
    "a join without equality": (
        lambda s: s.left.join(s.right, F.expr("rat BETWEEN at AND at + INTERVAL 1 MINUTE")),
        "Stream-stream join without equality predicate",
    ),
    "an aggregation by pandas": (
        lambda s: s.left.groupBy("id").agg(F.pandas_udf(_mean, "double", functionType=202)("n")),  # type: ignore[call-overload]
        "group aggregate pandas UDF",
    ),
    "sessions of all": (
        lambda s: s.left.groupBy(F.session_window("at", "1 minute")).count(),
        "Global aggregation with session window",
    ),
    "a function in an outer join's condition": (
        lambda s: s.left.join(
            s.right, F.expr(NEAR) & F.udf(lambda one, other: one == other, "boolean")("n", "m"), "left_outer"
        ),
        "Python UDF in the ON clause",
    ),
}
FAILING = COLLATIONS | OTHERS
LATER: dict[str, tuple[Plan, str]] = {
    "transformWithState with an initial state": (_begun, "^transformWithState .* by k ")
}
"""The first epoch of these does not fail without a record."""
REFUSED = FAILING | LATER

TAKEN: dict[str, Plan] = {
    "a key made comparable": lambda s: (
        _collated(s.left).groupBy(F.collate(F.lower("k"), "UTF8_BINARY").alias("k"), F.window("at", "1 minute")).count()
    ),
    "a cast": lambda s: _collated(s.left).groupBy(F.col("k").cast("string collate UTF8_BINARY")).count(),
    "collated text that is kept": lambda s: _collated(s.left).groupBy("id").agg(F.max("k")),
    "a join of columns": lambda s: _collated(s.left).join(
        s.right.select(F.collate("rid", "UTF8_LCASE").alias("k"), "m"), "k"
    ),
    "two watermarks, one dropped": lambda s: _joined(s).drop("rat").dropDuplicates(["id", "at"]),
    "two watermarks, one a value": lambda s: (
        _joined(s).withColumn("rat", F.expr("rat + INTERVAL 0 SECONDS")).dropDuplicates(["id", "at"])
    ),
    "windows of a join": lambda s: _joined(s).groupBy("id", F.window("at", "1 minute")).count(),
    "a processor": timers,
    "a function in a condition": lambda s: s.left.join(
        s.right, F.udf(lambda text: text, "string")("id") == F.col("rid")
    ),
}


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Iterator[Job]:
    specs = [SourceSpec(name=name, topics=(name[0],), format="json", schema=COLUMNS) for name in ("left", "right")]
    made = Job(spark, tmp_path / "job", specs, [kafka_sink()])
    yield made
    made.stop()


def check(frame: DataFrame) -> None:
    check_first_epoch(frame)
    check_planned(frame, "Update" if "Aggregate" in str(frame._jdf.queryExecution().analyzed()) else "Append")


def of(plan: Plan, job: Job) -> DataFrame:
    return plan(timed(job.sources, 10, 10))


def published(frame: DataFrame) -> DataFrame:
    return frame.select(F.to_json(F.struct(*(column for column in dict.fromkeys(frame.columns)))).alias("value"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_plan_whose_first_epoch_fails_is_refused(job: Job, name: str) -> None:
    plan, said = REFUSED[name]
    with pytest.raises(JobError, match=said):
        check(of(plan, job))


@pytest.mark.parametrize("name", variants(FAILING, in_ci=[]))
def test_its_first_epoch_fails_without_a_record(job: Job, name: str) -> None:
    job.start(published(of(FAILING[name][0], job)))
    with pytest.raises(StreamingQueryException):
        job.run(0, [])


@pytest.mark.parametrize("name", TAKEN)
def test_a_plan_that_spark_runs_is_taken(job: Job, name: str) -> None:
    check(of(TAKEN[name], job))


@pytest.mark.parametrize("name", variants(TAKEN, in_ci=["a join of columns"]))
def test_and_its_first_epoch_is_computed(job: Job, name: str) -> None:
    frame = of(TAKEN[name], job)
    job.start(frame if "value" in frame.columns else published(frame))
    job.run(0, [])
