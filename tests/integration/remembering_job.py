"""A job with the three kinds of state: a count, a join, and a processor with several state variables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from integration.engine import BEGINNING, Job, Record, kafka_sink, raw_source
from tandem.checkpoint.position import EnginePosition

KEYS = 7
SINKS = ("counts", "pairs", "memories")


def remembering(streams: dict[str, DataFrame]) -> dict[str, DataFrame]:
    """What becomes of each sink."""
    left = streams["left"].select(F.col("key").alias("a"), F.col("value").alias("x"))
    right = streams["right"].select(F.col("key").alias("b"), F.col("value").alias("y"))
    pairs = left.join(right, F.expr("a = b")).select(F.col("a").alias("key"), F.concat("x", "y").alias("value"))
    counts = streams["left"].groupBy("key").count()
    memories = (
        streams["left"].groupBy("key").transformWithState(processor(), "key BINARY, value BINARY", "update", "None")
    )
    return {
        "counts": counts.select("key", F.col("count").cast("string").cast("binary").alias("value")),
        "pairs": pairs.select("key", F.col("value").cast("binary").alias("value")),
        "memories": memories,
    }


def processor() -> StatefulProcessor:
    """Remembers of each key how many, which, and how many of each first letter. Made here, so that workers get its code."""

    class Memory(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._count = handle.getValueState("count", "n INT")
            self._all = handle.getListState("all", "value STRING")
            self._letters = handle.getMapState("letters", "letter STRING", "n INT")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
            (count,) = self._count.get() or (0,)
            for value in sorted(bytes(row.value).decode() for row in rows):
                count += 1
                self._all.appendValue((value,))
                known = self._letters.getValue((value[0],))
                self._letters.updateValue((value[0],), ((known[0] if known else 0) + 1,))
            self._count.update((count,))
            letters = sorted((letter[0], n[0]) for letter, n in self._letters.iterator())
            yield Row(key=key[0], value=f"{count} {sorted(v for (v,) in self._all.get())} {letters}".encode())

        def close(self) -> None:
            """Nothing to release."""

    return Memory()


def records(epoch: int) -> list[Record]:
    """The input of an epoch, the same whenever it is asked for."""
    chance = random.Random(epoch)
    return [
        Record(f"{'abc'[i % 3]}{epoch}-{i};".encode(), b"k%d" % chance.randrange(KEYS), chance.choice("lr"))
        for i in range(12)
    ]


def started(spark: SparkSession, folder: Path, after: EnginePosition = BEGINNING) -> Job:
    """The job on a checkpoint in `folder`, which stands at `after`."""
    job = Job(spark, folder, [raw_source("left", "l"), raw_source("right", "r")], [kafka_sink(sink) for sink in SINKS])
    job.start(remembering(job.sources), after)
    return job


def results(job: Job, epochs: range) -> list[list[tuple[str, bytes, bytes]]]:
    """What each epoch brought: sink, key, value, sorted."""
    found = []
    for epoch in epochs:
        table = job.run(epoch, records(epoch))
        columns = [table[name].to_pylist() for name in ("sink", "key", "value")] if table.num_rows else [[], [], []]
        found.append(sorted(zip(*columns, strict=True)))
    return found
