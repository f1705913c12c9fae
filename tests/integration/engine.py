"""Driving the engine's bridge with epochs of a test's own, on one Spark session for all tests."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import Message
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from tandem.checkpoint.folders import find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.bridge import EpochBridge
from tandem.engine.output import by_sink, dead_letters, one_stream
from tandem.engine.output_mode import output_mode
from tandem.engine.python_times import times_of_python
from tandem.engine.query import EpochQuery, GiveUp, MicroBatchQuery
from tandem.engine.realtime.query import RealTimeQuery
from tandem.engine.shared_state import stateful_operators
from tandem.engine.tables.kept import KeptTables
from tandem.engine.tables.query import TableFedQuery, TableTurningQuery
from tandem.formats.decoding import Decoding
from tandem.intake.fetch import Answered, Fetched
from tandem.intake.parsing import Intake
from tandem.jobapi.frames import split_sources
from tandem.manifest import OutputMode, SinkSpec, SourceSpec
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

EPOCH_DEADLINE_S = 60.0
BEGINNING = EnginePosition()


@dataclass(frozen=True)
class Record:
    """One input record."""

    value: bytes | None
    key: bytes | None = None
    topic: str = "in"
    partition: int = 0
    timestamp_ms: int = 0
    headers: Sequence[tuple[str, bytes | None]] | None = None


def fetched(epoch: int, records: Sequence[Record], answers: Sequence[Answered] = ()) -> Fetched:
    """Records as an epoch, in the given order; its time and seed are made from its number."""
    messages = [
        Message(
            topic=record.topic,
            partition=record.partition,
            offset=offset,
            key=record.key,
            value=record.value,
            headers=None if record.headers is None else list(record.headers),
            timestamp=(1, record.timestamp_ms),
        )
        for offset, record in enumerate(records)
    ]
    place = EpochRange(epoch, Offsets(), Offsets(), epoch_time_us(epoch) // 1_000, 1_000 + epoch, epoch * 10)
    topics = {record.topic: TopicPartition(record.topic, 0) for record in records}
    groups = tuple((tp, [one for one in messages if one.topic() == topic]) for topic, tp in topics.items())
    return Fetched(place, groups, tuple(answers))


def gone(folder: Path) -> None:
    """A stopped job's folder is no longer where it was; Spark's maintenance may still write into it for a moment."""
    folder.rename(folder.with_name(f"{folder.name}-gone"))


def epoch_time_us(epoch: int) -> int:
    """The time of an epoch (Unix, µs) in these tests."""
    return (1_700_000_000 + epoch) * 1_000_000


def within(seconds: float) -> GiveUp:
    """An epoch is waited for no longer than that."""
    deadline = time.monotonic() + seconds
    return lambda: f"it was not computed within {seconds:.0f} s" if time.monotonic() > deadline else ""


class Job:
    """A job on a bridge of its own: `run` computes epochs, from the position that the checkpoint stands at."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        sources: Iterable[SourceSpec],
        sinks: Sequence[SinkSpec],
        most_bytes: int = 1_000_000,
        real_time: bool = False,
        decoding: Decoding | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        specs = list(sources)
        schemas = {s.name: StructType.fromDDL(s.schema_ddl or "") for s in specs if s.format == "json"}
        self._intake = Intake(specs, most_bytes, schemas, decoding=decoding)
        self._bridge = EpochBridge(spark, from_arrow_schema(self._intake.schema), folder, specs)
        self._frames = split_sources(self._bridge.stream(), [source for source in specs if source.table is None])
        self._tables = self._bridge.tables()
        self.sources = {name: frame.good for name, frame in self._frames.items()}
        self.sources |= {table.source.name: table.frame for table in self._tables}
        self._sinks = sinks
        self._checkpoint = folder / "checkpoint"
        self._real_time = real_time
        self._query: EpochQuery | None = None

    def start(self, result: object, after: EnginePosition = BEGINNING, requested: OutputMode | None = None) -> None:
        """Start the query for what the job function returned."""
        stream = one_stream(result, self._sinks)
        poison = [frame.poison for frame in self._frames.values() if frame.poison is not None]
        for letters in dead_letters(poison, "dead-letter"):
            stream = stream.unionByName(letters, allowMissingColumns=True)
        self.rows_schema = stream.schema
        self._intake = replace(self._intake, times_us=times_of_python(stream))
        kept = KeptTables(self._tables) if self._tables else None
        if self._real_time:
            schema, stateful = from_arrow_schema(self._intake.schema), bool(stateful_operators(stream) or self._tables)
            ends = kept.write if kept else None
            lasting = RealTimeQuery(self._bridge, schema, stream, stateful, rest_s=0.0, ends=ends)
            self._query = TableTurningQuery(lasting, kept) if kept else lasting
        else:
            query = MicroBatchQuery(self._bridge, stream, output_mode(stream, by_sink(result, self._sinks), requested))
            self._query = TableFedQuery(query, kept) if kept else query
        self._query.begin(self._checkpoint, after)

    def run(
        self, epoch: int, records: Sequence[Record], answers: Sequence[Answered] = (), barrier: bool = False
    ) -> pa.Table:
        """Compute one epoch and acknowledge it."""
        given = fetched(epoch, records, answers)
        self._intake.await_schemas(given, lambda _: None)
        taken_in = self._intake.take(given)
        position, time_ms = EnginePosition(epoch, epoch * 10), epoch_time_us(epoch) // 1_000
        assert self._query is not None
        rows = self._query.compute(position, taken_in.batch, time_ms, within(EPOCH_DEADLINE_S), barrier)
        self._query.commit()
        return taken_in.completed(rows)[0]

    def rest(self) -> None:
        """Nothing comes."""
        assert self._query is not None
        self._query.rest(within(EPOCH_DEADLINE_S))

    @property
    def position(self) -> EnginePosition | None:
        """Where the checkpoint stands."""
        newest = find_newest([self._checkpoint], sys.maxsize)
        return None if newest is None else newest.position

    def offer(self, epoch: int, records: Sequence[Record]) -> None:
        """Offer one epoch, and take nothing."""
        taken_in = self._intake.take(fetched(epoch, records))
        assert self._query is not None
        self._query.offer(
            EnginePosition(epoch, epoch * 10), taken_in.batch, epoch_time_us(epoch) // 1_000, within(EPOCH_DEADLINE_S)
        )

    @property
    def late_rows(self) -> int:
        """How many rows of the last epoch came too late for a watermark."""
        assert self._query is not None
        return self._query.late_rows

    @property
    def last_plan(self) -> list[str]:
        """What Spark executed for the last epoch: each operator with its expressions, those nearest to the sink first."""
        assert self._query is not None
        assert self._query.streaming is not None
        execution = self._query.streaming._jsq.streamingQuery().lastExecution()
        return [f"{node.nodeName()} {node.expressions().mkString(' ')}" for node in _nodes(execution.executedPlan())]

    @property
    def observed(self) -> dict[str, str]:
        """What `Dataset.observe` has counted in the last epoch, by its names, as text."""
        assert self._query is not None
        assert self._query.streaming is not None
        execution = self._query.streaming._jsq.streamingQuery().lastExecution()
        rows = execution.observedMetrics().iterator()
        return {str(pair._1()): str(pair._2()) for pair in iter(lambda: rows.next() if rows.hasNext() else None, None)}

    @property
    def last_query(self) -> list[str]:
        """What Spark was asked to execute for the last epoch, before it optimised that; as `last_plan`."""
        assert self._query is not None
        assert self._query.streaming is not None
        execution = self._query.streaming._jsq.streamingQuery().lastExecution()
        return [f"{node.nodeName()} {node.expressions().mkString(' ')}" for node in _nodes(execution.analyzed())]

    def committed(self, epoch: int) -> None:
        """Wait until Spark has committed `epoch`, and its checksum too, which is moved into its place after the file."""
        deadline = time.monotonic() + EPOCH_DEADLINE_S
        commits = self._checkpoint / "commits"
        while not (commits / str(epoch)).exists() or any(".tmp" in path.name for path in commits.iterdir()):
            assert time.monotonic() < deadline, f"epoch {epoch} was not committed"

    def stands_at(self, epoch: int) -> None:
        """Wait until the checkpoint stands at `epoch`."""
        deadline = time.monotonic() + EPOCH_DEADLINE_S
        while epoch >= 0 and ((found := self.position) is None or found.epoch != epoch):
            assert time.monotonic() < deadline, f"the checkpoint stands at {found}"

    def stop(self) -> None:
        """Stop the query."""
        if self._query is not None:
            self._query.stop()


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children().iterator()
    while children.hasNext():
        yield from _nodes(children.next())


def kafka_sink(name: str = "out") -> SinkSpec:
    """A Kafka sink; nothing is sent anywhere."""
    return SinkSpec(name=name, topic=name)


def raw_source(name: str = "events", topic: str = "in") -> SourceSpec:
    """A source of bytes."""
    return SourceSpec(name=name, topics=(topic,))


def running_count(events: DataFrame) -> DataFrame:
    """Records per key so far."""
    return events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))


def values(table: pa.Table) -> list[str]:
    """The values of a result, as text."""
    return [value.decode() for value in table["value"].to_pylist()] if table.num_rows else []


def as_json(**fields: object) -> bytes:
    """A JSON value."""
    return json.dumps(fields).encode()


__all__ = ["DataFrame", "Job", "Record", "as_json", "fetched", "kafka_sink", "raw_source", "running_count", "values"]
