"""Nexmark's events: their shares, ids and ratios, and the same bytes for everybody."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest
from bench.nexmark.draws import Draws
from bench.nexmark.encode import STATES, first_values, stream_of_values, values
from bench.nexmark.events import BASE_MS, Auctions, Bids, Persons, Stream, auctions, bids, persons

EVENTS = 100_000
FAR = 50 * EVENTS
"""An event by which as many people and auctions are busy as ever."""


@pytest.fixture(scope="module")
def far() -> tuple[Persons, Auctions, Bids]:
    numbers = np.arange(FAR, FAR + EVENTS)
    return persons(Stream(), numbers), auctions(Stream(), numbers), bids(Stream(), numbers)


def parsed(records: list[bytes]) -> list[tuple[str, dict[str, Any]]]:
    return [next(iter(json.loads(record).items())) for record in records]


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_rest_bids() -> None:
    kinds = Counter(kind for kind, _ in parsed(first_values(Stream(), 5_000)))
    assert kinds == {"person": 100, "auction": 300, "bid": 4_600}


def test_the_same_seed_gives_the_same_bytes() -> None:
    digest = hashlib.sha256(b"\n".join(first_values(Stream(), 20_000))).hexdigest()
    assert digest[:16] == "2e796806a2af6d8f"


def test_any_part_of_the_stream_is_that_of_the_whole() -> None:
    whole = first_values(Stream(), 10_200)
    assert values(Stream(), 1_234, 777) == whole[1_234 : 1_234 + 777]
    assert list(islice(stream_of_values(Stream(), 9_990), 210)) == whole[9_990:]


def test_another_seed_gives_other_events() -> None:
    assert values(Stream(seed=1), 0, 50) != values(Stream(), 0, 50)


def test_draws_are_spread_evenly_and_have_nothing_to_do_with_each_other() -> None:
    draws = Draws(np.arange(EVENTS))
    first, second = draws.below(10), draws.below(10)
    assert 0.095 * EVENTS < np.bincount(first, minlength=10).min() <= np.bincount(first).max() < 0.105 * EVENTS
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.02


def test_ids_count_up_from_a_thousand(far: tuple[Persons, Auctions, Bids]) -> None:
    people, sold, _ = far
    assert people.id.tolist() == list(range(1_000 + FAR // 50, 1_000 + (FAR + EVENTS) // 50))
    assert sold.id.tolist() == list(range(1_000 + 3 * FAR // 50, 1_000 + 3 * (FAR + EVENTS) // 50))


@pytest.mark.parametrize(("what", "share"), [("auction", 1 / 2), ("seller", 3 / 4), ("bidder", 3 / 4)])
def test_of_auctions_half_and_of_people_three_quarters_are_the_hot_one(
    far: tuple[Persons, Auctions, Bids], what: str, share: float
) -> None:
    _, sold, made = far
    column = sold.seller if what == "seller" else getattr(made, what)
    of_hundred = int(what == "bidder")
    assert np.mean(column % 100 == of_hundred) == pytest.approx(share, abs=0.02)


def test_the_others_are_busy_now_or_up_to_ten_ahead(far: tuple[Persons, Auctions, Bids]) -> None:
    _, sold, made = far
    ahead_of_person = np.concatenate([sold.seller - 1_000 - sold.number // 50, made.bidder - 1_000 - made.number // 50])
    newest = made.number // 50 * 3 + 2
    assert (ahead_of_person.min(), ahead_of_person.max()) == (-999, 10)
    assert ((made.auction - 1_000 - newest).min(), (made.auction - 1_000 - newest).max()) == (-100, 10)


def test_at_the_beginning_nobody_is_busy_who_was_never_there() -> None:
    numbers = np.arange(0, 2_000)
    sold, made = auctions(Stream(), numbers), bids(Stream(), numbers)
    assert min(sold.seller.min(), made.auction.min(), made.bidder.min()) == 1_000


def test_auctions_are_open_until_a_hundred_more_have_come_on_average(far: tuple[Persons, Auctions, Bids]) -> None:
    _, sold, _ = far
    lengths = sold.expires_ms - sold.at_ms
    assert 1 <= lengths.min() < lengths.max() <= Stream().longest_auction_ms
    assert lengths.mean() == pytest.approx(100 * 50 / 3, rel=0.02)


def test_prices_are_as_many_in_each_power_of_ten(far: tuple[Persons, Auctions, Bids]) -> None:
    _, sold, made = far
    shares = np.bincount(np.log10(made.price).astype(int), minlength=8) / made.price.size
    assert shares[2:8] == pytest.approx([1 / 6] * 6, abs=0.01)
    assert (sold.reserve > sold.initial_bid).all()


def test_categories_and_states_are_as_many() -> None:
    events = parsed(first_values(Stream(), 50_000))
    categories = Counter(fields["category"] for kind, fields in events if kind == "auction")
    states = Counter(fields["state"] for kind, fields in events if kind == "person")
    assert sorted(categories) == [10, 11, 12, 13, 14]
    assert set(states) == set(STATES)
    assert min(categories.values()) > 500
    assert min(states.values()) > 120


def test_time_runs_at_the_rate() -> None:
    times = [fields["dateTime"] - BASE_MS for _, fields in parsed(first_values(Stream(rate=300), 7))]
    assert times == [0, 3, 6, 10, 13, 16, 20]


def test_records_have_their_average_size() -> None:
    sizes: dict[str, list[int]] = {"person": [], "auction": [], "bid": []}
    records = values(Stream(), 100_000, 50_000)
    for (kind, _), record in zip(parsed(records), records, strict=True):
        sizes[kind].append(len(record))
    assert [np.mean(of) for of in sizes.values()] == pytest.approx([200, 500, 100], rel=0.05)
    assert min(max(of) - min(of) for of in sizes.values()) > 3
