"""What the bench feeds and reads: records of 200 bytes with a number and their time of creation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import numpy as np
import numpy.typing as npt

KEYS = 10_000
PARTITIONS = 2
VALUE_BYTES = 200
WINDOW_EVENTS = 10_000
"""In ten seconds of event time: records are a millisecond apart in that, however fast they are fed."""
CREATED_AT, CREATED_LENGTH = 14, 19
BODY_AT = CREATED_AT + CREATED_LENGTH + 1
"""Where a value has its time of creation and its body, from 1 as SQL counts."""
ITEM_LENGTH = len('{"event": "view", "item": 1000000000}')
_EVENTS = ("view", "sold", "kept")
_BLOCK = 65_536

ARRIVAL = np.dtype(
    [("number", "<i8"), ("created_ns", "<i8"), ("arrived_ns", "<i8"), ("key", "<i4"), ("partition", "<i4")]
)
"""One record as it arrived. `number`: its place in the feed (identity), the count of its key (count), or a code from which
the record follows that caused it (`bench.tracing`)."""

TIME = np.dtype("<i8")
"""A time of creation (Unix, ns), as the feeder keeps it."""

Arrivals = npt.NDArray[np.void]


def keys(seed: int) -> Iterator[int]:
    """The endless sequence of key numbers of a seed, each below `KEYS`."""
    for block in count():
        yield from np.random.default_rng((seed, block)).integers(0, KEYS, _BLOCK).tolist()


def first_keys(seed: int, records: int) -> npt.NDArray[np.int64]:
    """The first `records` of `keys(seed)`, shape (records,)."""
    return np.fromiter(islice(keys(seed), records), np.int64, records)


def key_bytes(key: int) -> bytes:
    """`key-17`."""
    return b"key-%d" % key


def input_partition(key: int) -> int:
    """All records of a key take one partition, so that each key has an order."""
    return key % PARTITIONS


def encode(number: int, created_ns: int, body: str = "") -> bytes:
    """A value of `VALUE_BYTES` bytes: number, time of creation (Unix, ns), `body`, padding; each has its place."""
    return f"{number:012d} {created_ns:019d} {body}".ljust(VALUE_BYTES, "x").encode()


def item(number: int) -> str:
    """The body of a record as JSON, `ITEM_LENGTH` long: one event in three is a view."""
    return f'{{"event": "{_EVENTS[number % len(_EVENTS)]}", "item": {1_000_000_000 + number % 1_000_000}}}'


def views(sent: int) -> npt.NDArray[np.int64]:
    """The numbers of the views among the first `sent` records, ascending."""
    return np.arange(0, sent, len(_EVENTS))


def decode(key: bytes, value: bytes) -> tuple[int, int, int]:
    """Number, time of creation (Unix, ns) and key number of a record that arrived."""
    number, created, *_ = value.split(b" ", 2)
    return int(number), int(created), int(key[4:])
