"""Rows that a topic or a table never takes, on real processes: no such row stops a job, and none is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic as KafkaNewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source
from integration.refusals import Refusals
from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.engine.output import one_stream
from tandem.jobapi.errors import JobError
from tandem.manifest import FileSink, SinkSpec
from tandem.replica.rows import EpochRows
from tandem.replica.tables import TableSink
from unit.replica.making import MakingTableWriter

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def make_topic(bootstrap: str, name: str, partitions: int = 1, **config: str) -> None:
    """A topic with settings; in their names, an underscore stands for a dot."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([KafkaNewTopic(name, partitions, 1, config=settings)])[name].result(30)


# A running job -------------------------------------------------------------------------------------------------------

KEYED = """
from pyspark.sql import functions as F

def job(events):
    text = F.col("value").cast("string")
    key = F.when(text.startswith("k"), text)
    return {sink: events.select(key.alias("key"), text.alias("value")) for sink in ("states", "copies")}
"""


@pytest.fixture(scope="module")
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallJob]:
    """Records whose text begins with k have a key. `states` is compacted."""
    name = "sinks-refuse"
    make_topic(kafka.bootstrap, f"{name}-states", cleanup_policy="compact")
    sinks = [{"name": sink, "topic": f"{name}-{sink}"} for sink in ("states", "copies")]
    cluster, folder = Cluster(kafka, zookeeper), tmp_path_factory.mktemp("sinks")
    made = SmallJob(folder, cluster, name, KEYED, sinks=sinks, replicas=1, ordering=HEARTBEAT)
    made.local.start()
    yield made
    made.local.stop()


def letters(job: SmallJob) -> list[dict[str, object]]:
    return [json.loads(value) for value in job.values(job.dead_letter)]


def test_a_row_without_a_key_for_a_compacted_topic_is_a_dead_letter_and_the_job_goes_on(job: SmallJob) -> None:
    job.feed("k1", "orphan", "k2")
    job.wait_for("k1", "orphan", "k2")

    assert job.values(f"{job.name}-states") == ["k1", "k2"]
    (letter,) = letters(job)
    assert (letter["sink"], letter["key"]) == ("states", None)
    assert letter["reason"] == f"it has no key, but {job.name}-states is compacted (cleanup.policy), which needs one"
    assert isinstance(letter["epoch"], int)
    assert isinstance(letter["index"], int)


def test_a_topic_that_is_compacted_while_the_job_runs_costs_no_other_row(job: SmallJob) -> None:
    before = len(letters(job))
    job.configure(f"{job.name}-copies", cleanup_policy="compact")
    job.feed("k3", "late orphan", "k4")
    job.wait_for("k3", "k4")

    values = Counter(job.values())
    assert values["late orphan"] == 0
    assert (values["k3"], values["k4"]) == (1, 1)
    reasons = {str(letter["sink"]): str(letter["reason"]) for letter in letters(job)[before:]}
    assert set(reasons) == {"states", "copies"}
    assert "key" in reasons["copies"]
    rows = [row.id for topic in ("copies", "states") for row in job.rows(f"{job.name}-{topic}")]
    ids = Counter([*rows, *(row.id for row in job.rows(job.dead_letter))])
    assert max(ids.values()) == 1, "a row is in a topic and in the letters"
    assert sum(marker.rows for marker in job.markers()) == ids.total()


# Refused at start ----------------------------------------------------------------------------------------------------


@pytest.fixture
def spoilt(kafka: KafkaBroker, topic_prefix: str, tmp_path: Path) -> Refusals:
    return Refusals(tmp_path, kafka.bootstrap, topic_prefix)


def test_a_dead_letter_topic_that_is_compacted_is_refused(spoilt: Refusals) -> None:
    make_topic(spoilt.bootstrap, f"{spoilt.name}.dead-letter", cleanup_policy="compact")

    story = spoilt.refused("orderer", spoilt.manifest())

    assert story.reason.startswith(f"topic {spoilt.name}.dead-letter is compacted (its cleanup.policy is compact)")
    assert story.reason.endswith(f"--entity-name {spoilt.name}.dead-letter --add-config cleanup.policy=delete")


@pytest.mark.parametrize("topic", ["ordering", "sink"])
def test_a_topic_with_fewer_replicas_than_must_be_in_sync_is_refused(spoilt: Refusals, topic: str) -> None:
    name = f"{spoilt.name}.{topic}"
    make_topic(spoilt.bootstrap, name, min_insync_replicas="2")
    sinks = [{"name": "out", "topic": name if topic == "sink" else f"{spoilt.name}.out"}]

    story = spoilt.refused("orderer", spoilt.manifest(sinks=sinks))

    assert f"topic {name} has 1 replica, but 2 must be in sync before it takes a record" in story.reason
    assert "spec.kafka.replicationFactor" in story.reason


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("F.expr('make_ym_interval(1, 2)')", "column `x` is INTERVAL YEAR TO MONTH, and a parquet table would not"),
    ],
)
def test_a_type_that_a_table_cannot_hold_ends_the_replica_at_its_start(
    spoilt: Refusals, column: str, said: str
) -> None:
    code = (
        f"from pyspark.sql import functions as F\n\ndef job(events):\n    return events.select({column}.alias('x'))\n"
    )
    sinks = [{"name": "archive", "parquet": {"path": str(spoilt.folder / "archive")}}]

    assert f"sink archive: {said}" in spoilt.refused("replica", spoilt.manifest(code, sinks=sinks)).reason


