"""A source that is a table: what a stream is joined with is what the epoch's cut has."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import BEGINNING, Job, Record, as_json, kafka_sink, values
from integration.table_sources import EVENTS, RULES, rule
from integration.tiers import variants
from tandem.checkpoint.compared import restore
from tandem.checkpoint.position import EnginePosition
from tandem.engine.session import LASTING_TASKS
from tandem.manifest import SourceSpec
from tandem.manifest.streams import TableSpec

pytestmark = pytest.mark.integration
SLOTS = LASTING_TASKS
"""Of the session, as a replica of a job with `engine: realTime` has it."""
Plan = Callable[[DataFrame, DataFrame], DataFrame]


def joined(events: DataFrame, rules: DataFrame) -> DataFrame:
    """Each event with the name that its rule has."""
    return events.join(rules, "id", "left").select(F.concat_ws(" ", F.col("id"), "v", "name", "at").alias("value"))


def counted(events: DataFrame, rules: DataFrame) -> DataFrame:
    """Events so far by the name of their rule when they came."""
    named = events.join(rules, "id").groupBy("name").count()
    return named.select(F.concat_ws(" ", "name", "count").alias("value"))


def windowed(events: DataFrame, rules: DataFrame) -> DataFrame:
    """Events in windows that end, by the name that their rule had when they came."""
    timed = events.withColumn("at", F.timestamp_seconds(F.col("v").cast("int"))).withWatermark("at", "1 second")
    named = timed.join(rules.select("id", "name"), "id").groupBy(F.window("at", "10 seconds"), "name").count()
    return named.select(F.concat_ws(" ", F.col("window.start"), "name", "count").alias("value"))


def not_standing(events: DataFrame, rules: DataFrame) -> DataFrame:
    """As `joined`, with what makes Spark analyse the plan for every epoch."""
    return joined(events, rules).where((F.rand(1) < 2) | F.col("value").isNotNull())


def event(number: int, value: str = "x") -> Record:
    return Record(as_json(id=number, v=value))


def deleted(key: bytes | None) -> Record:
    return Record(None, key, "rules")


AT = "2024-06-01 10:00:00"


def started(
    spark: SparkSession,
    folder: Path,
    plan: Plan,
    rules: SourceSpec = RULES,
    after: EnginePosition = BEGINNING,
    real_time: bool = False,
) -> Job:
    job = Job(spark, folder, [EVENTS, rules], [kafka_sink()], real_time=real_time)
    job.start(plan(job.sources["events"], job.sources["rules"]), after, "Update")
    return job


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "job"


@pytest.mark.parametrize(("plan", "real_time"), [(joined, False), (not_standing, False), (joined, True)])
def test_events_meet_the_rows_that_the_epoch_has(
    spark: SparkSession, folder: Path, plan: Plan, real_time: bool
) -> None:
    job = started(spark, folder, plan, real_time=real_time)
    assert values(job.run(0, [event(1)])) == ["1 x"], "the table is empty"
    assert values(job.run(1, [event(1), rule(1, "a"), rule(2, "b")])) == [f"1 x a {AT}"]
    assert values(job.run(2, [event(1), event(2)])) == [f"1 x a {AT}", f"2 x b {AT}"]
    assert values(job.run(3, [rule(1, "c"), event(1), deleted(b"2"), event(2)])) == [f"1 x c {AT}", "2 x"]
    assert values(job.run(4, [rule(3, "moved", b"1"), event(1), event(3)])) == ["1 x", f"3 x moved {AT}"]
    assert values(job.run(5, [event(3)])) == [f"3 x moved {AT}"]
    job.stop()


@pytest.mark.parametrize("real_time", [False, True])
def test_records_that_are_no_rows_become_dead_letters(spark: SparkSession, folder: Path, real_time: bool) -> None:
    small = RULES.model_copy(update={"table": TableSpec(key=("id",)).model_copy(update={"max_rows": 2})})
    job = started(spark, folder, joined, small, real_time=real_time)
    bad = Record(b'{"id": "no number"}', b"1", "rules")
    rows = job.run(0, [event(1), bad, deleted(None), rule(1, "a"), rule(2, "b"), rule(3, "c"), rule(1, "d")])
    letters = [json.loads(row["value"]) for row in rows.to_pylist() if row["sink"] == "dead-letter"]
    assert values(rows)[0] == f"1 x d {AT}"
    assert [(one["source"], one["offset"]) for one in letters] == [("rules", 1), ("rules", 2), ("rules", 5)]
    assert "id" in letters[0]["reason"]
    assert letters[1]["reason"] == "it has neither a key nor a value"
    assert letters[2]["reason"] == "the table rules has 2 rows, its most (spec.sources, table.maxRows)"
    job.stop()


EPOCHS: Sequence[Sequence[Record]] = (
    [rule(1, "a"), event(1)],
    [event(1), event(2)],
    [rule(2, "b"), deleted(b"1")],
    [event(1), event(2), event(2)],
    [rule(1, "again"), rule(2, "c")],
    [],
    [event(2), event(1), event(3)],
)


@pytest.mark.parametrize("plan", variants([joined, counted], in_ci=[counted]))
def test_a_query_that_restores_has_the_table_that_one_that_ran_through_has(
    spark: SparkSession, tmp_path: Path, plan: Plan
) -> None:
    through = started(spark, tmp_path / "through", plan)
    expected = [through.run(number, epoch) for number, epoch in enumerate(EPOCHS)]
    through.stop()
    folder = tmp_path / "0"
    job = started(spark, folder, plan)
    for number, epoch in enumerate(EPOCHS):
        if number:
            job.committed(number - 1)
            job.stop()
            earlier, folder = folder, tmp_path / str(number)
            (folder).mkdir()
            position = restore([earlier / "checkpoint"], number - 1, folder / "checkpoint")
            assert position.epoch == number - 1
            job = started(spark, folder, plan, after=position)
        assert job.run(number, epoch).equals(expected[number]), f"epoch {number}"
    job.stop()


TIMED: Sequence[Sequence[Record]] = (
    [rule(1, "a"), event(1, "5")],
    [event(1, "6"), event(1, "40")],
    [event(1, "7"), rule(2, "b")],
    [event(1, "8"), event(2, "90")],
    [rule(2, "c")],
    [event(2, "41"), event(2, "85"), event(1, "99")],
    [event(1, "50"), deleted(b"1"), event(2, "150")],
    [event(2, "95"), event(1, "160"), event(2, "161")],
)
"""Of `windowed`: which events are late depends on where batches end."""


@pytest.mark.parametrize(
    ("plan", "inputs", "others"),
    [
        pytest.param(joined, EPOCHS, {5}, id="joined", marks=pytest.mark.thorough),
        pytest.param(counted, EPOCHS, {0, 5}, id="counted", marks=pytest.mark.thorough),
        pytest.param(windowed, TIMED, {3}, id="windowed"),
    ],
)
def test_batches_end_before_each_change_of_a_table_and_states_go_on_from_there(
    spark: SparkSession, tmp_path: Path, plan: Plan, inputs: Sequence[Sequence[Record]], others: set[int]
) -> None:
    """Barriers of a job without a watermark are each replica's own: those of who restores are `others`."""
    through = started(spark, tmp_path / "through", plan, real_time=True)
    expected = [through.run(number, epoch, barrier=number == 3) for number, epoch in enumerate(inputs)]
    through.stop()
    changes = {n - 1 for n, epoch in enumerate(inputs) if n and any(record.topic == "rules" for record in epoch)}
    stood = set()
    for last in range(len(inputs) - 1):
        folder = tmp_path / str(last)
        folder.mkdir()
        position = restore([tmp_path / "through" / "checkpoint"], last, folder / "checkpoint")
        if position.epoch in stood:
            continue
        stood.add(position.epoch)
        job = started(spark, folder, plan, after=position, real_time=True)
        for number in range(position.epoch + 1, len(inputs)):
            found = job.run(number, inputs[number], barrier=number in others)
            assert found.equals(expected[number]), f"epoch {number} on the state of {position.epoch}"
        job.stop()
    assert stood == changes | {-1, 3}, "no batch is without an epoch, and each change of a table has begun one"


