"""The workloads of the literature as the bench measures them. Pure.

Their jobs, feeds and references are those of `bench.workloads` and `bench.nexmark`, and are defined there alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
from ruamel.yaml import YAML

from bench import tracing
from bench.analysis import Faults, Times, faults_of_rows, faults_of_rows_in_order
from bench.definition import TRICKLE, Job, Make, Sent, Workload
from bench.nexmark.draws import Numbers
from bench.nexmark.encode import values
from bench.nexmark.events import AUCTIONS, CYCLE, Stream, bids
from bench.nexmark.queries import records
from bench.records import PARTITIONS, Arrivals
from bench.tracing import Trace
from bench.workloads import base
from bench.workloads.base import BLOCK, Block, Feed, Record
from bench.workloads.latency import JOIN, NUMBERED_COUNT, TRANSFORM
from bench.workloads.lines import GREP, GROUPING
from bench.workloads.replication import MIB1, MIB3
from bench.workloads.sequences import SEQUENCES

Expected = Callable[[int, int], Numbers]
"""The codes of all rows, of a seed and how many records were sent."""
Order = Literal["any", "of a partition", "of a key"]
"""Which rows have to be in order, if they are in the same partition of the sink: those of the records of one partition of
the source, those of one key, or none. Rows without a key are in any order."""
_EVENTS = 1_000
"""Of Nexmark, that are made at once."""
_RARE = 500
"""Records/s while a system starts, where few records have a row."""


class Ahead:
    """Blocks of records by their numbers, the next of which is made in a thread while one is sent."""

    def __init__(self, make: Callable[[int], Block]) -> None:
        self._make = make
        self._pool = ThreadPoolExecutor(1, "ahead")
        self._next: Future[Block] = self._pool.submit(make, 0)
        self._number, self._block = -1, Block([], [], [])

    def get(self, number: int) -> Block:
        """Those who ask take one block after the other."""
        if number != self._number:
            self._number, self._block = number, self._next.result()
            self._next = self._pool.submit(self._make, number + 1)
        return self._block


def fed(make: Callable[[int, int], Block], size: int) -> Callable[[int], Make]:
    """Records from blocks of `size`. `make`: the block of a seed and a number."""

    def of(seed: int) -> Make:
        blocks = Ahead(lambda number: make(seed, number))

        def one(number: int, _created_ns: int) -> Sent:
            block, at = blocks.get(number // size), number % size
            return Sent(block.keys[at], block.values[at], block.partitions[at])

        return one

    return of


def events(seed: int, number: int) -> Block:
    """Nexmark's events round the partitions."""
    made = values(Stream(seed=seed), number * _EVENTS, _EVENTS)
    return Block([None] * _EVENTS, made, [at % PARTITIONS for at in range(_EVENTS)])


def codes_of(workload: base.Workload, trace: Trace, keeps_state: bool = False) -> Expected:
    """The codes of the rows that the reference has. `keeps_state`: whether it needs all records at once."""
    feed = workload.feeds[0]

    @lru_cache(maxsize=1)
    def codes(seed: int, sent: int) -> Numbers:
        blocks = _blocks(feed, seed, sent)
        parts: Iterable[Iterable[list[Record]]] = [blocks] if keeps_state else ([block] for block in blocks)
        return np.fromiter(_codes(workload, trace, parts), np.int64)

    return codes


def _codes(workload: base.Workload, trace: Trace, parts: Iterable[Iterable[list[Record]]]) -> Iterator[int]:
    for part in parts:
        for rows in workload.reference(part, "microBatch"):
            yield from (trace(row.key, row.value).number for row in rows)


