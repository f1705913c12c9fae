"""Spark's micro-batch engine: every epoch is one micro-batch whose batch id is the epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from tandem.engine.frames import read_sources
from tandem.engine.interface import JobError, OnEpoch
from tandem.engine.job import JobContext, call, load_function
from tandem.engine.output import dead_letters, one_stream
from tandem.engine.plan_check import check_determined
from tandem.manifest import Manifest
from tandem.topics import DEAD_LETTER_SINK


@dataclass(frozen=True, slots=True)
class MicroBatchSettings:
    """Where the query's checkpoint is."""

    checkpoint: Path


class MicroBatchEngine:
    """Runs a job as one streaming query; see `interface.Engine`."""

    def __init__(self, spark: SparkSession, frame: DataFrame, settings: MicroBatchSettings) -> None:
        self._spark = spark
        self._frame = frame
        self._settings = settings
        self._query: StreamingQuery | None = None

    @classmethod
    def prepare(cls, spark: SparkSession, manifest: Manifest, settings: MicroBatchSettings) -> MicroBatchEngine:
        """Build the job's plan and check it. Raises `JobError` for whatever the user has to mend."""
        job = manifest.model
        function = load_function(job.spec.job, manifest.base)
        frames = read_sources(spark, job.spec.sources)
        context = JobContext(spark, dict(job.spec.job.options))
        result = call(function, context, {name: frame.good for name, frame in frames.items()})
        try:
            stream = one_stream(result, job.spec.sinks)
            poison = [frame.poison for frame in frames.values() if frame.poison is not None]
            for letters in dead_letters(poison, DEAD_LETTER_SINK):
                stream = stream.unionByName(letters, allowMissingColumns=True)
        except PySparkException as error:
            raise JobError(f"the job's result cannot be published: {error}") from error
        check_determined(stream)
        return cls(spark, stream, settings)

    def start(self, on_epoch: OnEpoch) -> None:
        """Start the query; `on_epoch` is called from Spark's thread."""
        writer = self._frame.writeStream.foreachBatch(_collect(on_epoch)).option(
            "checkpointLocation", str(self._settings.checkpoint)
        )
        self._query = writer.outputMode(_output_mode(self._frame)).trigger(processingTime="0 seconds").start()

    def failure(self) -> BaseException | None:
        """Why the query ended; None while it runs."""
        query = self._query
        if query is None or query.isActive:
            return None
        return query.exception() or RuntimeError("the query has stopped")

    def stop(self) -> None:
        """Stop the query and the JVM."""
        if self._query is not None and self._query.isActive:
            self._query.stop()
        self._spark.stop()


def _collect(on_epoch: OnEpoch) -> Callable[[DataFrame, int], None]:
    def collect(frame: DataFrame, epoch: int) -> None:
        table: pa.Table = frame.toArrow()
        on_epoch(epoch, table)

    return collect


def _output_mode(frame: DataFrame) -> str:
    """`append` where Spark allows it (windows, joins, processors), else `update` (aggregations without a watermark)."""
    checker = frame.sparkSession._jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    modes = frame.sparkSession._jvm.org.apache.spark.sql.catalyst.streaming.InternalOutputModes
    try:
        checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), modes.Append())
    except Exception:
        return "update"
    return "append"
