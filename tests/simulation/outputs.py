"""The failure-free output: what each epoch must show, and how the simulated engines compute it."""

from __future__ import annotations

from typing import NamedTuple

from tandem.protocol.values import Answers, EpochRange

OUTPUTS = 2
PROGRAMS = ("c0ffee", "decade", "facade")  # what a config says of the program that runs: the next one, and another one
QUESTION = "score"
_MASK = (1 << 64) - 1


class Row(NamedTuple):
    """One row of output."""

    epoch: int
    number: int
    value: int
    partition: int  # and position of the record that it is of
    position: int


def compute(state: int, what: EpochRange, answers: Answers, program: int = 0) -> tuple[int, list[list[Row]]]:
    """State and rows (of each output partition) of an epoch: any record too many, missing or misplaced changes both.

    So does any other answer of the outside world, and another one of the `PROGRAMS`.
    """
    state = mix(state, what.epoch + 7_919 * program, what.time_ms ^ what.seed)
    for answer in answers:
        state = mix(state, 0, int(answer or 0))
    rows: list[list[Row]] = [[] for _ in range(OUTPUTS)]
    index = 0
    for tp, end in what.ends.items():
        for position in range(what.starts.get(tp, 0), end):
            state = mix(state, tp.partition, position)
            rows[state % OUTPUTS].append(Row(what.epoch, index, state, tp.partition, position))
            index += 1
    return state, rows


def mix(state: int, a: int, b: int) -> int:
    """The state after something else has happened."""
    state = ((state ^ (a * 1_000_003 + b + 1)) * 0x9E3779B97F4A7C15) & _MASK
    return state ^ (state >> 29)
