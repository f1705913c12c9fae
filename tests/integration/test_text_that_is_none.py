"""Spark takes any bytes for a STRING: rows with some that are no UTF-8 are hashed, published and written like others."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source
from tandem.manifest import FileSink, SinkSpec
from tandem.replica.records import records_of
from tandem.replica.rows import EpochRows
from tandem.replica.tables import TableSink
from tandem.topics.declared import SinkTopics
from unit.replica.making import MakingTableWriter

pytestmark = pytest.mark.integration

BAD = b"caf\xe9"


def test_a_record_that_is_no_text_comes_through_a_cast_to_string_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    sinks = [kafka_sink(), SinkSpec(name="archive", parquet=FileSink(path="/unused"))]
    job = Job(spark, tmp_path / "job", [raw_source()], sinks)
    text = job.sources["events"].select(F.col("value").cast("string").alias("text"))
    header = F.struct(F.col("text").alias("key"), F.lit(b"x").alias("value"))
    job.start({"out": text.select(F.col("text").alias("value"), F.array(header).alias("headers")), "archive": text})

    rows = EpochRows.of(0, job.run(0, [Record(b"plain"), Record(BAD)]), ordered=True)
    job.stop()

    out, letter = records_of(rows, SinkTopics({"out": "out"}, {"out": 1}, "letters", 1_000))
    assert (out.topic, out.value, out.headers[-1]) == ("out", b"plain", ("plain", b"x"))
    assert letter.topic == "letters"
    MakingTableWriter("job", [TableSink("archive", "parquet", str(tmp_path / "archive"))]).write(rows)
    written = pq.read_table(tmp_path / "archive")["text"].combine_chunks()
    assert sorted(written.view("binary").to_pylist()) == [BAD, b"plain"]
