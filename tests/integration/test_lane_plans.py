"""Which plans of Spark a lane can compute alone: the keys of their state are found as a user writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from integration.engine import Job, kafka_sink
from tandem.engine.lanes import check_lanes, topics_of_the_only
from tandem.engine.pruned import operators_of
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec

pytestmark = pytest.mark.integration

_SCHEMA = "customer STRING, product STRING, n INT, at TIMESTAMP"
Plan = Callable[[DataFrame, DataFrame], DataFrame]


ORDERS = SourceSpec(name="orders", topics=("o",), format="json", schema=_SCHEMA, partitioned_by="customer")
CLICKS = SourceSpec(name="clicks", topics=("c",))


@pytest.fixture(scope="module")
def job(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(spark, Path(tmp_path_factory.mktemp("job")), [ORDERS, CLICKS], [kafka_sink()])


def check(job: Job, plan: Plan) -> None:
    frame = plan(job.sources["orders"].withWatermark("at", "1 minute"), job.sources["clicks"])
    states, operators = operators_of(frame, topics_of_the_only([ORDERS, CLICKS]))
    check_lanes(states, operators, [ORDERS, CLICKS], 4)


def by_key_of_clicks(orders: DataFrame, clicks: DataFrame) -> DataFrame:
    named = clicks.select(F.col("key").cast("string").alias("customer"), F.col("timestamp").alias("seen"))
    return orders.join(named.withWatermark("seen", "1 minute"), "customer")


class Nothing(StatefulProcessor):
    """Keeps nothing, yields nothing."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before the first row."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        """No row of any key."""
        yield from ()

    def close(self) -> None:
        """Nothing to release."""


ALONE: dict[str, Plan] = {
    "without state": lambda orders, _: orders.select("customer").where("n > 3"),
    "by the column": lambda orders, _: orders.groupBy("customer").count(),
    "by the column, renamed": lambda orders, _: orders.withColumnRenamed("customer", "who").groupBy("who").count(),
    "in windows": lambda orders, _: orders.groupBy(F.window("at", "1 minute"), "customer", "product").sum("n"),
    "by the record's key": lambda _, clicks: clicks.groupBy("key").count(),
    "by the key as text": lambda _, clicks: clicks.groupBy(F.col("key").cast("string").alias("who")).count(),
    "without duplicates": lambda orders, _: orders.dropDuplicates(["customer", "n"]),
    "a join by both": by_key_of_clicks,
}
NOT_ALONE: dict[str, tuple[Plan, str]] = {
    "by another column": (lambda orders, _: orders.groupBy("product").count(), "aggregation by o/value.product"),
    "of everything": (lambda orders, _: orders.groupBy().count(), "aggregation by nothing"),
    "in windows only": (lambda orders, _: orders.groupBy(F.window("at", "1 minute")).count(), "aggregation by windows"),
    "by a part of the key": (
        lambda _, clicks: clicks.groupBy(F.substring("key", 1, 2)).count(),
        "aggregation by substr",
    ),
    "without duplicates of another": (lambda orders, _: orders.dropDuplicates(["n"]), "dropDuplicates by"),
    "what begins with the state of all keys": (
        lambda _, clicks: clicks.groupBy("key").transformWithState(
            Nothing(), "key BINARY", "append", "None", initialState=clicks.sparkSession.range(3).groupBy("id")
        ),
        "with an initialState",
    ),
    "so many rows": (lambda orders, _: orders.limit(5), r"limit\(\)"),
}


@pytest.mark.parametrize("plan", ALONE.values(), ids=ALONE)
def test_a_plan_whose_state_follows_the_partitions_is_taken(job: Job, plan: Plan) -> None:
    check(job, plan)


@pytest.mark.parametrize(("plan", "words"), NOT_ALONE.values(), ids=NOT_ALONE)
def test_another_is_refused_with_the_operator(job: Job, plan: Plan, words: str) -> None:
    with pytest.raises(JobError, match=words):
        check(job, plan)


@pytest.mark.parametrize(
    ("plan", "is_taken"),
    [
        (lambda clicks: clicks.groupBy("key").count(), True),
        (lambda clicks: clicks.groupBy("partition").count(), False),
        (lambda clicks: clicks.mapInPandas(lambda frames: frames, "key STRING").groupBy("key").count(), False),
    ],
    ids=["by the key", "by another column", "by what a function calls key"],
)
def test_the_columns_of_the_only_source_are_known_as_well(
    spark: SparkSession, tmp_path: Path, plan: Callable[[DataFrame], DataFrame], is_taken: bool
) -> None:
    job = Job(spark, tmp_path / "job", [CLICKS], [kafka_sink()])
    states, operators = operators_of(plan(job.sources["clicks"]), topics_of_the_only([CLICKS]))
    with nullcontext() if is_taken else pytest.raises(JobError, match="cannot compute aggregation by"):
        check_lanes(states, operators, [CLICKS], 4)
