"""What has to hold of a run: of its inputs, its epochs, and its rows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bench.workloads.base import Engine, Record, Row, Workload, merged
from bench.workloads.compare import differences

Place = tuple[str, int]
"""A source and its partition, in the order of which an epoch's records are merged."""


_Value = TypeVar("_Value")


def of_lane(found: Mapping[Place, _Value], lane: int, lanes: int) -> dict[Place, _Value]:
    """What is of the partitions that a lane reads."""
    return {place: value for place, value in found.items() if place[1] % lanes == lane}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A row as a reader gets it: from which partition of the sink, and what its headers say of its epoch."""

    epoch: int
    index: int
    partition: int
    row: Row


@dataclass(frozen=True, slots=True)
class History:
    """What Kafka holds after a run.

    `inputs` : the records of each partition. `ends`: of each epoch, before which record of each partition it ends.
    `arrivals` : in the order of each partition of the sink. `taken_over`: epochs that more than one replica claimed.
    """

    inputs: Mapping[Place, Sequence[Record]]
    ends: Sequence[Mapping[Place, int]]
    arrivals: Sequence[Arrival]
    taken_over: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """Something that has to hold. `detail`: what was seen."""

    name: str
    passed: bool
    detail: str = ""

    def __str__(self) -> str:
        return f"{'exact  ' if self.passed else 'DIFFERS'} {self.name}: {self.detail}"


@dataclass(slots=True)
class _Epochs:
    """Records by epoch, and the first place where the epochs do not follow each other."""

    records: list[list[Record]] = field(default_factory=list)
    fault: str = ""


def judge(workload: Workload, engine: Engine, sent: Sequence[Record], history: History) -> Iterator[Check]:
    """All checks, one after the other."""
    yield _inputs(sent, history)
    epochs = _cut(history)
    yield Check(
        "epochs", not epochs.fault, epochs.fault or f"{len(epochs.records)} of them, every record in exactly one"
    )
    came: list[list[Row]] = [[] for _ in epochs.records]
    stray = 0
    for arrival in history.arrivals:
        if 0 <= arrival.epoch < len(came):
            came[arrival.epoch].append(arrival.row)
        else:
            stray += 1
    found = differences(workload.reference(epochs.records, engine), came)
    rows = f"{len(history.arrivals)} came, {found}" + (f"; {stray} of an epoch that was not cut" if stray else "")
    yield Check("rows", found.none and not stray, rows)
    yield _partitions(history)


def _inputs(sent: Sequence[Record], history: History) -> Check:
    """Whether Kafka has what the feeds make, byte for byte."""
    wanted: dict[Place, list[tuple[bytes | None, bytes]]] = {}
    for record in sent:
        wanted.setdefault((record.source, record.partition), []).append((record.key, record.value))
    stored = {place: [(r.key, r.value) for r in records] for place, records in history.inputs.items() if records}
    other = sorted(place for place in {*wanted, *stored} if wanted.get(place) != stored.get(place))
    detail = f"{len(sent)} records" if not other else f"{other[0]} has other records than were made"
    return Check("inputs", not other, detail)


def _cut(history: History) -> _Epochs:
    """Divide the inputs by the epochs' ends: each begins where the last one ended, and the last ends where the inputs do."""
    found, position = _Epochs(), dict.fromkeys(history.inputs, 0)
    for number, ends in enumerate(history.ends):
        parts = []
        for place in sorted(history.inputs):
            start, end = position[place], ends.get(place, position[place])
            if not start <= end <= len(history.inputs[place]):
                found.fault = found.fault or f"epoch {number} has {place} from {start} to {end}"
            parts.append(history.inputs[place][start:end])
            position[place] = end
        found.records.append(merged(parts))
    for place, records in history.inputs.items():
        if position[place] != len(records):
            found.fault = found.fault or f"no epoch has the records of {place} from {position[place]} on"
    return found


def _partitions(history: History) -> Check:
    """Whether every key is in one partition of the sink, and epochs and rows are in order in each."""
    places: dict[bytes, int] = {}
    last: dict[int, tuple[int, int]] = {}
    for arrival in history.arrivals:
        key, row = arrival.row.key, (arrival.epoch, arrival.index)
        if key is not None and places.setdefault(key, arrival.partition) != arrival.partition:
            return Check("partitions", False, f"key {key!r} is in {places[key]} and {arrival.partition}")
        if row <= last.get(arrival.partition, (-1, -1)):
            return Check("partitions", False, f"row {row} stands after {last[arrival.partition]}")
        last[arrival.partition] = row
    return Check("partitions", True, f"{len(places)} keys, each in one; rows in order")
