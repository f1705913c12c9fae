"""The answers that Nexmark's queries are held against: they are right where there are ties and edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from bench.nexmark.answers import ANSWERS
from bench.nexmark.encode import first_values
from bench.nexmark.events import BASE_MS, Stream
from bench.nexmark.reference import answer, rows_of

from unit.bench.nexmark_cases import CASES, LATER_MS, auction, bid

IN_ORDER = {"q1", "q2", "q4", "q5", "q6", "q7", "q9"}


def counted(rows: Iterable[Mapping[str, Any]]) -> Counter[frozenset[tuple[str, Any]]]:
    return Counter(frozenset(row.items()) for row in rows)


@pytest.mark.parametrize("query", CASES)
def test_a_stream_with_ties_is_answered(query: str) -> None:
    case = CASES[query]
    rows = answer(query, case.values, LATER_MS, case.processed_ms)
    assert counted(rows) == counted(case.rows)
    if query in IN_ORDER:
        assert rows == case.rows


def test_every_query_has_a_case() -> None:
    assert set(CASES) == set(ANSWERS)


@pytest.mark.parametrize("query", ["q4", "q5", "q6", "q7", "q9", "q11", "q12"])
def test_what_has_not_ended_has_no_row(query: str) -> None:
    case = CASES[query]
    assert answer(query, case.values, BASE_MS - 7_001, case.processed_ms) == []


def test_an_auction_that_ends_now_has_ended() -> None:
    values = [auction(1, expires=1_000), bid(1)]
    assert len(answer("q9", values, BASE_MS + 1_000)) == 1
    assert answer("q9", values, BASE_MS + 999) == []


def test_all_queries_have_something_to_answer_of_a_generated_stream() -> None:
    values = first_values(Stream(rate=200), 5_000)
    assert min(len(answer(query, values, LATER_MS)) for query in ANSWERS if query != "q12") > 1


def test_published_numbers_are_read_exactly() -> None:
    (row,) = rows_of([b'{"price": 0.1, "average": 2.0}'])
    assert row["price"] * 10 == 1
    assert row["average"] == 2
