"""The queries of the public latency suite for Spark's real-time mode and Flink (databricks-solutions/latency-benchmarks).

Records of 1,200 bytes, 10,000/s: transformed, counted, and joined with a table of 10,000 rows. Every row carries the time of
its record in Kafka as a header, by which latency is measured. Two differences: the number that a record is joined by is its
key, not a random number of the job, so that the rows are known; and the table's value is in the row, so that the join shows.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bench.workloads.aggregation import updates
from bench.workloads.base import Block, Engine, Epochs, Feed, Record, Row, Workload, chance, numbers_of

LOOKUP_ROWS = 10_000
MOST_BYTES = 500_000
NUMBER_BYTES = 12
_STARTS = 256
"""At how many places of the log a payload may begin: few, so that some come twice in a millisecond."""
_CLASSES = (
    "SparkContext",
    "BlockManager",
    "TaskSetManager",
    "DAGScheduler",
    "MemoryStore",
    "Executor",
    "ShuffleManager",
)


def transform(events: DataFrame) -> DataFrame:
    """The payload in base64."""
    return events.select("key", F.base64(_payload()).alias("value"), _time_header())


def count(events: DataFrame) -> DataFrame:
    """How often a payload came with a time so far, and the payload, in base64."""
    counted = events.select("timestamp", _payload().alias("value")).groupBy("timestamp", "value").count()
    text = F.concat(F.col("count").cast("string").cast("binary"), F.lit(b","), F.col("value"))
    rows: DataFrame = counted.select(F.base64(text).alias("value"), _time_header())
    return rows


def join(events: DataFrame, ctx: Any) -> DataFrame:
    """What the table has for the key, and the payload, in base64."""
    table = ctx.spark.range(LOOKUP_ROWS).select(F.col("id").alias("lookup"), (F.col("id") * 2).alias("found"))
    keyed = events.withColumn("number", F.col("key").cast("string").cast("long"))
    joined = keyed.join(F.broadcast(table), F.col("number") == F.col("lookup"))
    text = F.concat(F.col("found").cast("string").cast("binary"), F.lit(b","), _payload())
    rows: DataFrame = joined.select("key", F.base64(text).alias("value"), _time_header())
    return rows


def _payload() -> Column:
    return F.substring("value", 1, MOST_BYTES)


def _time_header() -> Column:
    time = F.unix_millis("timestamp").cast("string").cast("binary")
    return F.array(F.struct(F.lit("source-timestamp").alias("key"), time.alias("value"))).alias("headers")


def transformed(epochs: Epochs, _engine: Engine) -> list[list[Row]]:
    """The rows of `transform`."""
    return [[_row(record.key, record.value[:MOST_BYTES], record.timestamp_ms) for record in epoch] for epoch in epochs]


def counted(epochs: Epochs, engine: Engine) -> list[list[Row]]:
    """The rows of `count`."""

    def add(number: int | None, _record: Record) -> int:
        return (number or 0) + 1

    def row(group: tuple[int, bytes], number: int) -> Row:
        return _row(None, b"%d,%s" % (number, group[1]), group[0])

    return updates(epochs, engine, lambda record: (record.timestamp_ms, record.value[:MOST_BYTES]), add, row)


def joined(epochs: Epochs, _engine: Engine) -> list[list[Row]]:
    """The rows of `join`."""
    return [
        [
            _row(record.key, b"%d,%s" % (2 * int(record.key), record.value[:MOST_BYTES]), record.timestamp_ms)
            for record in epoch
            if record.key is not None and int(record.key) < LOOKUP_ROWS
        ]
        for epoch in epochs
    ]


def _row(key: bytes | None, payload: bytes, timestamp_ms: int) -> Row:
    return Row(key, b64encode(payload), (("source-timestamp", b"%d" % timestamp_ms),))


def log_text(length: int) -> bytes:
    """The log of some process, as long as wanted."""
    lines: list[str] = []
    used = 0
    seen = Counter[str]()
    while used < length:
        number = len(lines)
        name = _CLASSES[number * 7 // 3 % len(_CLASSES)]
        seen[name] += 1
        lines.append(
            f"26/01/15 10:{number // 60 % 60:02d}:{number % 60:02d} INFO {name}: task {number} is step {seen[name]}\n"
        )
        used += len(lines[-1])
    return "".join(lines).encode()[:length]


def _block(feed: Feed, seed: int, number: int) -> Block:
    """Pieces of a log, with a key below `keys`."""
    numbers, draw = numbers_of(number), chance(feed, seed, number)
    text, length = log_text(16 * _STARTS + feed.record_bytes), feed.record_bytes
    pieces = [text[at : at + length] for at in range(0, 16 * _STARTS, 16)]
    names: list[bytes | None] = [b"%d" % key for key in range(feed.keys)]
    keys = draw.integers(0, feed.keys, len(numbers)).tolist()
    values = [pieces[at] for at in draw.integers(0, _STARTS, len(numbers)).tolist()]
    return Block([names[key] for key in keys], values, (numbers % feed.partitions).tolist())


def _numbered(feed: Feed, seed: int, number: int) -> Block:
    """The same, each piece behind the record's number, by which its row is known again."""
    block = _block(replace(feed, record_bytes=feed.record_bytes - NUMBER_BYTES - 1), seed, number)
    values = [b"%0*d %s" % (NUMBER_BYTES, *one) for one in zip(numbers_of(number).tolist(), block.values, strict=True)]
    return block._replace(values=values)


def _feeds(keys: int, make: Callable[[Feed, int, int], Block] = _numbered) -> tuple[Feed, ...]:
    return (Feed("events", make, rate=1_000, keys=keys, record_bytes=1_200, compression="lz4"),)


_PAPER = {"events": 10_000}
_SPARK = {"conf": {"spark.sql.chunkBase64String.enabled": "false"}}
"""Base64 without line breaks, as in Flink."""
_FROM = "the public latency suite of Spark's real-time mode and Flink, query"

TRANSFORM = Workload(
    "transform", f"{_FROM} A: base64", transform, _feeds(10_000), transformed, spec={"spark": _SPARK}, paper=_PAPER
)
COUNT = Workload(
    "count",
    f"{_FROM} B: a count by time and payload, base64",
    count,
    _feeds(10_000, _block),
    counted,
    spec={"job": {"outputMode": "update"}, "spark": _SPARK},
    paper=_PAPER,
)
NUMBERED_COUNT = replace(
    COUNT,
    about=f"{_FROM} B, of payloads that each come once, so that each row is of one record",
    feeds=_feeds(10_000),
)
JOIN = Workload(
    "join",
    f"{_FROM} C: a join with a table of 10,000 rows, base64",
    join,
    _feeds(LOOKUP_ROWS + 100),  # some have no partner
    joined,
    spec={"spark": _SPARK},
    paper=_PAPER,
)
