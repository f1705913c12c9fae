"""Payments by card: the same for everybody, with cards that the example's job finds."""

from __future__ import annotations

import itertools
import json
from collections import Counter

from tandem.examples.cards.feed import PAYMENTS, events


def test_the_same_seed_gives_the_same_payments() -> None:
    assert list(events(50)) == list(events(50)) != list(events(50, seed=2))
    assert list(itertools.islice(events(), 50)) == list(events(50))


def test_few_cards_pay_large_amounts_and_each_of_them_often() -> None:
    sent = list(events(20_000))
    assert {event.topic for event in sent} == {PAYMENTS}
    bodies = [json.loads(event.value) for event in sent]
    assert [body["id"] for body in bodies] == list(range(20_000)), "the example enrich asks by them"
    assert all(event.key.decode() == body["card"] for event, body in zip(sent, bodies, strict=True))
    large = Counter(body["card"] for body in bodies if body["amount"] >= 400)
    assert len(large) == 5
    assert min(large.values()) >= 3