def _blocks(feed: Feed, seed: int, sent: int) -> Iterator[list[Record]]:
    for number in range(-(-sent // BLOCK)):
        block = feed.make(feed, seed, number)
        rows = zip(block.partitions, block.keys, block.values, strict=True)
        made = [Record(feed.source, *row, base.FIRST_MS) for row in rows]
        yield made[: sent - number * BLOCK]


def judged(expected: Expected, order: Order) -> Callable[[Arrivals, int, int], Faults]:
    """What is missing, too many or out of order of the rows with these codes."""

    def faults(arrivals: Arrivals, seed: int, sent: int) -> Faults:
        wanted = expected(seed, sent)
        if order == "any":
            return faults_of_rows(arrivals, wanted)
        keys = arrivals["key"].astype(np.int64)
        first = keys if order == "of a key" else keys % PARTITIONS
        return faults_of_rows_in_order(arrivals, wanted, first * PARTITIONS + arrivals["partition"])

    return faults


def _traced(
    workload: base.Workload,
    trace: Trace,
    order: Order = "of a partition",
    step: int = 1,
    copies: bool = True,
    trickle: int = TRICKLE,
    keeps_state: bool = False,
    no_peers: str = "",
    no_lanes: str = "",
) -> Workload:
    feed = workload.feeds[0]
    job = Job(
        workload.job,
        (feed.source,),
        columns=("key", "value", "timestamp"),
        options=workload.options,
        updates=workload.spec.get("job", {}).get("outputMode") == "update",
        spec=workload.spec,
    )
    return Workload(
        job,
        fed(lambda seed, number: feed.make(feed, seed, number), BLOCK),
        judged(codes_of(workload, trace, keeps_state), order),
        trace,
        lambda arrivals, _seed, created: tracing.timed(arrivals, created, step),
        copies=copies,
        compression=feed.compression,
        trickle=trickle,
        no_peers=no_peers,
        no_real_time="" if "realTime" in workload.engines else "it refuses processors in Python",
        no_lanes=no_lanes,
    )


def _union(workload: base.Workload) -> Workload:
    """Of two sources whose rates have the same ratio, however fast they are fed."""
    first, second = workload.feeds

    def feed(seed: int) -> Make:
        of = [fed(partial(one.make, one), BLOCK)(seed) for one in (first, second)]

        def one(number: int, created_ns: int) -> Sent:
            turn, place = divmod(number, tracing.FIRST + 1)
            if place == tracing.FIRST:
                return of[1](turn, created_ns)._replace(source=1)
            return of[0](turn * tracing.FIRST + place, created_ns)

        return one

    return Workload(
        Job(workload.job, (first.source, second.source), options=workload.options, spec=workload.spec),
        feed,
        judged(_all, "of a key"),  # of a partition of a source, which stands in the place of the key
        tracing.of_union,
        lambda arrivals, _seed, created: tracing.timed(arrivals, created),
    )


def _nexmark(
    query: str, trace: Trace, numbers: Expected, order: Order, is_matched: bool = False, trickle: int = TRICKLE
) -> Workload:
    """`numbers` : of the events that have a row. `is_matched`: rows do not have them, but codes (`tracing.PRICES`)."""
    manifest = YAML(typ="safe").load(Path(__file__).parent / "nexmark" / f"{query}.yaml")
    (source,) = manifest["spec"]["sources"]
    reading = {name: source[name] for name in ("format", "schema") if name in source}

    def resolved(arrivals: Arrivals, seed: int, created: Times) -> Arrivals:
        if is_matched:
            wanted = numbers(seed, len(created))
            arrivals = tracing.matched(arrivals, _prices(seed, wanted), wanted)
        return tracing.timed(arrivals, created)

    return Workload(
        Job(getattr(records, query), (source["name"],), reading=reading),
        fed(events, _EVENTS),
        judged(numbers, order),
        trace,
        resolved,
        copies=query == "q0",
        trickle=trickle,
    )


def _prices(seed: int, numbers: Numbers) -> Numbers:
    made = bids(Stream(seed=seed), numbers)
    return made.auction * tracing.PRICES + made.price


def _all(_seed: int, sent: int) -> Numbers:
    return np.arange(sent)


def _bids(_seed: int, sent: int) -> Numbers:
    numbers = np.arange(sent)
    found: Numbers = numbers[numbers % CYCLE > AUCTIONS]
    return found


@lru_cache(maxsize=1)
def _selected(seed: int, sent: int) -> Numbers:
    made = bids(Stream(seed=seed), np.arange(sent))
    found: Numbers = made.number[made.auction % 123 == 0]
    return found


OF_THE_LITERATURE: Mapping[str, Workload] = {
    "suite-a": _traced(TRANSFORM, tracing.of_transform),
    "suite-b": _traced(
        NUMBERED_COUNT,
        tracing.of_count,
        order="any",
        no_lanes="a lane cannot compute alone what is grouped by payload, which is in all partitions",
    ),
    "suite-c": _traced(JOIN, tracing.of_join, copies=False),
    "grep": _traced(GREP, tracing.of_line, order="any", copies=False, trickle=_RARE),
    "grouping": _traced(GROUPING, tracing.of_group),
    "mib1": _traced(MIB1, tracing.of_map),
    **{f"mib1-{length}": _traced(MIB1.at(length), tracing.of_map) for length in ("length-2", "length-3", "length-4")},
    "mib3": _union(MIB3),
    "q0": _nexmark("q0", tracing.of_event, _all, "any"),
    "q1": _nexmark("q1", tracing.of_bid, _bids, "of a partition"),
    "q2": _nexmark("q2", tracing.of_price, _selected, "any", is_matched=True, trickle=_RARE),
    "sequences": _traced(
        SEQUENCES,
        tracing.of_sequence,
        order="of a key",
        step=tracing.EVENTS,
        copies=False,
        keeps_state=True,
        trickle=_RARE,
        no_peers="it needs the order of an epoch's records (`metadata.seq`), which only Tandem has",
    ),
}
"""By their names in the evaluation: `suite-a` to `suite-c` are `transform`, `count` and `join` of `bench.workloads`."""
