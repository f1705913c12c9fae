"""The micro-benchmarks of active replication in Flink (Rosinosky et al.): maps that change nothing, unions of two sources.

A record has a random key, and a value of an id (source and number), and of when it is due, in ms and in ns.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bench.workloads.base import Block, Engine, Epochs, Feed, Row, Variant, Workload, chance, due_ns, numbers_of
from bench.workloads.text import constant, digits, rows

_SCHEDULE = ((0.0, 500.0), (30.0, 500.0), (60.0, 250.0), (90.0, 0.0), (180.0, 250.0), (210.0, 500.0), (240.0, 1_000.0))
_HEARTBEATS_MS = (5, 10, 50, 100)
_HEARTBEAT = {"ordering": {"mode": "heartbeat"}}


def maps(events: DataFrame, ctx: Any) -> DataFrame:
    """`length` maps after each other. Each reverses the text twice: work that Spark's optimiser leaves in the plan."""
    value = F.col("value").cast("string")
    for _ in range(int(ctx.options["length"])):
        value = F.reverse(F.reverse(value))
    return events.select("key", value.cast("binary").alias("value"))


def united(first: DataFrame, second: DataFrame, ctx: Any) -> DataFrame:
    """Both sources together, through the same maps."""
    return maps(first.select("key", "value").unionByName(second.select("key", "value")), ctx)


def copies(epochs: Epochs, _engine: Engine) -> list[list[Row]]:
    """Every record as it is."""
    return [[Row(record.key, record.value) for record in epoch] for epoch in epochs]


def copies_by_source(epochs: Epochs, engine: Engine) -> list[list[Row]]:
    """The same, of an epoch first the records of the first source: a union has its rows in the order of its parts."""
    return copies([sorted(epoch, key=lambda record: record.source) for epoch in epochs], engine)


def _block(feed: Feed, seed: int, number: int) -> Block:
    """Round robin over the partitions: the rebalancing."""
    numbers = numbers_of(number)
    due = due_ns(feed, numbers)
    names = [b"key-%d" % key for key in range(feed.keys)]
    drawn = chance(feed, seed, number).integers(0, feed.keys, len(numbers)).tolist()
    source, space = constant(f"{feed.source}-".encode(), len(numbers)), constant(b" ", len(numbers))
    parts = (source, digits(numbers, 10), space, digits(due // 1_000_000, 13), space, digits(due, 19))
    values = rows(parts, feed.record_bytes)
    return Block([names[key] for key in drawn], values, (numbers % feed.partitions).tolist())


_ONE = (Feed("events", _block),)
_LENGTHS = tuple(Variant(f"length-{length}", {"length": str(length)}) for length in range(1, 5))

_OPTIONS = {"length": "1"}
_mapped = partial(Workload, job=maps, feeds=_ONE, reference=copies, options=_OPTIONS)
_united = partial(Workload, job=united, reference=copies_by_source, options=_OPTIONS)

MIB1 = _mapped(
    "mib1",
    "Active replication in Flink, mib1: 1 to 4 maps after each other, 5,000 records/s",
    sweep=(*_LENGTHS, Variant("heartbeat", spec=_HEARTBEAT)),
)
MIB2 = _mapped(
    "mib2",
    "Active replication in Flink, mib2: one map, in 1 to 4 tasks",
    engines=("microBatch",),
    spec={"spark": {"parallelism": 2}},
    sweep=(
        *(Variant(f"parallelism-{count}", spec={"spark": {"parallelism": count}}) for count in range(1, 5)),
        Variant("fault", {"length": "3"}, {"spark": {"parallelism": 2}}),
    ),
)
MIB3 = _united(
    "mib3",
    "Active replication in Flink, mib3: two sources of very different rates together, 10 to 10,000 and 5 records/s",
    feeds=(Feed("first", _block, rate=1_000), Feed("second", _block, rate=5)),
    sweep=tuple(Variant(f"first-{rate}", rates={"first": rate}) for rate in (10, 100, 1_000, 5_000, 10_000)),
)
HEARTBEAT = _mapped(
    "heartbeat",
    "Active replication in Flink: the period of heartbeats, 5 to 100 ms, with 1 to 4 maps",
    spec={"ordering": {"mode": "heartbeat", "heartbeatPeriod": "10ms"}},
    sweep=tuple(
        Variant(
            f"{period}ms-length-{length}",
            {"length": str(length)},
            {"ordering": {"mode": "heartbeat", "heartbeatPeriod": f"{period}ms"}},
        )
        for period in _HEARTBEATS_MS
        for length in range(1, 5)
    ),
)
VARYING = _united(
    "varying",
    "Active replication in Flink: two sources of 500 records/s, of which one stops for 90 s and comes back",
    feeds=(Feed("first", _block, rate=500, schedule=_SCHEDULE), Feed("second", _block, rate=500)),
    spec={"ordering": {"mode": "heartbeat", "heartbeatPeriod": "10ms"}},
    sweep=tuple(
        Variant(f"{period}ms", spec={"ordering": {"mode": "heartbeat", "heartbeatPeriod": f"{period}ms"}})
        for period in _HEARTBEATS_MS
    ),
)
