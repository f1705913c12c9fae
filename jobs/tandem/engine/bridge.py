"""The bridge to the JVM: a streaming source, sink and clock that Python hands whole epochs to.

Spark offers Python two ways into a micro-batch: a Python data source, which runs in a planner process of its own and
ships rows through it and a block store, and `foreachBatch`, which calls back into Python and then runs a second job to
collect. On one pinned core an epoch of 400 rows through both cost 66 ms of CPU; through this bridge it costs 23 ms, and
the planner process' 120 MB are not needed. The price is that it stands on internal interfaces of Spark (`Source`,
`Sink`, `StreamingQueryManager.startQuery`), so it belongs to one version of Spark, which `pyproject.toml` pins.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from tandem.checkpoint.folders import WATERMARKS, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.checkpoint.relocation import relocate
from tandem.checkpoint.scans import fit_scans
from tandem.engine.idle_inputs import idle_after, without_watermark
from tandem.engine.jvm_plans import dataset, java_type, nodes_of, singleton
from tandem.engine.kept_state import check_state, note_state
from tandem.engine.plan_leaves import scans_of
from tandem.engine.pruned import pruned, states_of
from tandem.engine.session_state import default_of, settings_of
from tandem.engine.state_settings import check_settings
from tandem.engine.tables.parsing import TableFrames
from tandem.logs import get_logger
from tandem.manifest import SourceSpec
from tandem.manifest.spark_settings import RETAINED_BATCHES

_log = get_logger(__name__)

_NO_WATERMARK = (
    "the job has no watermark over this source, or one over other sources, too, that have no idleTimeout. Set a watermark "
    "on the source's DataFrame, or remove idleTimeout"
)


class EpochBridge:
    """One query's source, sink and clock.

    `schema` : of the records of every epoch.
    `folder` : a folder in memory for the Arrow files of one epoch at a time.
    `sources` : of the manifest; some may be idle.
    `counts` : whether its epochs are those of the job, to which accumulators are added; else it is for trials.
    """

    def __init__(
        self,
        spark: SparkSession,
        schema: StructType,
        folder: Path,
        sources: Sequence[SourceSpec] = (),
        counts: bool = True,
    ) -> None:
        self._sources = sources
        self._spark = spark
        self._input = folder / "epoch.arrow"
        self._output = folder / "rows.arrow"
        jvm: Any = spark._jvm
        self._jvm = jvm
        types = singleton(spark, "org.apache.spark.sql.catalyst.types.DataTypeUtils")
        self._attributes = types.toAttributes(java_type(spark, schema))
        given = (java_type(spark, schema), spark._jsparkSession, self._attributes, str(self._output))
        self._bridge = jvm.tandem.EpochBridge(*given)
        self._bridge.accumulates(spark.sparkContext._javaAccumulator, counts)
        self._schema = schema
        self._after = EnginePosition()

    @property
    def source(self) -> Any:
        """What its stream reads, in the JVM."""
        return self._bridge

    def stream(self) -> DataFrame:
        """The streaming DataFrame of the records that will be offered."""
        runtime = self._jvm.org.apache.spark.sql.execution.streaming.runtime
        relation = runtime.StreamingExecutionRelation(
            self._bridge,
            self._attributes,
            self._jvm.scala.Option.empty(),
            getattr(runtime.StreamingExecutionRelation, "apply$default$4")(),
            self._spark._jsparkSession,
        )
        return DataFrame(dataset(self._spark, relation), self._spark)

    def tables(self) -> tuple[TableFrames, ...]:
        """Of one plan over this bridge: the sources that are tables."""
        tables, folder = self._bridge.tables(), self._input.parent
        found = (source for source in self._sources if source.table is not None)
        return tuple(TableFrames(self._spark, tables, source, self._schema, folder) for source in found)

    def stand_at(self, after: EnginePosition) -> None:
        """Forget an earlier query; from now on epochs after `after` may be offered."""
        self._input.parent.mkdir(parents=True, exist_ok=True)
        self._bridge.begin()
        self._after = after

    def launch(self, frame: DataFrame, checkpoint: Path, output_mode: str) -> StreamingQuery:
        """Start the query after `stand_at`. Raises `JobError`: the checkpoint's state is of other columns, or settings."""
        relocate(checkpoint)
        frame_as_run = dataset(self._spark, pruned(frame))
        plan = frame_as_run.queryExecution().analyzed()
        states = states_of(frame)
        if self._after.epoch >= 0:
            check_state(checkpoint, states)
            if states:
                defaults = partial(default_of, self._spark)
                check_settings(checkpoint, self._after, settings_of(self._spark), defaults)
        note_state(checkpoint, states)
        fit_scans(checkpoint, scans_of(self._spark, plan))
        self._bridge.keepWatermarks(self.watermark_log(plan, checkpoint, self._after))
        manager = self._spark._jsparkSession.streams()
        option = self._jvm.scala.Option

        def default(position: int) -> Any:
            return getattr(manager, f"startQuery$default${position}")()

        query = manager.startQuery(
            option.empty(),  # name
            default(2),
            option.apply(str(checkpoint)),
            frame_as_run,
            self._jvm.PythonUtils.toScalaMap({"checkpointLocation": str(checkpoint)}),
            self._bridge,
            getattr(self._jvm.org.apache.spark.sql.streaming.OutputMode, output_mode)(),
            False,  # a temporary checkpoint
            True,  # recover from the checkpoint
            default(10),
            self._bridge,  # the clock
            option.empty(),
            option.empty(),
        )
        return StreamingQuery(query)

    def watermark_log(self, plan: Any, checkpoint: Path, after: EnginePosition) -> Any:
        """Where a query of that analysed plan writes its watermarks, on a checkpoint that stands at `after`; in the JVM."""
        nodes = nodes_of(plan)
        for name in without_watermark(nodes, self._sources):
            _log.warning("idle_timeout_without_effect", source=name, reason=_NO_WATERMARK)
        folder, idle = checkpoint / WATERMARKS, json.dumps(idle_after(nodes, self._sources))
        newest = find_newest([checkpoint], after.epoch)
        batch = after.epoch if newest is None else newest.batch
        saved = folder / str(batch)
        content = saved.read_text() if saved.exists() else None
        session = self._spark._jsparkSession
        return self._jvm.tandem.WatermarkLog(session, str(folder), RETAINED_BATCHES, batch, content, idle)

    def write(self, batch: pa.RecordBatch) -> None:
        """Put the records of the epoch to be offered where Spark reads them. The last epoch must have been acknowledged."""
        with pa.OSFile(str(self._input), "wb") as sink, pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)

    def offer(self, position: EnginePosition, time_ms: int) -> bool:
        """Offer what was written, as the epoch at `position` and of that time (Unix, ms); False if Spark, which commits the
        last epoch first, has not taken it within 200 ms."""
        taken: bool = self._bridge.offer(position.text, str(self._input), time_ms)
        return taken

    def take(self) -> tuple[int, pa.Table, int] | None:
        """The epoch that was computed, its rows (no columns if there are none), and how many came too late for a watermark.

        None after 200 ms without one. Of the late ones it counts what an operator drops: rows, or groups of them.
        """
        taken = str(self._bridge.take())
        if not taken:
            return None
        epoch, late = taken.split()
        content = self._output.read_bytes()
        return int(epoch), pa.ipc.open_stream(content).read_all() if content else pa.table({}), int(late)

    def acknowledge(self) -> None:
        """The rows were taken over: Spark may commit the epoch."""
        self._bridge.acknowledge()

    def unload_state(self) -> None:
        """Let go of all state stores. No query may run: a store that an earlier query left would save what that computed."""
        unload_state(self._spark)


def unload_state(spark: SparkSession) -> None:
    """Let go of all state stores of this process' JVM. No query may run."""
    singleton(spark, "org.apache.spark.sql.execution.streaming.state.StateStore").stop()
