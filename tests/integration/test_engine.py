"""The engine on a real Spark: epochs are micro-batches, plans are checked, state survives, poison goes aside."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, as_json, kafka_sink, raw_source, running_count, values
from integration.undetermined import CHANGING, UNDETERMINED
from tandem.checkpoint.compared import restore
from tandem.checkpoint.position import EnginePosition
from tandem.engine.jvm.classes import classes_jar
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.output import one_stream
from tandem.engine.plan_check import check_determined, check_repeatable
from tandem.engine.session import archive_of
from tandem.jobapi.errors import JobError
from tandem.jobapi.frozen_code import archive
from tandem.jobapi.job import JobContext, call, load_function
from tandem.manifest import Code, FileSink, JobSpec, SinkSpec, SourceSpec
from tandem.protocol.merge import merge_order
from tandem.replica.rows import EpochRows

pytestmark = pytest.mark.integration


def test_every_epoch_is_one_batch_and_its_rows_come_back_in_order(job: Job) -> None:
    job.start(job.sources["events"].select("key", "value"))
    for epoch in range(3):
        table = job.run(epoch, [Record(f"{epoch}-{i}".encode()) for i in range(50)])
        assert values(table) == [f"{epoch}-{i}" for i in range(50)]


def test_an_epoch_without_rows_is_computed_too(job: Job) -> None:
    job.start(job.sources["events"].filter("value = 'yes'").select("key", "value"))
    assert values(job.run(0, [Record(b"no")])) == []
    assert values(job.run(1, [])) == []
    assert values(job.run(2, [Record(b"yes")])) == ["yes"]


def test_state_goes_on_from_a_checkpoint_cut_back_to_an_earlier_epoch(spark: SparkSession, tmp_path: Path) -> None:
    first = Job(spark, tmp_path / "one", [raw_source()], [kafka_sink()])
    first.start(running_count(first.sources["events"]))
    for epoch in range(4):
        assert values(first.run(epoch, [Record(b"", b"k")] * (epoch + 1))) == [str(sum(range(epoch + 2)))]
    first.committed(3)
    first.stop()

    # Only epochs up to 1 were published, so the newer state must not be used.
    position = restore([tmp_path / "one" / "checkpoint"], 1, tmp_path / "two" / "checkpoint")
    assert position == EnginePosition(1, 10)
    second = Job(spark, tmp_path / "two", [raw_source()], [kafka_sink()])
    second.start(running_count(second.sources["events"]), position)
    assert values(second.run(2, [Record(b"", b"k")] * 3)) == ["6"]
    assert values(second.run(3, [Record(b"", b"k")] * 4)) == ["10"]
    second.stop()


def test_two_streams_of_one_physical_source_stay_aligned(spark: SparkSession, tmp_path: Path) -> None:
    sources = [raw_source("left", "l"), raw_source("right", "r")]
    job = Job(spark, tmp_path / "join", sources, [kafka_sink()])
    left = job.sources["left"].select(F.col("key").alias("a"), F.col("value").alias("x"))
    right = job.sources["right"].select(F.col("key").alias("b"), F.col("value").alias("y"))
    joined = left.join(right, F.expr("a = b"))
    job.start(joined.select(F.col("a").alias("key"), F.concat("x", "y").cast("string").alias("value")))
    assert values(job.run(0, [Record(b"1", b"k", "l")])) == []
    assert values(job.run(1, [Record(b"2", b"k", "r"), Record(b"3", b"k", "l")])) == ["12", "32"]
    job.stop()


def test_poison_goes_to_the_dead_letters_with_its_coordinates_and_the_job_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = SourceSpec(name="events", topics=("in",), format="json", schema="n INT, s STRING")
    job = Job(spark, tmp_path / "poison", [source], [kafka_sink()])
    job.start(job.sources["events"].select(F.col("n").cast("string").alias("value")))
    good, bad = as_json(n=1, s="x"), [b"{not json", as_json(n="text", s="x"), b"", None]
    table = job.run(0, [Record(good), *(Record(value, partition=2) for value in bad), Record(good)])
    rows = table.to_pylist()
    assert [row["value"] for row in rows if row["sink"] == "out"] == [b"1", b"1"]
    letters = [row["value"].decode() for row in rows if row["sink"] == "dead-letter"]
    assert len(letters) == len(bad)
    for offset, letter in enumerate(letters, start=1):
        assert f'"topic":"in","partition":2,"offset":{offset}' in letter
        assert '"reason":"the ' in letter
    job.stop()


def sums_of_floats(events: DataFrame) -> DataFrame:
    totals = events.groupBy("key").agg(F.sum(F.col("value").cast("string").cast("double")).alias("total"))
    return totals.select("key", F.col("total").cast("string").alias("value"))


def digests_of_two_replicas(spark: SparkSession, folder: Path, merged: bool) -> list[str]:
    """Two replicas get the same records of eight partitions, each in another interleaving."""
    chance = random.Random(7)
    partitions = [
        [
            Record(repr(chance.uniform(-1e9, 1e9) * 10.0 ** chance.randint(-12, 3)).encode(), b"k", partition=p)
            for _ in range(60 + p)
        ]
        for p in range(8)
    ]
    digests = []
    for replica in (0, 1):
        arrived = list(partitions) if replica == 0 else list(reversed(partitions))
        if merged:
            by_partition = sorted(arrived, key=lambda records: records[0].partition)
            places = merge_order([len(records) for records in by_partition]).tolist()
            flat = [record for records in by_partition for record in records]
            rows = [record for _, record in sorted(zip(places, flat, strict=True), key=lambda pair: pair[0])]
        else:
            rows = [record for records in arrived for record in records]
        job = Job(spark, folder / f"{merged}-{replica}", [raw_source()], [kafka_sink()])
        job.start(sums_of_floats(job.sources["events"]))
        digests.append(EpochRows.of(0, job.run(0, rows), ordered=True).digest)
        job.stop()
    return digests


def test_sums_of_floats_over_many_partitions_have_the_same_bytes_in_every_replica(
    spark: SparkSession, tmp_path: Path
) -> None:
    one, other = digests_of_two_replicas(spark, tmp_path, merged=True)
    assert one == other
    # Without the cure, the same records in order of arrival, they differ: so this test can fail.
    one, other = digests_of_two_replicas(spark, tmp_path, merged=False)
    assert one != other


@pytest.mark.parametrize("name", UNDETERMINED)
def test_an_undetermined_expression_is_refused_by_name(job: Job, name: str) -> None:
    build, expected = UNDETERMINED[name]
    with pytest.raises(JobError, match="its replicas would differ") as refused:
        check_determined(build(job.sources["events"]))
    assert expected in str(refused.value)


def test_a_finer_clock_is_refused_too(spark: SparkSession, job: Job) -> None:
    nanoseconds = "spark.sql.timestampNanosTypes.enabled"
    spark.conf.set(nanoseconds, "true")
    try:
        clock = job.sources["events"].selectExpr("string(current_timestamp(9)) AS value")
        with pytest.raises(JobError, match="current_timestamp"):
            check_determined(clock)
    finally:
        spark.conf.unset(nanoseconds)


@pytest.mark.parametrize("name", CHANGING)
def test_a_constant_that_changes_from_build_to_build_is_refused(job: Job, name: str) -> None:
    build, events = CHANGING[name], job.sources["events"]
    with pytest.raises(JobError, match="another constant each time it is built"):
        check_repeatable(build(events), build(events))


def test_a_determined_plan_passes(job: Job) -> None:
    def build() -> DataFrame:
        events = job.sources["events"].withWatermark("timestamp", "1 minute")
        counted = events.groupBy(F.window("timestamp", "1 hour"), "key").agg(
            F.count("*").alias("n"), F.mode(F.hex("value"))
        )
        parts = ["to_date(window.start) > date'2024-01-01'", "'now' AS topic", "CAST('2024-01-01' AS DATE)"]
        parts += ["aes_encrypt(key, '0000111122223333', 'ECB') AS a"]
        parts += ["aes_encrypt(key, '0000111122223333', 'GCM', 'DEFAULT', substr(sha2(key, 256), 1, 12)) AS b"]
        parts += ["aes_encrypt(key, '0000111122223333', 'GCM', 'DEFAULT', X'000102030405060708090a0b') AS c"]
        parts += ["reflect('java.net.URLDecoder', 'decode', 'now%20', 'utf-8')", "n = 'today' AS day"]
        return counted.selectExpr("key", f"to_json(struct(n, {', '.join(parts)})) AS value")

    check_determined(build())
    check_repeatable(build(), build())


def test_what_spark_calls_non_deterministic_and_is_not_passes(spark: SparkSession, job: Job) -> None:
    """A UDTF whose author says nothing; the number of a row in its epoch, also where a subquery has it."""
    spark.udtf.register("words_of", F.udtf(WordsOf, returnType="word STRING"))
    few = spark.sql("SELECT id FROM range(3) WHERE id IN (SELECT monotonically_increasing_id() FROM range(2))")
    events = job.sources["events"].selectExpr("string(value) AS text", "monotonically_increasing_id() AS n")
    events.createOrReplaceTempView("numbered")
    words = spark.sql("SELECT word AS value, n FROM numbered, LATERAL words_of(text)")

    check_determined(words.join(few, F.col("n") == F.col("id")).select("value"))


class WordsOf:
    def eval(self, text: str) -> Iterator[tuple[str]]:
        yield from ((word,) for word in text.split())


def test_rows_behind_the_watermark_are_counted(job: Job) -> None:
    """One record of the future makes what comes with the right time late."""
    late = job.sources["events"].withWatermark("timestamp", "10 seconds")
    counted = late.groupBy(F.window("timestamp", "1 second"), "key").count()
    job.start(counted.select(F.col("key"), F.col("count").cast("string").alias("value")))
    dropped = []
    # Spark tells late rows by the watermark of the epoch before.
    for epoch, seconds in enumerate([(0, 1), (100_000,), (2,), (3, 4, 4), (200_000,)]):
        job.run(epoch, [Record(b"x", key=b"k", timestamp_ms=1_000 * second) for second in seconds])
        dropped.append(job.late_rows)

    assert dropped == [0, 0, 0, 2, 0]  # groups of the epoch


def test_the_job_function_gets_the_sources_it_names_and_the_context(spark: SparkSession, job: Job) -> None:
    def wanted(events: DataFrame, ctx: JobContext) -> DataFrame:
        return events.select(F.lit(ctx.options["colour"]).alias("value"))

    context = JobContext(spark, {"colour": "red"})
    job.start(call(wanted, context, job.sources))
    assert values(job.run(0, [Record(b"x")])) == ["red"]


def test_mistakes_of_a_job_are_told_with_what_to_do(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    events, context = job.sources["events"], JobContext(spark, {})
    (tmp_path / "bad.py").write_text("\n\nraise RuntimeError('no licence')\n")
    (tmp_path / "fine.py").write_text("def other(events):\n    return 1 / 0\n")
    kept = archive({path.name: Code(path, path.read_bytes()) for path in tmp_path.glob("*.py")}, tmp_path)
    with pytest.raises(JobError, match=r"RuntimeError: no licence \(bad.py:3\)"):
        load_function(JobSpec(file="bad.py"), kept)
    with pytest.raises(JobError, match="no function `job`"):
        load_function(JobSpec(file="fine.py"), kept)
    with pytest.raises(JobError, match=r"ZeroDivisionError.*fine.py:2"):
        call(load_function(JobSpec(file="fine.py", function="other"), kept), context, job.sources)
    with pytest.raises(JobError, match="parameters \\['flights'\\] are no sources"):
        call(lambda flights: flights, context, job.sources)
    with pytest.raises(JobError, match="no column `value`"):
        one_stream(events.select("key"), [kafka_sink()])
    with pytest.raises(JobError, match="Cast it to STRING or BINARY"):
        one_stream(events.select(F.lit(1).alias("value")), [kafka_sink()])
    with pytest.raises(JobError, match="for 2 sinks"):
        one_stream(events, [kafka_sink("a"), kafka_sink("b")])
    with pytest.raises(JobError, match="Return a DataFrame"):
        one_stream({"a": events}, [kafka_sink("b")])


def test_rows_for_several_sinks_come_out_of_one_epoch(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [kafka_sink("small"), kafka_sink("large"), SinkSpec(name="archive", parquet=FileSink(path="/unused"))]
    job = Job(spark, tmp_path / "sinks", [raw_source()], sinks)
    events = job.sources["events"]
    number = events.select("key", F.col("value").cast("string").cast("int").alias("n"))
    text = number.select("key", F.col("n").cast("string").alias("value"), "n")
    job.start(
        {
            "small": text.filter("n < 10").drop("n"),
            "large": text.filter("n >= 10").drop("n"),
            "archive": number.select("n", (F.col("n") * 2).alias("double")),
        }
    )
    rows = job.run(0, [Record(b"1"), Record(b"20")]).to_pylist()
    assert [(row["sink"], row["value"]) for row in rows if row["value"]] == [("small", b"1"), ("large", b"20")]
    archived = [row["table_archive"] for row in rows if row["sink"] == "archive"]
    assert archived == [{"n": 1, "double": 2}, {"n": 20, "double": 40}]
    job.stop()


def test_a_session_maps_the_archive_of_classes(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    pid = jvm.java.lang.ProcessHandle.current().pid()

    assert str(archive_of(file_system_jar(), classes_jar())) in Path(f"/proc/{pid}/maps").read_text()
