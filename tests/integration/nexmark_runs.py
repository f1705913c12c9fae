"""Nexmark's queries on the engine of a replica: their manifests, streams that end, and random cuts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bench.nexmark
from bench.nexmark.encode import first_values
from bench.nexmark.events import BASE_MS, Stream
from bench.nexmark.reference import Row, answer, rows_of
from ruamel.yaml import YAML

from tandem.manifest import Manifest, parse
from tandem.testing import Record, Result, run_epochs
from unit.bench.nexmark_cases import LATER_MS, auction, bid, bid_id, person

PARTITIONS = 2
APART = 300
"""By how many events one partition may be ahead of the other: less than the watermark waits for, at `STREAM`'s rate."""
STREAM = Stream(rate=200)
TICK_MS = LATER_MS + 60_000
"""When the records come that close everything before."""
EPOCH_MS = 1_700


def manifest_of(query: str, engine: str = "microBatch", **job: str) -> Manifest:
    """The query's own, for an engine; `job`: fields of spec.job."""
    path = Path(bench.nexmark.__file__).with_name(f"{query}.yaml")
    tree: dict[str, Any] = YAML(typ="safe").load(path)
    tree["spec"]["engine"] = engine
    tree["spec"]["job"].update(job)
    return Manifest(parse(tree), path, path.parent)


def ticks() -> list[bytes]:
    """One record of each kind, an hour after all others: what ends a stream, with the epoch after it."""
    at = TICK_MS - BASE_MS
    return [person(0, at), auction(0, at, expires=at + 1, seller=-1), bid(0, at, auction=-1)]


def cut(count: int, seed: int) -> list[list[Record]]:
    """The first events in epochs of random lengths, each with random parts of the partitions, in the order of each."""
    chance = random.Random(seed)
    values = first_values(STREAM, count)
    ends = sorted(chance.sample(range(1, count), 6))
    epochs, done = [], [0] * PARTITIONS
    for end in (*ends, count):
        upto = [count if end == count else max(before, end - chance.randrange(APART)) for before in done]
        of = [(n, p) for p in range(PARTITIONS) for n in range(done[p], upto[p]) if n % PARTITIONS == p]
        epochs.append([Record(values[n], partition=p) for n, p in sorted(of)])
        done = upto
    return epochs


def run(manifest: Manifest, epochs: Sequence[Sequence[object]], times_ms: Sequence[int] = ()) -> Result:
    """The query's rows of these epochs, of one with `ticks`, and of an empty one, in which windows are published."""
    given = list(times_ms) or [BASE_MS + n * EPOCH_MS for n in range(len(epochs))]
    closing = [TICK_MS, TICK_MS + 1]
    inputs = {"events": [*map(list, epochs), ticks(), []]}
    return run_epochs(manifest, inputs, times_ms=[*given, *closing])


def published(result: Result) -> list[Row]:
    return rows_of([row.raw_value or b"" for row in result["out"]])


def expected(query: str, epochs: Sequence[Sequence[Record]]) -> list[Row]:
    """What the reference says of these epochs, of `EPOCH_MS` each, and of the ticks after them."""
    values = [[value_of(record) for record in epoch] for epoch in epochs]
    processed = {bid_id(value): BASE_MS + n * EPOCH_MS for n, epoch in enumerate(values) for value in epoch}
    return answer(query, [*(value for epoch in values for value in epoch), *ticks()], LATER_MS, processed)


def value_of(record: Record) -> bytes:
    assert isinstance(record.value, bytes)
    return record.value


def by(rows: Sequence[Row], column: str) -> Mapping[Any, list[Row]]:
    """The rows of each value of a column, in order."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found
