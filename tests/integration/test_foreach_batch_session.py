"""What a function of a sink `foreachBatch` finds in its session and its module, without Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from integration.planning_replica import written
from tandem.engine.foreach_batch import BatchFunctions, TryAgainError, load_functions
from tandem.manifest import load
from tandem.testing.running import prepared

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

JOB = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")


def job(events):
    spark.createDataFrame([("a", "Ann")], "key STRING, name STRING").createOrReplaceTempView("names")
    spark.udf.register("shout", lambda text: text.upper() + "!", "string")
    return events.selectExpr("cast(key as string) as key", "offset")
"""
WRITER = """
from pathlib import Path
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf

spark = SparkSession.builder.getOrCreate()
RATES = {"a": 2}


def taxed(key):
    if key not in RATES:
        raise ValueError(f"no rate for {key}")
    return RATES[key]


taxed_column = udf(taxed, "int")


def write(df, batch_id):
    session = df.sparkSession
    assert session.conf.get("spark.sql.legacy.timeParserPolicy") == "LEGACY"
    session.conf.set("spark.sql.shuffle.partitions", "7")
    df.createOrReplaceTempView("updates")
    named = session.sql("SELECT shout(name) AS name, key FROM updates JOIN names USING (key)")
    found = [list(row) for row in named.withColumn("rate", taxed_column(col("key"))).collect()]
    assert [row.rate for row in df.select(taxed_column(col("key")).alias("rate")).collect()] == [2]
    with Path(__file__).with_name("found").open("a") as file:
        print(batch_id, found, file=file)
"""


@pytest.fixture
def call(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[int, str], None]]:
    """Calls the function of the sink: the number of the epoch, and the key of its row."""
    path = written(tmp_path, JOB).path
    tree = json.loads(path.read_text())
    tree["spec"]["sinks"] = [{"name": "calls", "foreachBatch": "writer:write"}]
    path.write_text(json.dumps(tree))
    (tmp_path / "writer.py").write_text(WRITER)
    manifest = load(path)

    with prepared(spark, manifest, tmp_path / "archives") as (job, _):
        assert job.batches is not None
        functions = BatchFunctions(job.batches, load_functions(spark, manifest), job.query.frame.schema)
        kind = pa.struct([("key", pa.string()), ("offset", pa.int64())])
        yield lambda epoch, key: functions.call("calls", epoch, pa.array([{"key": key, "offset": 0}], kind))


@pytest.mark.thorough
def test_it_finds_what_the_job_has_set_and_its_own_functions_and_says_what_a_worker_raised(
    spark: SparkSession, tmp_path: Path, call: Callable[[int, str], None]
) -> None:
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    call(0, "a")

    assert (tmp_path / "found").read_text() == "0 [['ANN!', 'a', 2]]\n"
    assert spark.conf.get("spark.sql.shuffle.partitions") == partitions, "its settings reach the job"
    assert not spark.catalog.tableExists("updates")
    with pytest.raises(TryAgainError, match=r"epoch 1: PythonException: ValueError: no rate for EUR \(writer.py:12\)"):
        call(1, "EUR")
