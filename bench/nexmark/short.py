"""Nexmark's persons and auctions in the bench's records, which have a place for each field; and the rows of queries 3 and 8.

The bench measures the latency of each row, so its two queries publish a row for each auction. Pure.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.nexmark.draws import Numbers
from bench.nexmark.encode import STATES
from bench.nexmark.events import CYCLE, FIRST_ID, Auctions, Stream, auctions, persons
from bench.records import WINDOW_EVENTS

_STREAM: Final = Stream()
_BLOCK: Final = 10_000
_CATEGORY, _NEAR = 10, ("OR", "ID", "CA")


def body(number: int) -> str:
    """Of event `number`: `P 0000001017 OR` (person: id, state), `A 0000001017 12` (auction: seller, category) or `B`."""
    return _bodies(number // _BLOCK)[number % _BLOCK]


def rows_of_q3(sent: int) -> Numbers:
    """The auctions in category 10 whose seller is in Oregon, Idaho or California, of the first `sent` events, ascending."""
    sold = _with_sellers(sent)
    is_near = np.isin(_states(sent), [STATES.index(state) for state in _NEAR])
    wanted: Numbers = sold.number[(sold.category == _CATEGORY) & _of_sellers(sold, is_near)]
    return wanted


def rows_of_q8(sent: int) -> Numbers:
    """The auctions of the first `sent` events whose seller is a new person of the same ten seconds, ascending."""
    sold = _with_sellers(sent)
    came = (sold.seller - FIRST_ID) * CYCLE
    wanted: Numbers = sold.number[(came < sent) & (came // WINDOW_EVENTS == sold.number // WINDOW_EVENTS)]
    return wanted


def _with_sellers(sent: int) -> Auctions:
    return auctions(_STREAM, np.arange(sent))


def _states(sent: int) -> Numbers:
    return persons(_STREAM, np.arange(0, sent, CYCLE)).state


def _of_sellers(sold: Auctions, is_wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether the seller of each auction was sent, too, and is wanted."""
    sellers = sold.seller - FIRST_ID
    found: npt.NDArray[np.bool_] = (sellers < is_wanted.size) & is_wanted[np.minimum(sellers, is_wanted.size - 1)]
    return found


@lru_cache(maxsize=2)
def _bodies(block: int) -> list[str]:
    numbers = np.arange(block * _BLOCK, (block + 1) * _BLOCK)
    bodies = list(repeat("B", _BLOCK))
    people, sold = persons(_STREAM, numbers), auctions(_STREAM, numbers)
    for number, person, state in zip(people.number.tolist(), people.id.tolist(), people.state.tolist(), strict=True):
        bodies[number % _BLOCK] = f"P {person:010d} {STATES[state]}"
    for number, seller, category in zip(
        sold.number.tolist(), sold.seller.tolist(), sold.category.tolist(), strict=True
    ):
        bodies[number % _BLOCK] = f"A {seller:010d} {category}"
    return bodies
