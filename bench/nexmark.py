"""Nexmark's events, as the generator of Beam makes them, and the rows of its queries 3 and 8. Pure.

Of every fifty events one is a person, three are auctions, the rest bids. Event `n` is made from `n` alone: the number
of events that were sent decides what has to come out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.records import WINDOW_EVENTS

_EVENTS, _AUCTIONS = 50, 3
_FIRST_ID, _FIRST_CATEGORY, _CATEGORIES = 1_000, 10, 5
_ACTIVE_PEOPLE, _ID_LEAD = 1_000, 10
_HOT_SELLERS, _HOT_EVERY = 4, 100
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CATEGORY, _NEAR = 10, ("OR", "ID", "CA")


@dataclass(frozen=True, slots=True)
class Auction:
    """Who sells, and in which category. `seller` counts persons from 0; it may be one of the next ten to come."""

    seller: int
    category: int


def body(number: int) -> str:
    """Of event `number`: `P 0000001017 OR` (person: id, state), `A 0000001017 12` (auction: seller, category) or `B`."""
    if number % _EVENTS == 0:
        person = number // _EVENTS
        return f"P {_FIRST_ID + person:010d} {_state(person)}"
    if number % _EVENTS <= _AUCTIONS:
        auction = _auction(number)
        return f"A {_FIRST_ID + auction.seller:010d} {auction.category}"
    return "B"


def rows_of_q3(sent: int) -> npt.NDArray[np.int64]:
    """The auctions in category 10 whose seller is in Oregon, Idaho or California, of the first `sent` events, ascending."""
    return _auctions(sent, lambda _number, auction: auction.category == _CATEGORY and _state(auction.seller) in _NEAR)


def rows_of_q8(sent: int) -> npt.NDArray[np.int64]:
    """The auctions of the first `sent` events whose seller is a new person of the same ten seconds, ascending."""
    return _auctions(sent, lambda number, auction: auction.seller * _EVENTS // WINDOW_EVENTS == number // WINDOW_EVENTS)


def _auctions(sent: int, wanted: Callable[[int, Auction], bool]) -> npt.NDArray[np.int64]:
    """The numbers of those auctions whose seller was sent too, and that are wanted."""
    found = [
        number
        for number in range(sent)
        if 0 < number % _EVENTS <= _AUCTIONS
        and (auction := _auction(number)).seller * _EVENTS < sent
        and wanted(number, auction)
    ]
    return np.array(found, np.int64)


def _state(person: int) -> str:
    return random.Random(person * _EVENTS).choice(_STATES)


def _auction(number: int) -> Auction:
    chance = random.Random(number)
    people = number // _EVENTS + 1
    if chance.randrange(_HOT_SELLERS):
        seller = (people - 1) // _HOT_EVERY * _HOT_EVERY
    else:
        active = min(people, _ACTIVE_PEOPLE)
        seller = people - active + chance.randrange(active + _ID_LEAD)
    return Auction(seller, _FIRST_CATEGORY + chance.randrange(_CATEGORIES))
