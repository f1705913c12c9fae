"""The peer, a process of its own: plain Spark with its built-in Kafka source and sink, at least once.

`python -m bench.plain TUNING JOB BOOTSTRAP INPUT OUTPUT CHECKPOINT MIN_BATCH_INTERVAL_MS`
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from bench import jobs
from bench.connector import connector_jars
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import LASTING_TASKS, build_session
from tandem.manifest import SparkSpec

DEFAULT, TUNED, COMPILED, REAL_TIME = "default", "tuned", "compiled", "realtime"
_BATCH = "5 seconds"
"""How long a batch of real-time mode lasts: as far apart as Tandem's barriers are by default."""


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
    slots = LASTING_TASKS if tuning == REAL_TIME else 0
    return build_session("plain", tuning, SparkSpec(conf=conf), class_path, scratch, slots=slots)


def main(tuning: str, job: str, bootstrap: str, source: str, sink: str, checkpoint: Path, interval_ms: int) -> None:
    """Run until killed."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    spark = session(tuning, checkpoint / "scratch")
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("kafka.fetch.max.wait.ms", "20")  # or batches stall for up to half a second
        .load()
        .select("key", "value")
    )
    is_lasting = tuning == REAL_TIME
    if tuning != DEFAULT and not is_lasting:
        events = events.coalesce(1)  # one task on one core, as in a replica
    query = (
        getattr(jobs, job)(events)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", sink)
        .option("checkpointLocation", str(checkpoint / "query"))
        .outputMode("update" if is_lasting or job in jobs.STATEFUL else "append")
        .trigger(**({"realTime": _BATCH} if is_lasting else {"processingTime": f"{interval_ms} milliseconds"}))
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    tuning, job, bootstrap, source, sink, checkpoint, interval_ms = sys.argv[1:]
    main(tuning, job, bootstrap, source, sink, Path(checkpoint), int(interval_ms))
