"""Nexmark's queries answer exactly, on each engine that can run them, wherever epochs end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from integration.nexmark_runs import by, cut, expected, manifest_of, published, run, ticks, value_of
from tandem.engine.session import LASTING_TASKS
from tandem.testing import JobError
from unit.bench.nexmark_cases import CASES

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("spark")]

SLOTS = LASTING_TASKS
EVENTS = 6_000
ENGINES = ("microBatch", "realTime")
MICRO_BATCH_ONLY = {
    "q3": "a join of two streams",
    "q4": r"transformWithState\(\) in Python",
    "q5": r"groupBy\(\).agg\(\) in output mode append",
    "q6": r"transformWithState\(\) in Python",
    "q7": r"groupBy\(\).agg\(\) in output mode append",
    "q8": "a join of two streams",
    "q9": "a join of two streams",
    "q11": r"session_window\(\)",
    "q12": r"groupBy\(\).agg\(\) in output mode append",
}
"""Query → what the real-time engine says against it."""
ORDERED = {"q4": "category", "q6": "seller"}
"""Query → by what its rows have an order that every cut keeps."""
QUICK = {("q0", "realTime"), ("q5", "microBatch"), ("q8", "microBatch")}
RUNS = [(f"q{n}", engine) for n in (0, 1, 2) for engine in ENGINES] + [
    (query, "microBatch") for query in MICRO_BATCH_ONLY
]


def marked(runs: Iterable[tuple[str, str]]) -> list[Any]:
    return [pytest.param(*one, marks=() if one in QUICK else pytest.mark.thorough) for one in runs]


def counted(rows: Iterable[Mapping[str, Any]]) -> Counter[frozenset[tuple[str, Any]]]:
    return Counter(frozenset(row.items()) for row in rows)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(("query", "engine"), marked(RUNS))
def test_a_query_answers_exactly(query: str, engine: str, seed: int) -> None:
    epochs = cut(EVENTS, seed)
    found = run(manifest_of(query, engine), epochs)

    assert sum(found.late_rows) == 0, "the reference knows no late rows"
    if query == "q0":
        sent = [value_of(record) for epoch in epochs for record in epoch] + ticks()
        assert Counter(row.raw_value for row in found["out"]) == Counter(sent)
        return
    rows, right = published(found), expected(query, epochs)
    assert len(right) > 1
    assert counted(rows) == counted(right)
    if query in ORDERED:
        assert by(rows, ORDERED[query]) == by(right, ORDERED[query])


@pytest.mark.parametrize(
    "query", [pytest.param(query, marks=() if query in ("q7", "q9") else pytest.mark.thorough) for query in CASES]
)
def test_a_query_minds_ties_and_edges(query: str) -> None:
    case = CASES[query]
    found = run(manifest_of(query), case.epochs, case.times_ms)
    of_ticks = 1 if query == "q1" else 0
    rows = published(found)
    assert counted(rows[: len(rows) - of_ticks]) == counted(case.rows)


@pytest.mark.thorough
def test_the_real_time_engine_counts_bids_as_they_are_processed() -> None:
    """Of each bidder and window, every count from one to that which the window ends with."""
    epochs = cut(EVENTS, 1)
    rows = published(run(manifest_of("q12", "realTime", outputMode="update"), epochs))
    right = expected("q12", epochs)
    assert len(right) > 100
    reported = [{**row, "bids": count} for row in right for count in range(1, row["bids"] + 1)]
    assert counted(row for row in rows if row["start"] <= max(row["start"] for row in right)) == counted(reported)


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(query, marks=() if query in ("q3", "q5", "q6") else pytest.mark.thorough)
        for query in MICRO_BATCH_ONLY
    ],
)
def test_the_real_time_engine_refuses_what_it_cannot_run(query: str) -> None:
    with pytest.raises(JobError, match=MICRO_BATCH_ONLY[query]):
        run(manifest_of(query, "realTime"), [])
