"""Event sequences (data Artisans): each user's events have to follow a state machine; one that does not raises an alert.

Users log in, use the service some times, and log out. Of a thousand events one is of another kind than it should be, as the
seed says: exactly those raise alerts. One record that is lost, repeated or out of order raises one that should not be there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from bench.workloads.base import Block, Engine, Epochs, Feed, Numbers, Row, Workload, numbers_of
from bench.workloads.text import constant, digits, rows, table

KINDS = ("login", "usage", "leave")
"""All of one length: they are found at a place of the value."""
_AFTER = {"login": ("leave",), "usage": ("login", "usage"), "leave": ("login", "usage")}
_FIRST = "leave"
_WRONG_OF = 1_000


def check(events: DataFrame) -> DataFrame:
    """An alert for each event that may not follow the one before it; for each other `leave`, how long the visit was."""
    text = F.col("value").cast("string")
    parsed = events.select(
        F.col("key").cast("string").alias("user"),
        F.substring(text, 1, 12).cast("long").alias("number"),
        F.substring(text, 14, 5).alias("kind"),
        "metadata.seq",
    )
    reported = parsed.groupBy("user").transformWithState(Checker(), Checker.OUTPUT, "append", "None")
    return reported.select(F.col("user").alias("key"), "value")


class Checker(StatefulProcessor):
    """Follows one user: the kind of the last event, and how many events the visit has so far."""

    OUTPUT = "user STRING, value STRING"

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark before the first row."""
        self._state = handle.getValueState("visit", "last STRING, events INT")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[SparkRow],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[SparkRow]:
        """One user's events of one epoch; `seq` is their order."""
        last, events = self._state.get() or (_FIRST, 0)
        for row in sorted(rows, key=lambda row: row.seq):
            events = 1 if row.kind == "login" else events + 1
            if last not in _AFTER[row.kind]:
                yield SparkRow(user=key[0], value=f"alert {row.number} {last}-{row.kind}")
            elif row.kind == "leave":
                yield SparkRow(user=key[0], value=f"visit {row.number} {events}")
            last = row.kind
        self._state.update((last, events))

    def close(self) -> None:
        """Nothing to release."""


def checked(epochs: Epochs, _engine: Engine) -> list[list[Row]]:
    """The same without state of Spark: all events of a user, in their order."""
    visits: dict[bytes | None, list[str]] = {}
    expected: list[list[Row]] = []
    for epoch in epochs:
        expected.append([])
        for record in epoch:
            number, kind = record.value.decode().split()[:2]
            visit = visits.setdefault(record.key, [])
            before = visit[-1] if visit else _FIRST
            if kind == "login":
                visit.clear()
            visit.append(kind)
            if (before, kind) not in _LEGAL:
                expected[-1].append(Row(record.key, f"alert {int(number)} {before}-{kind}".encode()))
            elif kind == "leave":
                expected[-1].append(Row(record.key, f"visit {int(number)} {len(visit)}".encode()))
    return expected


_LEGAL = {("leave", "login"), ("login", "usage"), ("usage", "usage"), ("login", "leave"), ("usage", "leave")}


def _block(feed: Feed, seed: int, number: int) -> Block:
    """Each user's turn comes once in every `keys` events; a visit has from 3 to 9 of them, always as many of one user."""
    numbers = numbers_of(number)
    users, turns = numbers % feed.keys, numbers // feed.keys
    lengths = 3 + users % 7
    place = turns % lengths
    right = np.where(place == 0, 0, np.where(place == lengths - 1, 2, 1))
    drawn = _mixed(numbers, seed)
    kinds = np.where(drawn % _WRONG_OF == 0, (right + 1 + (drawn >> 20) % 2) % 3, right)
    names = [b"user-%d" % user for user in range(feed.keys)]
    space = constant(b" ", len(numbers))
    parts = (digits(numbers, 12), space, table([kind.encode() for kind in KINDS])[kinds], space)
    values = rows(parts, feed.record_bytes)
    return Block([names[user] for user in users.tolist()], values, (users % feed.partitions).tolist())


def _mixed(numbers: Numbers, seed: int) -> Numbers:
    """A random number of each number, from 0 to 2**31: the finaliser of splitmix64."""
    mixed = numbers.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed >> np.uint64(33)).astype(np.int64)


SEQUENCES = Workload(
    "sequences",
    "data Artisans: alerts for events that do not follow a state machine; 30,000 records/s on a core, a kill every 5 min",
    check,
    (Feed("events", _block, rate=2_000, keys=1_000, record_bytes=32),),
    checked,
    engines=("microBatch",),
    paper={"events": 30_000},
)
