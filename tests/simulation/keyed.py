"""State that can be divided: a value for each key, and the sink that knows what each key must show, whatever the lanes are.

A key's value counts its records, and is a hash of them in their order. So a record that is lost, taken twice, or out of
order changes every later row of its key; the lanes, epochs and states that it went through do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from simulation.invariants import InvariantError
from simulation.outputs import OUTPUTS, Row, mix
from simulation.sink import Sink
from tandem.kafka.partitioners import PARTITIONERS
from tandem.protocol.lanes import came_from, only_merges
from tandem.protocol.values import EpochRange

if TYPE_CHECKING:
    from simulation.world import World

INPUTS = 12  # partitions: a multiple of each number of lanes
_KEYS = 3  # of a partition
_WIDTH = 64
_VALUE = (1 << _WIDTH) - 1
_COUNT = (1 << 16) - 1
_PARTITIONER = PARTITIONERS["murmur2"]


@cache
def keys() -> tuple[bytes, ...]:
    """All keys, those of the first partition first."""
    found: dict[int, list[bytes]] = {partition: [] for partition in range(INPUTS)}
    number = 0
    while any(len(some) < _KEYS for some in found.values()):
        key = b"%d" % number
        found[_PARTITIONER.partition(key, INPUTS)].append(key)
        number += 1
    return tuple(key for some in found.values() for key in some[:_KEYS])


def number_of(partition: int, position: int) -> int:
    """Which of the keys a record has."""
    return partition * _KEYS + position % _KEYS


def value_of(state: int, key: int) -> int:
    """The value of a key; 0: it has none."""
    return state >> (key * _WIDTH) & _VALUE


def after(value: int, position: int) -> int:
    """The value of a key after another one of its records."""
    return mix(value, 1, position) & ~_COUNT | (value & _COUNT) + 1


def compute(state: int, what: EpochRange) -> tuple[int, list[list[Row]]]:
    """State and rows of an epoch; an epoch without records changes nothing."""
    rows: list[list[Row]] = [[] for _ in range(OUTPUTS)]
    index = 0
    for tp, end in what.ends.items():
        for position in range(what.starts.get(tp, 0), end):
            key = number_of(tp.partition, position)
            value = after(value_of(state, key), position)
            state = _with(state, key, value)
            rows[key % OUTPUTS].append(Row(what.epoch, index, value, tp.partition, position))
            index += 1
    return state, rows


def _with(state: int, key: int, value: int) -> int:
    return state ^ (value_of(state, key) ^ value) << (key * _WIDTH)


def divided(states: Mapping[int, int], lane: int, lanes: int, before: int, every_key: bool = False) -> int:
    """The state of a new lane, of those of the lanes before; `every_key`: also those that are another lane's."""
    state = 0
    for old in came_from(lane, lanes, before):
        for number, key in enumerate(keys()):
            is_mine = only_merges(lanes, before) or _PARTITIONER.partition(key, lanes) == lane
            if (is_mine or every_key) and (value := value_of(states.get(old, 0), number)):
                state = _with(state, number, value)
    return state


def check_keys(state: int, lane: int, lanes: int) -> None:
    """A lane has no key of another one."""
    for number, key in enumerate(keys()):
        if value_of(state, number) and _PARTITIONER.partition(key, lanes) != lane:
            raise InvariantError(f"lane {lane} of {lanes} has the state of key {key!r}, which is another's")


class KeyedSink(Sink):
    """Each key shows all of its records, each once and in order, and the value that counts them."""

    def __init__(self, site) -> None:  # type: ignore[no-untyped-def]
        super().__init__(site)
        self._values = [0] * len(keys())

    def _on_visible(self, output: int, written: tuple[World, Row]) -> None:
        world, row = written
        key = number_of(row.partition, row.position)
        count = self._values[key] & _COUNT
        if row.position != count * _KEYS + key % _KEYS:
            raise InvariantError(f"{row} of {world.job} is of key {keys()[key]!r}, of which {count} records were shown")
        value = after(self._values[key], row.position)
        if row.value != value:
            raise InvariantError(
                f"{row} of {world.job} counts {row.value & _COUNT} of key {keys()[key]!r}: not {count + 1}"
            )
        self._values[key] = value
        super()._on_visible(output, written)
