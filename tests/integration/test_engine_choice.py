"""Which of Spark's plans the real-time engine can run, and of which both engines publish the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, kafka_sink
from integration.engine_choices import JOBS, SAME, SOURCES, Given, Tried, counted, value
from tandem.engine.choice import Choice, choose_engine
from tandem.engine.output import dead_letters, one_stream
from tandem.engine.output_mode import output_mode
from tandem.engine.planned import plan_facts
from tandem.engine.shared_state import state_behind_watermark
from tandem.jobapi.context import JobContext
from tandem.jobapi.errors import JobError
from tandem.manifest import Manifest, parse

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(spark, Path(tmp_path_factory.mktemp("job")), SOURCES, [kafka_sink()])


def given(made: Job) -> Given:
    spark = next(iter(made.sources.values())).sparkSession
    table = spark.createDataFrame([("a", 1), ("b", 2)], "id STRING, rate INT")
    return Given(**made.sources, table=table, ctx=JobContext(spark, {}, SOURCES))


def choice(made: Job, tried: Tried, engine: str) -> Choice:
    """What a replica would choose for the job, with the dead letters of its sources."""
    stream = one_stream(tried.job(given(made)), [kafka_sink()])
    poison = [frame.poison for frame in made._frames.values() if frame.poison is not None]
    for letters in dead_letters(poison, "dead-letter"):
        stream = stream.unionByName(letters, allowMissingColumns=True)
    mode = output_mode(stream, {"out": stream}, tried.mode)
    return choose_engine(lambda: plan_facts(stream, mode), manifest(engine))


def manifest(engine: str) -> Manifest:
    spec = {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": "localhost:9092"},
        "zookeeper": {"connect": "localhost:2181"},
        "sources": [source.model_dump(mode="json", by_alias=True, exclude_none=True) for source in SOURCES],
        "sinks": [{"name": "out", "topic": "out"}],
        "engine": engine,
    }
    tree = {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": "x"}, "spec": spec}
    return Manifest(parse(tree), Path("job.yaml"), Path())


@pytest.mark.parametrize("name", JOBS)
def test_a_plan_shows_which_engine_can_run_it(made: Job, name: str) -> None:
    tried = JOBS[name]

    found = choice(made, tried, "auto")

    assert found.reason.startswith(tried.says), found.reason
    assert found.engine == ("realTime" if tried.says == SAME else "microBatch")
    if tried.runs:
        assert choice(made, tried, "realTime") == Choice("realTime")
    else:
        with pytest.raises(JobError) as refused:
            choice(made, tried, "realTime")
        assert f"It has {tried.says.removeprefix('the job has ')}: " in str(refused.value)


def with_clause(given: Given) -> DataFrame:
    given.late.createOrReplaceTempView("late")
    return given.late.sparkSession.sql(
        "WITH timed AS (SELECT * FROM late) SELECT string(count(*)) AS value FROM timed GROUP BY window(at, '1 minute'), id"
    )


COMMON: dict[str, tuple[Callable[[Given], DataFrame], bool]] = {
    "windows": (lambda g: counted(g.late, F.window("at", "1 minute")), True),
    "windows of a WITH clause": (with_clause, True),
    "duplicates": (lambda g: value(g.late.dropDuplicates(["id", "at"])), True),
    "a count without a watermark": (lambda g: counted(g.orders, "id"), False),
    "a watermark without state": (lambda g: value(g.late), False),
    "a watermark beside state": (lambda g: value(g.late).union(value(g.orders.dropDuplicates(["id"]))), False),
    "a watermark above state": (
        lambda g: value(g.orders.dropDuplicates(["id", "at"]).withWatermark("at", "1 minute")),
        False,
    ),
}


@pytest.mark.parametrize("name", COMMON)
def test_only_state_with_a_watermark_below_it_needs_barriers_of_the_log(made: Job, name: str) -> None:
    job, expected = COMMON[name]
    assert state_behind_watermark(one_stream(job(given(made)), [kafka_sink()])) is expected