def test_a_state_of_one_engine_goes_on_in_the_other(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows = tmp_path / "0", []
    folder.mkdir()
    position = BEGINNING
    for first, real_time in ((0, True), (3, False), (5, True)):
        job = started(spark, folder, joined, after=position, real_time=real_time)
        end = {0: 3, 3: 5, 5: 7}[first]
        rows += [job.run(n, EPOCHS[n], barrier=n == end - 1) for n in range(first, end)]
        job.stands_at(end - 1)
        job.stop()
        earlier, folder = folder, tmp_path / str(end)
        folder.mkdir()
        position = restore([earlier / "checkpoint"], end - 1, folder / "checkpoint")
    through = started(spark, tmp_path / "through", joined)
    assert [through.run(n, epoch) for n, epoch in enumerate(EPOCHS)] == rows
    through.stop()


def test_a_table_has_no_rows_while_the_function_runs(spark: SparkSession, folder: Path) -> None:
    job = Job(spark, folder, [EVENTS, RULES], [kafka_sink()])
    with pytest.raises(PySparkException, match="the table rules has no rows while the job's function runs"):
        job.sources["rules"].count()


def test_a_table_of_raw_records_has_keys_and_values(spark: SparkSession, folder: Path) -> None:
    raw = SourceSpec(name="rules", topics=("rules",), table=TableSpec(key=("key",)))

    def plan(events: DataFrame, rules: DataFrame) -> DataFrame:
        names = rules.select(F.col("key").cast("string").cast("int").alias("id"), F.col("value").alias("name"))
        met = events.join(names, "id", "left")
        return met.select(F.concat_ws(" ", F.col("id"), F.col("name").cast("string")).alias("value"))

    job = started(spark, folder, plan, raw)
    assert values(job.run(0, [Record(b"a", b"1", "rules"), event(1), event(2)])) == ["1 a", "2"]
    assert values(job.run(1, [Record(b"b", b"2", "rules"), deleted(b"1"), event(1), event(2)])) == ["1", "2 b"]
    job.stop()
