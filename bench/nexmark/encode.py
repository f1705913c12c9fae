"""Events as records: JSON `{"person": …}`, `{"auction": …}` or `{"bid": …}`, of 200, 500 and 100 bytes on average. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from itertools import islice
from typing import Final

import numpy as np

from bench.nexmark import events
from bench.nexmark.draws import Draws, Numbers
from bench.nexmark.events import LETTERS_KEPT, Stream

_FIRST_NAMES: Final = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
_LAST_NAMES: Final = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
_CITIES: Final = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
]
STATES: Final = ("AZ", "CA", "ID", "OR", "WA", "WY")

_ITEM, _DESCRIPTION = 20, 100
_PERSON_EXTRA, _AUCTION_EXTRA, _BID_EXTRA = (3, 40), (102, 200), (0, 4)
"""Letters that fill a record up to its average: at least, and how many lengths there are."""
_BLOCK: Final = 10_000
_LETTERS: Final = (
    np.array(bytearray(b"abcdefghijklmnopqrstuvwxyz"))[Draws(np.arange(LETTERS_KEPT + 512)).below(26)]
    .tobytes()
    .decode()
)


def values(stream: Stream, first: int, count: int) -> list[bytes]:
    """The records' values of the events `first` to `first + count - 1`."""
    numbers = np.arange(first, first + count)
    made: list[bytes] = [b""] * count
    for of, texts in (_persons(stream, numbers), _auctions(stream, numbers), _bids(stream, numbers)):
        for place, text in zip((of - first).tolist(), texts, strict=True):
            made[place] = text.encode()
    return made


def stream_of_values(stream: Stream, first: int = 0) -> Iterator[bytes]:
    """The values of all events from `first` on, without end."""
    while True:
        yield from values(stream, first, _BLOCK)
        first += _BLOCK


def first_values(stream: Stream, count: int) -> list[bytes]:
    """The values of the first `count` events."""
    return list(islice(stream_of_values(stream), count))


def _persons(stream: Stream, numbers: Numbers) -> tuple[Numbers, Iterator[str]]:
    columns = events.persons(stream, numbers)
    least, lengths = _PERSON_EXTRA
    return columns.number, (
        f'{{"person":{{"id":{id_},"name":"{_FIRST_NAMES[one]} {_LAST_NAMES[two]}",'
        f'"emailAddress":"{_LETTERS[at : at + 7]}@{_LETTERS[at + 7 : at + 12]}.com","creditCard":"{card:016d}",'
        f'"city":"{_CITIES[city]}","state":"{STATES[state]}","dateTime":{at_ms},'
        f'"extra":"{_LETTERS[at : at + least + card % lengths]}"}}}}'
        for _, id_, at_ms, one, two, city, state, card, at in _rows(columns)
    )


def _auctions(stream: Stream, numbers: Numbers) -> tuple[Numbers, Iterator[str]]:
    columns = events.auctions(stream, numbers)
    least, lengths = _AUCTION_EXTRA
    return columns.number, (
        f'{{"auction":{{"id":{id_},"itemName":"{_LETTERS[at : at + _ITEM]}",'
        f'"description":"{_LETTERS[at + _ITEM : at + _ITEM + _DESCRIPTION]}","initialBid":{initial},"reserve":{reserve},'
        f'"dateTime":{at_ms},"expires":{expires},"seller":{seller},"category":{category},'
        f'"extra":"{_LETTERS[at : at + least + at % lengths]}"}}}}'
        for _, id_, at_ms, seller, category, initial, reserve, expires, at in _rows(columns)
    )


def _bids(stream: Stream, numbers: Numbers) -> tuple[Numbers, Iterator[str]]:
    columns = events.bids(stream, numbers)
    least, lengths = _BID_EXTRA
    return columns.number, (
        f'{{"bid":{{"id":{number},"auction":{auction},"bidder":{bidder},"price":{price},"dateTime":{at_ms},'
        f'"extra":"{_LETTERS[at : at + least + at % lengths]}"}}}}'
        for number, at_ms, auction, bidder, price, at in _rows(columns)
    )


def _rows(columns: events.Persons | events.Auctions | events.Bids) -> Iterator[tuple[int, ...]]:
    return zip(*(column.tolist() for column in astuple(columns)), strict=True)
