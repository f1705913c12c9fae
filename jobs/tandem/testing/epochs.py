"""A test's inputs, cut into epochs: by the test, or in another way, to see whether that changes anything. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

from tandem.manifest import SourceSpec
from tandem.testing.records import Placed, Record, placed, record_of

Inputs: TypeAlias = Mapping[str, Sequence[object]]
"""Source → records, or lists of records, as `records` says. Lists of several kinds have no closer type."""

FIRST_MS: Final = 1_704_067_200_000
"""2024-01-01T00:00:00Z, the time of epoch 0 if the test names none."""
APART_MS: Final = 1_000
"""Between two epochs whose times the test does not name."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch of a test: its time (Unix, ms), its random seed, and its records."""

    number: int
    time_ms: int
    seed: int
    records: tuple[Placed, ...]


def cut(
    inputs: Inputs,
    sources: Sequence[SourceSpec],
    cuts: Sequence[int] | None = None,
    times_ms: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Epoch]:
    """The epochs of `inputs`; see `run_epochs`. Raises `ValueError`, `TypeError`."""
    known = {source.name: source for source in sources}
    unknown = sorted(set(inputs) - set(known))
    if unknown:
        raise ValueError(f"the job has no source {unknown[0]!r}. Its sources are {sorted(known)}")
    parts = {name: _parts(name, given, cuts) for name, given in inputs.items()}
    count = max(map(len, parts.values()), default=0)
    times = list(range(FIRST_MS, FIRST_MS + count * APART_MS, APART_MS)) if times_ms is None else list(times_ms)
    drawn = list(range(count)) if seeds is None else list(seeds)
    for what, numbers in (("times_ms", times), ("seeds", drawn)):
        if len(numbers) != count:
            raise ValueError(f"{what} has {len(numbers)} values for {count} epochs. Give one for each")
    if any(later < earlier for earlier, later in pairwise(times)):
        raise ValueError(f"times_ms goes back: {times}. The log never does")
    offsets = Counter[tuple[str, int]]()
    return [
        Epoch(
            number,
            times[number],
            drawn[number],
            tuple(
                _placed(record, known[name], offsets, times[number], f"record {index} of {name} in epoch {number}")
                for name, of_source in parts.items()
                for index, record in enumerate(of_source[number] if number < len(of_source) else ())
            ),
        )
        for number in range(count)
    ]


def cut_otherwise(epochs: Sequence[Epoch]) -> list[Epoch]:
    """The same records in other epochs: all in one; or, where they were in one, in two."""
    records = [record for epoch in epochs for record in epoch.records]
    if sum(bool(epoch.records) for epoch in epochs) > 1:
        return [replace(epochs[0], number=0, records=tuple(records))]
    half = len(records) // 2
    # The records of a partition stay in the order of their offsets: they are in it here.
    parts = [tuple(records[:half]), tuple(records[half:])]
    return [Epoch(n, FIRST_MS + n * APART_MS, n, part) for n, part in enumerate(parts)]


def _parts(name: str, given: object, cuts: Sequence[int] | None) -> list[list[object]]:
    """The records of a source, epoch by epoch."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise TypeError(
            f"inputs[{name!r}] is a {type(given).__name__}. Give a list of records, or a list for each epoch"
        )
    lists = sum(isinstance(one, list) for one in given)
    if 0 < lists < len(given):
        raise TypeError(
            f"inputs[{name!r}] has lists and records side by side. A list is an epoch: give one or the other"
        )
    if lists:
        if cuts is not None:
            raise ValueError(f"inputs[{name!r}] has a list for each epoch, so leave cuts out")
        return [list(one) for one in given]
    if cuts is None:
        return [list(given)]
    if any(later < earlier for earlier, later in pairwise((0, *cuts))):
        raise ValueError(f"cuts {list(cuts)}: each is a number of records, and none is less than the one before it")
    ends = [*cuts] if cuts and cuts[-1] >= len(given) else [*cuts, len(given)]
    return [list(given[start:end]) for start, end in pairwise((0, *ends))]


def _placed(given: object, source: SourceSpec, offsets: Counter[tuple[str, int]], time_ms: int, where: str) -> Placed:
    record: Record = record_of(given, where)
    topic = record.topic or source.topics[0]
    if topic not in source.topics:
        raise ValueError(f"{where} is of topic {topic!r}. The topics of {source.name} are {list(source.topics)}")
    offset = offsets[topic, record.partition]
    offsets[topic, record.partition] += 1
    return placed(record, topic, offset, time_ms, where)
