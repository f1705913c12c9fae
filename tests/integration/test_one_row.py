"""Which plans show that each input record is one row, so that `tandem verify` can count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, kafka_sink, raw_source
from tandem.engine.one_row import makes_one_row
from tandem.manifest import FileSink, SinkSpec, SourceSpec

pytestmark = pytest.mark.integration

Result = Callable[[DataFrame, DataFrame], object]
SOURCES = (
    raw_source(),
    SourceSpec(name="orders", topics=("o",), format="json", schema="id STRING, tags ARRAY<STRING>"),
)


def _value(frame: DataFrame) -> DataFrame:
    return frame.select(F.to_json(F.struct("*")).alias("value"))


def _by_sql(events: DataFrame, orders: DataFrame) -> object:
    orders.createOrReplaceTempView("o")
    return {"a": events.select("value"), "b": orders.sparkSession.sql("SELECT upper(id) AS value FROM o x")}


PLANS: dict[str, tuple[Result, bool]] = {
    "a sink for each source": (lambda e, o: {"a": e.select("value"), "b": _value(o.withColumn("n", F.lit(1)))}, True),
    "by SQL over a view": (_by_sql, True),
    "a union in one sink": (lambda e, o: e.select("value").union(_value(o)), True),
    "a watermark and a function": (
        lambda e, o: {"a": e.withWatermark("timestamp", "1 minute"), "b": o.select(F.udf(str)("id").alias("value"))},
        True,
    ),
    "a filter": (lambda e, o: {"a": e.where("offset > 1"), "b": _value(o)}, False),
    "one source in two sinks": (lambda e, _: {"a": e, "b": e}, False),
    "one source twice": (lambda e, o: {"a": e.union(e), "b": _value(o)}, False),
    "a source that is not read": (lambda e, _: e, False),
    "rows of a list": (lambda e, o: {"a": e, "b": o.select(F.explode("tags").alias("value"))}, False),
    "duplicates": (lambda e, o: {"a": e.dropDuplicates(["key"]), "b": _value(o)}, False),
    "counts": (lambda e, o: {"a": e, "b": _value(o.groupBy("id").count())}, False),
    "a join": (lambda e, o: e.crossJoin(o.withColumnRenamed("key", "k")), False),
    "a limit": (lambda e, o: {"a": e.limit(3), "b": _value(o)}, False),
    "a function over many rows": (
        lambda e, o: {"a": e.select("value").mapInPandas(lambda rows: rows, "value BINARY"), "b": _value(o)},
        False,
    ),
}


@pytest.fixture(scope="module")
def sources(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DataFrame]:
    return Job(spark, Path(tmp_path_factory.mktemp("job")), SOURCES, [kafka_sink()]).sources


@pytest.mark.parametrize("name", PLANS)
def test_only_plans_that_give_rows_for_rows_show_it(sources: dict[str, DataFrame], name: str) -> None:
    plan, expected = PLANS[name]
    result = plan(sources["events"], sources["orders"])
    assert makes_one_row(result, sources, SOURCES, [kafka_sink("a"), kafka_sink("b")]) is expected


def test_tables_and_topics_that_are_read_twice_have_no_count(sources: dict[str, DataFrame]) -> None:
    result = {"a": sources["events"].select("value"), "b": _value(sources["orders"])}
    table = SinkSpec(name="b", parquet=FileSink(path="t"))
    twice = (SOURCES[0], SOURCES[1].model_copy(update={"topics": ("in",)}))
    assert not makes_one_row(result, sources, SOURCES, [kafka_sink("a"), table])
    assert not makes_one_row(result, sources, twice, [kafka_sink("a"), kafka_sink("b")])
