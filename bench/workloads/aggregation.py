"""The rows of an aggregation by key in output mode update, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from bench.workloads.base import Engine, Epochs, Record, Row

K = TypeVar("K", bound=Hashable)
S = TypeVar("S")


def updates(
    epochs: Epochs,
    engine: Engine,
    key: Callable[[Record], K],
    add: Callable[[S | None, Record], S],
    row: Callable[[K, S], Row],
) -> list[list[Row]]:
    """Each group's row: with the real-time engine after each record, in micro-batches once for each epoch that changes it.

    `key` : of a record's group; `add`: its state after one more record; `row`: of its state.
    """
    states: dict[K, S] = {}
    expected: list[list[Row]] = []
    for epoch in epochs:
        rows: list[Row] = []
        changed: dict[K, None] = {}
        for record in epoch:
            group = key(record)
            states[group] = add(states.get(group), record)
            changed[group] = None
            if engine == "realTime":
                rows.append(row(group, states[group]))
        expected.append(rows if engine == "realTime" else [row(group, states[group]) for group in changed])
    return expected
