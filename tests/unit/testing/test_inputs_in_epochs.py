"""A test's inputs become epochs: as it writes them, or as it cuts them, and of whatever makes no sense it hears which."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tandem.manifest import SourceSpec
from tandem.testing.epochs import APART_MS, FIRST_MS, Epoch, cut, cut_otherwise
from tandem.testing.records import Record

ORDERS, RATES = SourceSpec(name="orders", topics=("orders",)), SourceSpec(name="rates", topics=("rates", "more-rates"))


def epochs(orders: Any, **named: Any) -> list[Epoch]:
    return cut({"orders": orders}, [ORDERS], **named)


def values(found: list[Epoch]) -> list[list[bytes | None]]:
    return [[record.value for record in epoch.records] for epoch in found]


def test_one_list_is_one_epoch_and_a_list_of_lists_has_one_for_each() -> None:
    assert values(epochs(["a", "b"])) == [[b"a", b"b"]]
    assert values(epochs([["a"], [], ["b"]])) == [[b"a"], [], [b"b"]]
    assert epochs([]) == epochs([[]])


def test_cuts_say_how_many_records_come_before_the_end_of_an_epoch() -> None:
    assert values(epochs([*"abcde"], cuts=[2, 2, 4])) == [[b"a", b"b"], [], [b"c", b"d"], [b"e"]]
    assert values(epochs([*"ab"], cuts=[2])) == [[b"a", b"b"]]


def test_records_are_written_as_their_kind_asks_for() -> None:
    given = [{"id": 1, "day": date(2024, 1, 2)}, "text", b"\xff", None, ("k", {"id": 2}), Record(key=b"k", value="v")]

    found = epochs(given)[0].records

    assert [(record.key, record.value) for record in found] == [
        (None, b'{"id": 1, "day": "2024-01-02"}'),
        (None, b"text"),
        (None, b"\xff"),
        (None, None),
        (b"k", b'{"id": 2}'),
        (b"k", b"v"),
    ]


def test_offsets_are_counted_in_each_partition_through_all_epochs() -> None:
    found = epochs([["a", Record("b", partition=1)], ["c", Record("d", partition=1, headers=[("h", "x")])]])

    assert [(r.partition, r.offset) for epoch in found for r in epoch.records] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert found[1].records[1].headers == (("h", b"x"),)


def test_times_and_seeds_are_those_of_the_test_or_follow_from_the_number() -> None:
    usual = epochs([["a"], [Record("b", timestamp_ms=5)]])
    chosen = epochs([["a"], ["b"]], times_ms=[10, 10], seeds=[7, 8])

    assert [(e.time_ms, e.seed, e.records[0].timestamp_ms) for e in usual] == [
        (FIRST_MS, 0, FIRST_MS),
        (FIRST_MS + APART_MS, 1, 5),
    ]
    assert datetime.fromtimestamp(FIRST_MS / 1_000, UTC) == datetime(2024, 1, 1, tzinfo=UTC)
    assert [(e.time_ms, e.seed, e.records[0].timestamp_ms) for e in chosen] == [(10, 7, 10), (10, 8, 10)]


def test_a_source_with_fewer_epochs_has_no_records_in_the_last_ones() -> None:
    found = cut({"orders": ["a"], "rates": [[], [Record("r", topic="more-rates")]]}, [ORDERS, RATES])

    assert [[(r.topic, r.value) for r in epoch.records] for epoch in found] == [
        [("orders", b"a")],
        [("more-rates", b"r")],
    ]


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        ([Record("a", topic="others")], {}, "record 0 of orders in epoch 0 is of topic 'others'"),
        ([3], {}, "record 0 of orders in epoch 0 is a int. Give a dict, text, bytes"),
        ([("k", "v", 1)], {}, "is a tuple of 3"),
        ([(1, "v")], {}, "the key of record 0 of orders in epoch 0 is a int"),
        ([Record(3)], {}, "the value of record 0 of orders in epoch 0 is a int"),
        ([{"amount": Decimal(1)}], {}, "cannot be written as JSON: JSON has no Decimal. Give its text"),
        ("text", {}, "inputs['orders'] is a str"),
        ([["a"], "b"], {}, "has lists and records side by side"),
        ([["a"]], {"cuts": [1]}, "leave cuts out"),
        (["a"], {"cuts": [2, 1]}, "none is less than the one before it"),
        (["a"], {"cuts": [-1]}, "none is less than the one before it"),
        (["a"], {"times_ms": []}, "times_ms has 0 values for 1 epochs"),
        (["a"], {"seeds": [1, 2]}, "seeds has 2 values for 1 epochs"),
        ([["a"], ["b"]], {"times_ms": [2, 1]}, "times_ms goes back"),
    ],
)
def test_what_makes_no_sense_is_named(given: Any, named: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        epochs(given, **named)

    assert said in str(raised.value)


def test_a_source_that_the_job_has_not_got_is_named() -> None:
    with pytest.raises(ValueError, match=r"no source 'order'. Its sources are \['orders', 'rates'\]"):
        cut({"order": []}, [ORDERS, RATES])


def test_other_cuts_keep_all_records_and_change_where_epochs_end() -> None:
    several, one = epochs([["a"], ["b", "c"]]), epochs(["a", "b", "c"])

    assert values(cut_otherwise(several)) == [[b"a", b"b", b"c"]]
    assert values(cut_otherwise(one)) == [[b"a"], [b"b", b"c"]]
    assert [r for e in cut_otherwise(several) for r in e.records] == [r for e in several for r in e.records]