# The plan ------------------------------------------------------------------------------------------------------------

TABLE = SinkSpec(name="t", parquet=FileSink(path="t"))
HELD = {
    "struct": "named_struct('a', 7, 'b', array('x', null))",
    "map": "map('k', array(named_struct('t', timestamp_ntz'2024-05-01 10:00:00.123456')))",
    "decimal": "CAST('123456789012345678.000000000000000001' AS DECIMAL(38,18))",
    "day": "date'1582-10-04'",
    "old": "timestamp'1500-01-01 00:00:00.000001'",
    "raw": "X'00ff'",
    "text": "CAST(X'ff' AS STRING)",
    "tiny": "CAST(-1 AS TINYINT)",
    "nothing": "CAST(NULL AS STRUCT<a: INT>)",
    "odd `name`, with = signs": "1",
}


def test_a_parquet_table_gives_back_the_values_and_types_that_were_selected(
    spark: SparkSession, tmp_path: Path
) -> None:
    job = Job(spark, tmp_path / "held", [raw_source()], [TABLE])
    columns = [F.expr(expression).alias(name) for name, expression in HELD.items()]
    selected = job.sources["events"].select(*columns)
    job.start(selected)
    rows = EpochRows.of(0, job.run(0, [Record(b"1")]), ordered=True)
    job.stop()

    MakingTableWriter("job", [TableSink("t", "parquet", str(tmp_path / "t"))]).write(rows)

    found, wanted = spark.read.parquet(str(tmp_path / "t")), spark.range(1).select(*columns)
    assert [(f.name, f.dataType.simpleString()) for f in found.schema] == [
        (f.name, f.dataType.simpleString()) for f in wanted.schema
    ]
    hashed = F.xxhash64(*(F.col(f"`{name.replace('`', '``')}`").cast("string") for name in HELD))
    assert found.select(hashed).collect() == wanted.select(hashed).collect()


@pytest.mark.parametrize(
    "expression",
    [
        "interval '1' day",
        "array(make_ym_interval(1, 2))",
        "make_interval(1, 2, 3, 4, 5, 6, 7)",
        "parse_json('1')",
        "NULL",
        "array()",
        "named_struct()",
        "'x' COLLATE UNICODE",
        "named_struct('a', 1, 'A', 2)",
        "map(1, st_geomfromwkb(X'0101000000000000000000F03F0000000000000040'))",
    ],
)
def test_what_would_not_come_back_is_refused_with_its_sink(job_of_events: Job, expression: str) -> None:
    frame = job_of_events.sources["events"].select(F.expr(expression).alias("x"))

    with pytest.raises(JobError, match=r"^sink t: column `x"):
        one_stream(frame, [TABLE])


@pytest.fixture
def job_of_events(spark: SparkSession, tmp_path: Path) -> Job:
    """A job that is planned, but not run."""
    return Job(spark, tmp_path / "planned", [raw_source()], [kafka_sink()])


def test_a_column_topic_that_the_job_computes_is_refused_and_that_of_an_input_is_passed_on(job_of_events: Job) -> None:
    events = job_of_events.sources["events"]

    one_stream(events, [kafka_sink()])
    one_stream(events.filter("value IS NOT NULL").select("topic", "key", "value"), [kafka_sink()])
    for named in (
        events.withColumn("topic", F.lit("other")),
        events.select(F.concat("topic", F.lit("-2")).alias("topic"), "value"),
    ):
        with pytest.raises(
            JobError, match=r"sink out: the job gives its rows a column `topic`.* one sink for each topic"
        ):
            one_stream(named, [kafka_sink()])


def test_a_key_that_the_job_computes_in_another_case_is_refused_and_one_that_is_passed_on_is_ignored(
    job_of_events: Job,
) -> None:
    events = job_of_events.sources["events"]

    one_stream(events.withColumnRenamed("key", "Key"), [kafka_sink()])
    one_stream(events.select("key", F.lit("x").alias("value"), "Partition"), [kafka_sink()])
    for name in ("KEY", "Partition"):
        with pytest.raises(JobError, match=rf"column `{name}`. Write `{name.lower()}`, in lower case"):
            one_stream(events.select(F.length("value").alias(name), "value"), [kafka_sink()])


def test_a_partition_beyond_all_numbers_of_partitions_stops_no_job(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path / "partition", [raw_source()], [kafka_sink()])
    number = F.col("value").cast("string").cast("bigint")
    job.start(job.sources["events"].select("value", number.alias("partition")))

    table = job.run(0, [Record(b"1"), Record(b"4294967297"), Record(None)])
    job.stop()

    assert table["partition"].to_pylist() == [1, -1, None]
