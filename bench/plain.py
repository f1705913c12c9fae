"""The peer, a process of its own: plain Spark with its built-in Kafka source and sink, at least once.

`python -m bench.plain TUNING WORKLOAD BOOTSTRAP INPUT OUTPUT CHECKPOINT MIN_BATCH_INTERVAL_MS`
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bench.connector import connector_jars
from bench.definition import Job
from bench.measured import job_of
from bench.records import PARTITIONS
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import LASTING_TASKS, build_session
from tandem.manifest import SparkSpec

DEFAULT, TUNED, COMPILED, REAL_TIME = "default", "tuned", "compiled", "realtime"
_BATCH = "5 seconds"
"""How long a batch of real-time mode lasts: as far apart as Tandem's barriers are by default."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a job may ask of `ctx` here: nothing that only Tandem has."""

    spark: SparkSession
    options: Mapping[str, str]


def rows_of(job: Job, sources: Sequence[DataFrame], spark: SparkSession) -> DataFrame:
    """The rows of a job. `sources`: of each, the columns of Kafka's source that the job reads."""
    given: dict[str, object] = {}
    for name, records in zip(job.sources, sources, strict=True):
        given[name] = records
        if "schema" in job.reading:
            parsed = F.from_json(F.col("value").cast("string"), job.reading["schema"]).alias("parsed")
            given[name] = records.select(parsed).select("parsed.*")
    if "ctx" in inspect.signature(job.function).parameters:
        given["ctx"] = Context(spark, job.options)
    rows: DataFrame = job.function(**given)
    return rows


def session(tuning: str, scratch: Path) -> SparkSession:
    """`default`: as Spark comes; `tuned`, `realtime`: as a replica, in every setting; `compiled`: with code generation."""
    connector = [str(jar) for jar in connector_jars()]
    if tuning == DEFAULT:
        builder = SparkSession.Builder().master("local[1]").appName("plain")
        own = {
            "spark.driver.extraClassPath": os.pathsep.join(connector),
            "spark.local.dir": str(scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            # The one thing tuned: 200 partitions of state on one core would make the count a straw man.
            "spark.sql.shuffle.partitions": "1",
        }
        for name, value in own.items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
        made.sparkContext.setLogLevel("ERROR")
        return made
    compiled = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    class_path = Path(os.pathsep.join([*connector, str(Jars.resolve().spark_classpath())]))
    conf = compiled if tuning == COMPILED else {}
    if tuning == REAL_TIME:  # a task for each partition: Spark must not leave out the shuffle behind them
        spec, slots = SparkSpec(conf=conf, parallelism=PARTITIONS), LASTING_TASKS
    else:
        spec, slots = SparkSpec(conf=conf), 0
    return build_session("plain", tuning, spec, class_path, scratch, slots=slots)


def main(tuning: str, name: str, bootstrap: str, source: str, sink: str, checkpoint: Path, interval_ms: int) -> None:
    """Run a workload until killed."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    job, spark = job_of(name), session(tuning, checkpoint / "scratch")
    for setting, value in job.conf.items():
        spark.conf.set(setting, value)
    is_lasting = tuning == REAL_TIME
    sources = [_read(spark, bootstrap, topic, job.columns) for topic in job.topics(source)]
    if tuning != DEFAULT and not is_lasting:
        sources = [records.coalesce(1) for records in sources]  # one task on one core, as in a replica
    query = (
        rows_of(job, sources, spark)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", sink)
        .option("checkpointLocation", str(checkpoint / "query"))
        .outputMode("update" if is_lasting or job.updates else "append")
        .trigger(**({"realTime": _BATCH} if is_lasting else {"processingTime": f"{interval_ms} milliseconds"}))
        .start()
    )
    query.awaitTermination()


def _read(spark: SparkSession, bootstrap: str, topic: str, columns: Sequence[str]) -> DataFrame:
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("kafka.fetch.max.wait.ms", "20")  # or batches stall for up to half a second
        .load()
        .select(*columns)
    )


if __name__ == "__main__":
    tuning, name, bootstrap, source, sink, checkpoint, interval_ms = sys.argv[1:]
    main(tuning, name, bootstrap, source, sink, Path(checkpoint), int(interval_ms))
