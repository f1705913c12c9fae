"""The Spark source: a Python data source whose next offset is the next accepted epoch, and no further.

One physical source covers all input topics, so that the streams of a job stay aligned. It runs in Spark's planner
process for the driver and ships an epoch's records to the JVM as Arrow, without a read task (SPARK-46866).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from tandem.engine.batch import DDL, to_batch
from tandem.engine.fetch import EpochFetcher
from tandem.engine.interface import EnginePosition
from tandem.engine.settings import SourceSettings
from tandem.kafka.client import KafkaConnection

FORMAT = "tandem"
CUT_TIMEOUT_S = 0.5


class TandemSource(DataSource):
    """`spark.readStream.format("tandem")`; only inside a replica."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Columns of the stream, as DDL."""
        return DDL

    def simpleStreamReader(self, schema: StructType) -> EpochReader:  # noqa: ARG002, N802 - Spark's names
        """The reader, in the planner process."""
        return EpochReader(SourceSettings.find())


class EpochReader(SimpleDataSourceStreamReader):
    """Reads epoch after epoch. An offset is `{"epoch": n, "log": offset of its cut in the ordering topic}`."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._fetcher: EpochFetcher | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before epoch 0."""
        return {"epoch": -1, "log": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[Any], dict[str, int]]:
        """The epoch after `start`, or nothing and `start` if none is cut within half a second."""
        fetcher = self._at(EnginePosition(start["epoch"], start["log"]))
        fetched = fetcher.fetch_next(CUT_TIMEOUT_S)
        if fetched is None:
            return iter(()), start
        end = {"epoch": fetched.range.epoch, "log": fetched.range.log_offset}
        return _batches(to_batch(fetched)), end

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[Any]:  # noqa: N802
        """The epoch between two neighbouring offsets, when Spark asks for it again."""
        fetcher = EpochFetcher(
            KafkaConnection(self._settings.properties),
            self._settings.ordering_topic,
            self._settings.isolation,
            EnginePosition(start["epoch"], start["log"]),
        )
        try:
            fetched = fetcher.fetch_next(30.0)
        finally:
            fetcher.close()
        if fetched is None or fetched.range.epoch != end["epoch"]:
            raise RuntimeError(f"epoch {end['epoch']} is not in {self._settings.ordering_topic} any more")
        return _batches(to_batch(fetched))

    def commit(self, end: dict[str, int]) -> None:
        """Nothing: what is done is in the checkpoint and in the commits topic."""

    def _at(self, start: EnginePosition) -> EpochFetcher:
        if self._fetcher is None or self._fetcher.position != start:
            if self._fetcher is not None:
                self._fetcher.close()
            self._fetcher = EpochFetcher(
                KafkaConnection(self._settings.properties),
                self._settings.ordering_topic,
                self._settings.isolation,
                start,
            )
        return self._fetcher


def _batches(batch: pa.RecordBatch) -> Iterator[Any]:
    return iter((batch,)) if batch.num_rows else iter(())
