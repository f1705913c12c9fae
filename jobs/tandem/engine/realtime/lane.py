"""A lane: one query in Spark's real-time mode, with the channel by which its epochs go and its rows come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from tandem.checkpoint.position import EnginePosition
from tandem.engine.bridge import offset_of
from tandem.engine.pruned import dataset, inlined, java_type
from tandem.engine.realtime.channel import Channel


class Lane:
    """Of one query from its start to its end; epochs may be offered before the query is launched.

    Parameters
    ----------
    schema : of the records of every epoch.
    after : where the query begins.
    """

    def __init__(self, frame: DataFrame, schema: StructType, after: EnginePosition) -> None:
        self._spark = frame.sparkSession
        self._jvm: Any = self._spark._jvm
        self._lane: Any
        offset = offset_of(after) if after.epoch >= 0 else None

        def connect(path: str) -> None:
            self._lane = self._jvm.tandem.Lane(java_type(self._spark, schema), offset, path)

        self.channel = Channel(connect)
        self._lane.open()

    def launch(self, plan: Any, source: Any, checkpoint: Path) -> StreamingQuery:
        """Start the query: an analysed plan over the stream of `source`. Raises `PySparkException` if Spark refuses it."""
        lane_plan = self._jvm.tandem.LanePlan(self._lane)
        frame = dataset(self._spark, lane_plan.over(inlined(self._spark, plan), source))
        manager = self._spark._jsparkSession.streams()
        option = self._jvm.scala.Option
        query = manager.startQuery(
            option.empty(),  # name
            getattr(manager, "startQuery$default$2")(),
            option.apply(str(checkpoint)),
            frame,
            self._jvm.PythonUtils.toScalaMap({"checkpointLocation": str(checkpoint)}),
            lane_plan.sink(),
            self._jvm.org.apache.spark.sql.streaming.OutputMode.Update(),
            False,  # a temporary checkpoint
            True,  # recover from the checkpoint
            lane_plan.trigger(),
            self._lane,  # the clock
            option.empty(),
            option.empty(),
        )
        return StreamingQuery(query)

    def close(self, jvm_runs: bool = True) -> None:
        """End the channel. The query's tasks fail, if they still run."""
        if jvm_runs:
            self._lane.close()
        self.channel.close()
