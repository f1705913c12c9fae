"""What a job gets of the log in its columns: the epoch's time, dice that fall alike everywhere, recorded answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, as_json, epoch_time_us, kafka_sink, raw_source, values
from tandem.engine.plan_check import check_determined, check_repeatable
from tandem.intake.fetch import Answered
from tandem.jobapi.errors import JobError
from tandem.jobapi.job import JobContext
from tandem.manifest import SourceSpec

pytestmark = pytest.mark.integration

PAYMENTS = SourceSpec(name="payments", topics=("in",), format="json", schema="id INT")


def rows(count: int) -> list[Record]:
    return [Record(as_json(id=number), b"k") for number in range(count)]


def computed(
    spark: SparkSession,
    folder: Path,
    source: SourceSpec,
    select: Callable[[DataFrame, JobContext], DataFrame],
    epochs: int = 2,
) -> list[list[str]]:
    """What one replica computes of epochs of 200 rows."""
    job = Job(spark, folder, [source], [kafka_sink()])
    job.start(select(job.sources[source.name], JobContext(spark, {}, [source])))
    try:
        return [values(job.run(epoch, rows(200))) for epoch in range(epochs)]
    finally:
        job.stop()


@pytest.mark.parametrize("source", [raw_source(), PAYMENTS], ids=["raw", "json"])
def test_every_row_knows_the_time_of_its_epoch(spark: SparkSession, tmp_path: Path, source: SourceSpec) -> None:
    def times(records: DataFrame, ctx: JobContext) -> DataFrame:
        return records.select(F.unix_micros(ctx.epoch_time()).cast("string").alias("value"))

    found = computed(spark, tmp_path / "times", source, times)
    assert [set(epoch) for epoch in found] == [{str(epoch_time_us(epoch))} for epoch in (0, 1)]


@pytest.mark.parametrize("source", [raw_source(), PAYMENTS], ids=["raw", "json"])
def test_dice_fall_alike_in_every_replica_and_otherwise_in_every_row_and_epoch(
    spark: SparkSession, tmp_path: Path, source: SourceSpec
) -> None:
    def thrown(records: DataFrame, ctx: JobContext) -> DataFrame:
        return records.select(ctx.rng().cast("string").alias("value"))

    one, other = (computed(spark, tmp_path / name, source, thrown) for name in ("one", "other"))
    assert one == other
    numbers = [float(number) for epoch in one for number in epoch]
    assert len(set(numbers)) == 400
    assert all(0 <= number < 1 for number in numbers)
    assert 0.45 < sum(numbers) / 400 < 0.55


def test_dice_of_columns_fall_alike_for_equal_values_in_an_epoch_and_apart_for_several_draws(
    spark: SparkSession, tmp_path: Path
) -> None:
    def thrown(records: DataFrame, ctx: JobContext) -> DataFrame:
        draws = ctx.rng("key"), ctx.rng("metadata.seq", F.lit(0)), ctx.rng("metadata.seq", F.lit(1))
        return records.select(F.concat_ws(" ", *draws).alias("value"))

    epochs = [[row.split() for row in epoch] for epoch in computed(spark, tmp_path / "draws", raw_source(), thrown)]
    of_key = [{row[0] for row in epoch} for epoch in epochs]
    assert [len(drawn) for drawn in of_key] == [1, 1]
    assert of_key[0] != of_key[1]
    assert len({draw for epoch in epochs for row in epoch for draw in row[1:]}) == 800


def test_answers_reach_the_rows_that_they_are_about(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path / "answers", [PAYMENTS], [kafka_sink()])
    context = JobContext(spark, {}, [PAYMENTS])
    score, rate = context.ask("score", list), context.ask("rate", str, source="payments", per="epoch")
    scored = job.sources["payments"].select("id", score.alias("score"), rate.alias("rate"))
    job.start(scored.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("value")))

    asked = (Answered("score", ("0.5", None, "0.7")), Answered("rate", ("1.1",) * 3))
    assert values(job.run(0, [*rows(2), Record(b"poison")], asked)) == [
        '{"id":0,"score":"0.5","rate":"1.1"}',
        '{"id":1,"score":null,"rate":"1.1"}',
        values(job.run(1, [Record(b"poison")]))[0].replace('"offset":0', '"offset":2'),
    ]
    assert values(job.run(2, rows(1))) == ['{"id":0,"score":null,"rate":null}']
    job.stop()
    assert [(q.name, q.per, sorted(q.topics)) for q in context.questions.values()] == [
        ("score", "record", ["in"]),
        ("rate", "epoch", ["in"]),
    ]


def test_a_determinant_of_the_jobs_own_has_the_type_that_it_names(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path / "determinant", [PAYMENTS], [kafka_sink()])
    context = JobContext(spark, {}, [PAYMENTS])
    limits = context.determinant(
        "limits", lambda time_ms: {"low": 1, "high": time_ms}, "STRUCT<low: INT, high: BIGINT>"
    )
    events = job.sources["payments"].select("id", limits.alias("limits"))
    job.start(events.select(F.to_json(F.struct("id", "limits.high"), {"ignoreNullFields": "false"}).alias("value")))

    question = context.questions["limits"]
    answer = question.function(7)
    found = values(job.run(0, rows(2), (Answered("limits", (answer,) * 2),)))
    unknown = values(job.run(1, rows(1)))
    job.stop()

    assert (question.per, answer) == ("epoch", '{"value": {"low": 1, "high": 7}}')
    assert found == ['{"id":0,"high":7}', '{"id":1,"high":7}']
    assert unknown == ['{"id":0,"high":null}']


def test_what_comes_from_the_log_is_determined(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path / "determined", [PAYMENTS], [kafka_sink()])

    def build() -> DataFrame:
        ctx = JobContext(spark, {}, [PAYMENTS])
        columns = ctx.epoch_time(), ctx.rng(), ctx.ask("score", list)
        return job.sources["payments"].select(F.concat_ws(" ", *columns).alias("value"))

    check_determined(build())
    check_repeatable(build(), build())
    events = job.sources["payments"]
    with pytest.raises(JobError, match=r"current_timestamp\(\): use ctx\.epoch_time\(\)"):
        check_determined(events.select(F.current_timestamp().cast("string").alias("value")))
    with pytest.raises(JobError, match=r"rand\(\): use ctx\.rng\(\)"):
        check_determined(events.selectExpr("string(rand()) AS value"))


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "which source": ({}, "about the source None. Name one of ['in_1', 'in_2']"),
    "no such source": ({"source": "in_3"}, "about the source 'in_3'. Name one of"),
    "twice": ({"name": "taken", "source": "in_1"}, "asked twice. Give each question a name of its own"),
    "per": ({"source": "in_1", "per": "row"}, "per='record' or per='epoch'"),
    "no name": ({"source": "in_1", "name": ""}, "give a name"),
    "no function": ({"source": "in_1", "function": "http://"}, "a function"),
    "timeout": ({"source": "in_1", "timeout": 0}, "timeout must be more than 0 s"),
    "retries": ({"source": "in_1", "retries": -1}, "retries at least 0"),
    "batch": ({"source": "in_1", "batch": 0}, "batch at least 1"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_of_a_question_are_told(spark: SparkSession, name: str) -> None:
    context = JobContext(spark, {}, [raw_source("in_1"), raw_source("in_2")])
    context.ask("taken", list, source="in_2")
    arguments, expected = MISTAKES[name]
    with pytest.raises(JobError) as told:
        context.ask(**{"name": "score", "function": list, **arguments})
    assert expected in str(told.value)
