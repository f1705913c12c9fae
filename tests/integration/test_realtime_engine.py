"""The real-time engine gives what the micro-batch engine gives, row for row.

`TANDEM_EXAMPLES=300` tries more inputs than CI has time for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, as_json, kafka_sink, raw_source
from integration.tiers import variants
from tandem.engine.session import LASTING_TASKS
from tandem.manifest import SinkSpec, SourceSpec
from tandem.manifest.streams import TableSpec
from tandem.replica.rows import EpochRows

pytestmark = pytest.mark.integration

EXAMPLES = int(os.environ.get("TANDEM_EXAMPLES", "2"))
SLOTS = LASTING_TASKS
"""Of the session, as a replica of a job with `engine: realTime` has it."""

SCHEMA = "a INT, b STRING, c STRUCT<d: DOUBLE>"
Frames = dict[str, DataFrame]


def static(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "one"), (2, "two"), (2, "deux"), (7, None)], "a INT, name STRING")


def identity(frames: Frames) -> object:
    return frames["raw"].select("key", "value", F.array(F.struct(F.lit("h").alias("key"), "value")).alias("headers"))


def filtered(frames: Frames) -> object:
    return (
        frames["raw"].where("length(value) % 2 = 1").select("key", F.col("metadata.seq").cast("string").alias("value"))
    )


def parsed(frames: Frames) -> object:
    return frames["json"].select(
        F.col("b").alias("key"), F.to_json(F.struct("a", "c", "metadata.offset")).alias("value")
    )


def sinks_of_both(frames: Frames) -> object:
    raw = frames["raw"]
    return {
        "out": frames["json"].select("key", F.col("b").alias("value")),
        "more": raw.select("value"),
        "long": raw.where("length(value) > 20").select("value", F.col("metadata.partition").alias("partition")),
    }


def looked_up(frames: Frames) -> object:
    names = static(frames["json"].sparkSession)
    joined = frames["json"].join(F.broadcast(names), "a", "left").withColumn("all", F.explode(F.array("name", "b")))
    return joined.select(F.col("a").cast("string").alias("key"), F.col("all").alias("value"))


def distinct(frames: Frames) -> object:
    return (
        frames["json"].dropDuplicates(["a"]).select(F.col("b").alias("key"), F.col("a").cast("string").alias("value"))
    )


def distinct_in_two_sinks(frames: Frames) -> object:
    first = frames["raw"].dropDuplicates(["key"]).select("key", "value")
    return {"out": distinct(frames), "more": first, "long": frames["raw"].select("value")}


JOBS: dict[str, tuple[Callable[[Frames], object], tuple[str, ...]]] = {
    "identity": (identity, ("out",)),
    "filter": (filtered, ("out",)),
    "JSON with poison": (parsed, ("out",)),
    "several sinks": (sinks_of_both, ("out", "more", "long")),
    "static join": (looked_up, ("out",)),
    "dropDuplicates": (distinct, ("out",)),
    "dropDuplicates in two sinks": (distinct_in_two_sinks, ("out", "more", "long")),
}

raw_values = st.binary(max_size=40)
documents = st.one_of(
    st.builds(lambda a, b: as_json(a=a, b=b, c={"d": a / 2}), st.integers(0, 9), st.text("xyé", max_size=5)),
    st.sampled_from([b"", b"no JSON", b'{"a": "text"}', b'{"a": 1} {"a": 2}', b"[]", b"null", None]),
)
records = st.one_of(
    st.builds(
        Record, raw_values, st.none() | st.sampled_from([b"k", b"l"]), st.just("raw"), timestamp_ms=st.integers(0, 9)
    ),
    st.builds(Record, documents, st.none() | st.just(b"k"), st.just("json")),
)
epochs = st.lists(st.lists(records, max_size=12), min_size=1, max_size=12)

table_records = st.one_of(
    st.builds(
        lambda a, name, key: Record(as_json(a=a, name=name), key, "names"),
        st.integers(0, 9),
        st.sampled_from(["one", "two", None]),
        st.none() | st.sampled_from([b"1", b"2"]),
    ),
    st.builds(Record, st.sampled_from([None, b"no JSON"]), st.none() | st.sampled_from([b"1", b"2"]), st.just("names")),
)
with_changes = st.lists(st.lists(st.one_of(records, records, table_records), max_size=12), min_size=1, max_size=6)

Epochs = Sequence[Sequence[Record]]


def run(job: Job, plan: Callable[[Frames], object], inputs: Epochs, barriers: frozenset[int]) -> list[EpochRows]:
    job.start(plan(job.sources))
    try:
        tables = [job.run(n, records, barrier=n in barriers) for n, records in enumerate(inputs)]
        return [EpochRows.of(number, table, ordered=True) for number, table in enumerate(tables)]
    finally:
        job.stop()


TABLE = SourceSpec(
    name="names",
    topics=("names",),
    format="json",
    schema="a INT, name STRING",
    table=TableSpec.model_validate({"key": ["a"], "maxRows": 5}),
)


def made(
    spark: SparkSession, folder: Path, sinks: Sequence[str], real_time: bool, tables: Sequence[SourceSpec] = ()
) -> Job:
    sources = [raw_source("raw", "raw"), SourceSpec(name="json", topics=("json",), format="json", schema=SCHEMA)]
    sources += tables
    specs: list[SinkSpec] = [kafka_sink(name) for name in sinks]
    return Job(spark, folder, sources, specs, real_time=real_time)


POISON: Epochs = (
    (Record(b"no JSON", topic="json"), Record(as_json(a=1, b="x"), topic="json"), Record(b"text", b"k", "raw")),
    (),
    (Record(as_json(a=1, b="y"), topic="json"), Record(b"[]", topic="json"), Record(b"x" * 30, b"k", "raw")),
)


random_inputs = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="TANDEM_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.mark.parametrize(
    "name", variants(JOBS, in_ci=["JSON with poison", "static join", "dropDuplicates in two sinks"])
)
@random_inputs
@example(inputs=POISON, barriers=frozenset({1}))
@given(inputs=epochs, barriers=st.frozensets(st.integers(0, 11), max_size=2))
def test_both_engines_give_the_same_rows(
    spark: SparkSession, folders: Iterator[Path], name: str, inputs: Epochs, barriers: frozenset[int]
) -> None:
    plan, sinks = JOBS[name]
    micro_batch = run(made(spark, next(folders), sinks, real_time=False), plan, inputs, frozenset())
    real_time = run(made(spark, next(folders), sinks, real_time=True), plan, inputs, barriers)
    assert_same(real_time, micro_batch)


def test_small_epochs_behind_one_of_megabytes_have_their_own_rows(spark: SparkSession, folders: Iterator[Path]) -> None:
    large = [b"%d" % number * 50_000 for number in range(10, 40)]
    values = [[b"1"], large, [], [b"2", b"3"], *([b"%d" % number] for number in range(40)), large, [b"4"]]
    inputs = [[Record(value, b"k", "raw") for value in epoch] for epoch in values]
    found = run(made(spark, next(folders), ("out",), real_time=True), identity, inputs, frozenset())
    assert [[row["value"] for row in rows.table.to_pylist()] for rows in found] == values


def assert_same(real_time: Sequence[EpochRows], micro_batch: Sequence[EpochRows]) -> None:
    assert [rows.table.to_pylist() for rows in real_time] == [rows.table.to_pylist() for rows in micro_batch]
    assert [rows.digest for rows in real_time] == [rows.digest for rows in micro_batch]


def by_table(frames: Frames) -> object:
    joined = frames["json"].join(frames["names"], "a", "left").select("b", "a", "name", "metadata.seq")
    others = frames["names"].where("name IS NOT NULL").select(F.col("a").alias("seq"), F.col("name").alias("other"))
    raw = frames["raw"].select("key", F.col("metadata.seq").cast("int").alias("seq")).join(others, "seq")
    return {
        "out": joined.select(F.to_json(F.struct("*")).alias("value")),
        "more": raw.selectExpr("key", "other AS value"),
    }


def distinct_by_table(frames: Frames) -> object:
    named = frames["json"].join(frames["names"], "a").dropDuplicates(["name"])
    return named.select(F.concat_ws(" ", F.col("a"), "name", "b").alias("value"))


BY_TABLE: dict[str, tuple[Callable[[Frames], object], tuple[str, ...]]] = {
    "a join with a table": (by_table, ("out", "more")),
    "dropDuplicates behind a table": (distinct_by_table, ("out",)),
}
CHANGED: Epochs = (
    (Record(as_json(a=1, name="one"), b"1", "names"), Record(as_json(a=1, b="x"), topic="json")),
    (Record(as_json(a=1, b="y"), topic="json"), Record(b"", b"k", "raw"), Record(b"", b"k", "raw")),
    (Record(as_json(a=1, name="two"), b"1", "names"), Record(as_json(a=1, b="z"), topic="json")),
    (Record(None, b"1", "names"), Record(b"no JSON", topic="names"), Record(as_json(a=1, b=""), topic="json")),
)


@pytest.mark.parametrize("name", BY_TABLE)
@random_inputs
@example(inputs=CHANGED, barriers=frozenset({1}))
@given(inputs=with_changes, barriers=st.frozensets(st.integers(0, 11), max_size=2))
def test_both_engines_give_the_same_rows_of_a_job_with_a_table(
    spark: SparkSession, folders: Iterator[Path], name: str, inputs: Epochs, barriers: frozenset[int]
) -> None:
    plan, sinks = BY_TABLE[name]
    micro_batch = run(made(spark, next(folders), sinks, False, [TABLE]), plan, inputs, frozenset())
    real_time = run(made(spark, next(folders), sinks, True, [TABLE]), plan, inputs, barriers)
    assert_same(real_time, micro_batch)
