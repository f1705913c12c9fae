"""What a workload is: a job, its feeds, and a reference that computes the same rows without Spark. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Engine = Literal["microBatch", "realTime"]
Numbers = npt.NDArray[np.int64]

BLOCK = 10_000
"""Records that are made at once."""
FIRST_MS = 1_704_067_200_000
"""When record 0 of every feed is due: 2024-01-01T00:00:00Z."""
_SECOND_NS = 1_000_000_000


class Record(NamedTuple):
    """A record of a source, as Kafka has it. `timestamp_ms`: Unix, ms."""

    source: str
    partition: int
    key: bytes | None
    value: bytes
    timestamp_ms: int


class Row(NamedTuple):
    """A row of the sink `out`, with the headers that the job gives it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


Epochs = Iterable[Sequence[Record]]
"""The records of each epoch, in the order that `merged` gives them."""
Reference = Callable[[Epochs, Engine], list[list[Row]]]
"""The rows of each epoch. The order of rows counts among those of one key; rows without a key are in any order."""


class Block(NamedTuple):
    """Records that follow each other: of each its key, its value and its partition."""

    keys: list[bytes | None]
    values: list[bytes]
    partitions: list[int]


@dataclass(frozen=True, slots=True)
class Feed:
    """How one source is fed. The same seed gives the same bytes.

    `make` : the block of a number, `BLOCK` records, of this feed and a seed.
    `rate` : records/s, by which records are due. `schedule`: (second, records/s), in the place of one rate.
    `compression` : of what is sent; it saves time where values are long.
    `keys`, `record_bytes` : how many keys there are, how long a value is; a maker that has no use for one leaves it.
    """

    source: str
    make: Callable[[Feed, int, int], Block]
    rate: float = 5_000.0
    keys: int = 10_000
    record_bytes: int = 64
    partitions: int = 2
    schedule: tuple[tuple[float, float], ...] = ()
    compression: Literal["none", "lz4"] = "none"

    def records(self, seed: int, count: int) -> Iterator[Record]:
        """The first `count` records, each with the time at which it is due."""
        for number in range(-(-count // BLOCK)):
            block = self.make(self, seed, number)
            numbers = numbers_of(number)[: count - number * BLOCK]
            times = (due_ns(self, numbers) // 1_000_000).tolist()
            rows = zip(block.partitions, block.keys, block.values, times, strict=False)
            yield from (Record(self.source, *row) for row in rows)


@dataclass(frozen=True, slots=True)
class Variant:
    """A point of a sweep. `options`: of the job; `spec`: of the manifest; `rates`: of sources, records/s."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """A job of the literature.

    `job` : a function of a module below `bench.workloads`, which `spec.job` names.
    `feeds` : with the rates of a machine with two cores; `paper`: the published rates of those that differ.
    `engines` : those that run the job.
    `spec` : what the manifest has beside the job, its sources and its sink `out`.
    `sweep` : what the publication varies. `about`: where it is from, in a sentence.
    """

    name: str
    about: str
    job: Callable[..., Any]
    feeds: tuple[Feed, ...]
    reference: Reference
    engines: tuple[Engine, ...] = ("microBatch", "realTime")
    options: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[str, float] = field(default_factory=dict)
    sweep: tuple[Variant, ...] = ()

    def at_scale(self, scale: str) -> Workload:
        """With the rates of `paper` or `laptop`. Raises `ValueError`."""
        if scale not in ("laptop", "paper"):
            raise ValueError(f"{scale!r} is no scale: laptop, or paper")
        return self.with_rates(self.paper if scale == "paper" else {})

    def with_rates(self, rates: Mapping[str, float]) -> Workload:
        """With other rates of some sources; their schedules then do not count."""
        feeds = tuple(replace(f, rate=rates[f.source], schedule=()) if f.source in rates else f for f in self.feeds)
        return replace(self, feeds=feeds)

    def at(self, variant: str) -> Workload:
        """At a point of its sweep. Raises `ValueError`."""
        found = next((one for one in self.sweep if one.name == variant), None)
        if found is None:
            raise ValueError(
                f"{self.name} has no {variant!r}: {', '.join(one.name for one in self.sweep) or 'no sweep'}"
            )
        options, spec = {**self.options, **found.options}, {**self.spec, **found.spec}
        return replace(self.with_rates(found.rates), sweep=(), options=options, spec=spec)

    def records(self, seed: int, count: int) -> list[Record]:
        """The first `count` records of all feeds together: each has as many of them as its rate says, at least one."""
        parts = shares([feed.rate for feed in self.feeds], count)
        return [one for feed, part in zip(self.feeds, parts, strict=True) for one in feed.records(seed, part)]


def shares(rates: Sequence[float], count: int) -> list[int]:
    """`count` divided as the rates are, each part at least 1; the first takes what is left."""
    parts = [max(1, int(count * rate / sum(rates))) for rate in rates]
    return [count - sum(parts[1:]), *parts[1:]]


def numbers_of(block: int) -> Numbers:
    """The numbers of a block's records."""
    return np.arange(block * BLOCK, (block + 1) * BLOCK)


def chance(feed: Feed, seed: int, block: int) -> np.random.Generator:
    """The random numbers of a block."""
    return np.random.default_rng((seed, block, zlib.crc32(feed.source.encode())))


def due_ns(feed: Feed, numbers: Numbers) -> Numbers:
    """When records are due, Unix ns. Behind the end of a schedule its last rate goes on."""
    if not feed.schedule:
        return FIRST_MS * 1_000_000 + (numbers * (_SECOND_NS / feed.rate)).astype(np.int64)
    starts = np.array([second for second, rate in feed.schedule])
    rates = np.array([rate for _, rate in feed.schedule])
    sent = np.concatenate([[0.0], np.cumsum(np.diff(starts) * rates[:-1])])
    step = np.searchsorted(sent, numbers, side="right") - 1
    seconds = starts[step] + (numbers - sent[step]) / rates[step]
    return np.asarray(FIRST_MS * 1_000_000 + (seconds * _SECOND_NS).astype(np.int64))


def merged(parts: Sequence[Sequence[Record]]) -> list[Record]:
    """An epoch's records in their order: round robin over the partitions, which are in the order of topic and number."""
    longest = max(map(len, parts), default=0)
    return [part[at] for at in range(longest) for part in parts if at < len(part)]
