"""A feed: one query in Spark's real-time mode, with the channel by which its epochs go and its rows come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from tandem.checkpoint.position import EnginePosition
from tandem.engine.jvm_plans import dataset, java_type
from tandem.engine.realtime.channel import Channel

_CHECK: Final = "spark.sql.streaming.unsupportedOperationCheck"
_ONE_STARTS: Final = Lock()


class Settings(Protocol):
    """Of a session."""

    def set(self, key: str, value: str) -> None:
        """A setting has that value from now on."""


@contextmanager
def unchecked(settings: Settings) -> Iterator[None]:
    """Spark refuses state before a union in real-time mode. Without a shuffle, each branch is a task of its own.

    A session's queries share its settings, and a standby that is promoted may still begin a proof: one starts at a time.
    """
    with _ONE_STARTS:
        settings.set(_CHECK, "false")
        try:
            yield
        finally:
            settings.set(_CHECK, "true")


class Feed:
    """Of one query from its start to its end; epochs may be offered before the query is launched.

    Parameters
    ----------
    schema : of the records of every epoch.
    after : where the query begins.
    late_plans : each batch is planned when its first epoch is there, which has changed what the plan reads.
    """

    def __init__(self, frame: DataFrame, schema: StructType, after: EnginePosition, late_plans: bool = False) -> None:
        self._spark = frame.sparkSession
        self._jvm: Any = self._spark._jvm
        self._feed: Any
        offset = after.text if after.epoch >= 0 else None

        def connect(path: str) -> None:
            self._feed = self._jvm.tandem.Feed(java_type(self._spark, schema), offset, path)

        self.channel = Channel(connect)
        if late_plans:
            self._feed.planAtFirstEpoch()
        self._feed.open()

    def launch(self, plan: Any, source: Any, checkpoint: Path, watermarks: Any) -> StreamingQuery:
        """Start the query: an analysed plan over the stream of `source`. Raises `PySparkException` if Spark refuses it.

        `watermarks` : where they are written; None: it keeps no state.
        """
        feed_plan = self._jvm.tandem.FeedPlan(self._feed)
        self._feed.keepWatermarks(watermarks)
        frame = dataset(self._spark, feed_plan.over(plan, source))
        mode = self._jvm.org.apache.spark.sql.streaming.OutputMode.Update()
        checker = self._jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
        checker.checkForStreaming(frame.queryExecution().analyzed(), mode)
        manager = self._spark._jsparkSession.streams()
        option = self._jvm.scala.Option
        with unchecked(self._spark.conf):
            query = manager.startQuery(
                option.empty(),  # name
                getattr(manager, "startQuery$default$2")(),
                option.apply(str(checkpoint)),
                frame,
                self._jvm.PythonUtils.toScalaMap({"checkpointLocation": str(checkpoint)}),
                feed_plan.sink(),
                mode,
                False,  # a temporary checkpoint
                True,  # recover from the checkpoint
                feed_plan.trigger(),
                self._feed,  # the clock
                option.empty(),
                option.empty(),
            )
        return StreamingQuery(query)

    def close(self, jvm_runs: bool = True) -> None:
        """End the channel. The query's tasks fail, if they still run."""
        if jvm_runs:
            self._feed.close()
        self.channel.close()
