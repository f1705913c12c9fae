"""Nexmark's events, as the generator of Beam makes them, many at a time. Pure.

Of every fifty events one is a person, three are auctions, the rest bids. Event `n` is made from `n` and the seed alone: any
part of the stream can be made, by anybody, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.nexmark.draws import Draws, Numbers

CYCLE: Final = 50
AUCTIONS: Final = 3
"""In a cycle: after one person, and before the bids."""
FIRST_ID: Final = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
BASE_MS: Final = 1_436_918_400_000
"""2015-07-15T00:00:00Z, the time of event 0 (Unix, ms)."""
LETTERS_KEPT: Final = 4_096
"""Where texts of random letters begin: one of so many places."""

_HOT_AUCTIONS, _HOT_SELLERS, _HOT_BIDDERS = 2, 4, 4
_HOT_EVERY: Final = 100
_ID_LEAD: Final = 10
_PRICES: Final = np.rint(10 ** (6 * np.arange(2**16) / 2**16) * 100).astype(np.int64)
"""round(10^(6u) * 100) for each u of sixteen bits: a table, since powers of other machines differ in their last bit."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Which stream: its rate (events/s of event time), its seed, and how many auctions and people are busy at a time."""

    rate: int = 1_000
    seed: int = 0
    auctions_in_flight: int = 100
    active_people: int = 1_000

    def at_ms(self, numbers: Numbers) -> Numbers:
        """The events' time: Unix, ms."""
        return BASE_MS + numbers * 1_000 // self.rate

    @property
    def longest_auction_ms(self) -> int:
        """No auction is open for longer."""
        return 2 * (self._horizon * 1_000 // self.rate + 1)

    @property
    def _horizon(self) -> int:
        """Events until as many new auctions have come as are in flight."""
        return self.auctions_in_flight * CYCLE // AUCTIONS

    def lengths_ms(self, numbers: Numbers, draws: Draws) -> Numbers:
        """For how long the auctions that are the events `numbers` are open: on average, until `_horizon` more events."""
        horizon_ms = self.at_ms(numbers + self._horizon) - self.at_ms(numbers)
        return 1 + draws.below(np.maximum(2 * horizon_ms, 1))


@dataclass(frozen=True, slots=True)
class Persons:
    """Columns of persons. `number`: of the event; `first_name` to `state`: which of the lists in `encode`, as `letters`."""

    number: Numbers
    id: Numbers
    at_ms: Numbers
    first_name: Numbers
    last_name: Numbers
    city: Numbers
    state: Numbers
    card: Numbers
    letters: Numbers


@dataclass(frozen=True, slots=True)
class Auctions:
    """Columns of auctions. `seller` may be one of the next ten persons to come."""

    number: Numbers
    id: Numbers
    at_ms: Numbers
    seller: Numbers
    category: Numbers
    initial_bid: Numbers
    reserve: Numbers
    expires_ms: Numbers
    letters: Numbers


@dataclass(frozen=True, slots=True)
class Bids:
    """Columns of bids. `auction` and `bidder` may be one of the next ten to come. A bid's id is the event's number."""

    number: Numbers
    at_ms: Numbers
    auction: Numbers
    bidder: Numbers
    price: Numbers
    letters: Numbers


def persons(stream: Stream, numbers: Numbers) -> Persons:
    """Those of the events `numbers` that are persons."""
    of = numbers[numbers % CYCLE == 0]
    draws = Draws(of, stream.seed)
    names, places = (draws.below(11), draws.below(9)), (draws.below(10), draws.below(6))
    return Persons(
        of,
        FIRST_ID + _last_person(of),
        stream.at_ms(of),
        *names,
        *places,
        draws.below(10**8),
        draws.below(LETTERS_KEPT),
    )


def auctions(stream: Stream, numbers: Numbers) -> Auctions:
    """Those of the events `numbers` that are auctions."""
    place = numbers % CYCLE
    of = numbers[(place > 0) & (place <= AUCTIONS)]
    draws = Draws(of, stream.seed)
    hot = draws.below(_HOT_SELLERS) > 0
    seller = np.where(hot, _last_person(of) // _HOT_EVERY * _HOT_EVERY, _some_person(stream, of, draws))
    category = FIRST_CATEGORY + draws.below(CATEGORIES)
    initial = _price(draws)
    reserve = initial + _price(draws)
    at_ms = stream.at_ms(of)
    expires = at_ms + stream.lengths_ms(of, draws)
    ids = FIRST_ID + _last_auction(of)
    return Auctions(of, ids, at_ms, FIRST_ID + seller, category, initial, reserve, expires, draws.below(LETTERS_KEPT))


def bids(stream: Stream, numbers: Numbers) -> Bids:
    """Those of the events `numbers` that are bids."""
    of = numbers[numbers % CYCLE > AUCTIONS]
    draws = Draws(of, stream.seed)
    newest = _last_auction(of)
    hot = draws.below(_HOT_AUCTIONS) > 0
    oldest = np.maximum(newest - stream.auctions_in_flight, 0)
    some = oldest + draws.below(newest - oldest + 1 + _ID_LEAD)
    auction = np.where(hot, newest // _HOT_EVERY * _HOT_EVERY, some)
    hot = draws.below(_HOT_BIDDERS) > 0
    bidder = np.where(hot, _last_person(of) // _HOT_EVERY * _HOT_EVERY + 1, _some_person(stream, of, draws))
    price = _price(draws)
    return Bids(of, stream.at_ms(of), FIRST_ID + auction, FIRST_ID + bidder, price, draws.below(LETTERS_KEPT))


def number_of_person(id_: int) -> int:
    """The event that a person is, by its id."""
    return (id_ - FIRST_ID) * CYCLE


def number_of_auction(id_: int) -> int:
    """The event that an auction is, by its id."""
    cycle, place = divmod(id_ - FIRST_ID, AUCTIONS)
    return cycle * CYCLE + place + 1


def _last_person(numbers: Numbers) -> Numbers:
    """The newest person at each event, from 0 on."""
    return numbers // CYCLE


def _last_auction(numbers: Numbers) -> Numbers:
    """The newest auction at each event, from 0 on; -1 at event 0."""
    return numbers // CYCLE * AUCTIONS + np.minimum(numbers % CYCLE, AUCTIONS) - 1


def _some_person(stream: Stream, numbers: Numbers, draws: Draws) -> Numbers:
    """One of the people who are active at each event, or of the next ten to come."""
    people = _last_person(numbers) + 1
    active = np.minimum(people, stream.active_people)
    return people - active + draws.below(active + _ID_LEAD)


def _price(draws: Draws) -> Numbers:
    return _PRICES[draws.below(_PRICES.size)]
