"""The outcome of a demo: phases around the kill, gaps, and the verdict."""

import math
from dataclasses import replace

import pytest

from tandem.demo.latency import SeenEpoch
from tandem.demo.summary import Summary, Timeline, summarize
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import EpochRange, Offsets, TopicPartition
from tandem.verify.report import Anomaly, Finding, Report, Unseen

TP = TopicPartition("flights", 0)
GOOD = Report(Delivery.EXACTLY_ONCE, 10, 0, 9, 100, 0, 0, 0, 0, 0, 0, Unseen())
EVERY_MS = 100
TIMELINE = Timeline(started_ms=2_000, ended_ms=10_000, killed_ms=5_000, returned_ms=8_000, victim="replica-0")


def run(silent: range = range(0), records: int = 100) -> tuple[dict[tuple[str, int, int], float], list[SeenEpoch]]:
    """A record every 100 ms and an epoch for each, 50 ms later; those of `silent` only come with the next one after it."""
    created = {(*TP, n): float(n * EVERY_MS) for n in range(records)}
    epochs = []
    for n in range(records):
        at = (silent.stop if n in silent else n) * EVERY_MS + 50.0
        epochs.append(SeenEpoch(EpochRange(n, Offsets({TP: n}), Offsets({TP: n + 1}), 0, 0, n), at, "replica-1"))
    return created, epochs


def summary_of(
    silent: range = range(0), timeline: Timeline = TIMELINE, report: Report = GOOD, published: int = 100
) -> Summary:
    created, epochs = run(silent)
    return summarize(created, epochs[:published], timeline, report)


def test_a_good_run_says_so_in_one_line() -> None:
    summary = summary_of()
    assert summary.good
    assert summary.line == (
        "published 100, lost 0, duplicated 0, reordered 0; longest gap 100 ms (before the kill 100 ms); "
        "p50/p99 in ms: before 50/50, during 50/50, after 50/50"
    )


def test_the_warm_up_belongs_to_no_phase() -> None:
    assert [(phase.name, phase.records) for phase in summary_of().phases] == [
        ("before", 30),
        ("during", 30),
        ("after", 20),
    ]


def test_silence_after_the_kill_shows_in_the_gap_and_in_the_phase() -> None:
    summary = summary_of(silent=range(50, 60))
    assert summary.gap.ms == pytest.approx(1_100)
    assert summary.gap_before.ms == pytest.approx(100)
    during = summary.phases[1]
    assert during.p99_ms > 1_000 > during.p50_ms


def test_silence_that_began_just_before_the_kill_counts_in_full() -> None:
    assert summary_of(silent=range(49, 55)).gap.ms == pytest.approx(700)


def test_fed_records_that_never_came_out_are_lost() -> None:
    summary = summary_of(published=97)
    assert not summary.good
    assert summary.lost == 3
    assert "3 records were fed but not published in time" in summary.findings


@pytest.mark.parametrize("field", ["lost", "duplicated", "reordered", "diverged"])
def test_whatever_the_verifier_finds_makes_it_bad(field: str) -> None:
    found = Finding(Anomaly.DUPLICATE, "row 1 of epoch 3 once more")
    summary = summary_of(report=replace(GOOD, **{field: 2}, findings=(found,)))
    assert not summary.good
    assert f"{field} 2" in summary.line
    assert summary.findings == ("duplicate: row 1 of epoch 3 once more",)


def test_a_replica_that_never_came_back_leaves_no_phase_after() -> None:
    summary = summary_of(timeline=replace(TIMELINE, returned_ms=math.nan))
    assert [phase.records for phase in summary.phases] == [30, 50, 0]
    assert summary.good


def test_a_run_without_output_is_bad() -> None:
    assert not summarize({}, [], TIMELINE, GOOD).good
