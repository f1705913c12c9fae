"""Retention is told to be too short before anything is deleted that a restart needs."""

from __future__ import annotations

import pytest

from tandem.protocol.retention import Limits, Margin, Need, margin_of
from tandem.protocol.values import TopicPartition

PLACE = TopicPartition("flights", 0)
NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def need(age_s: float, start: int = 1_000, beginning: int = 0, end: int = 2_000, record_bytes: float = 100) -> Need:
    return Need(PLACE, start, beginning, end, int(NOW_MS - age_s * 1000), record_bytes)


def test_without_limits_there_is_no_margin_to_run_out_of() -> None:
    assert margin_of(Limits(), need(age_s=10**9), NOW_MS) == Margin(PLACE)
    assert Limits().keeps_all
    assert not Limits(compacted=True).keeps_all


def test_time_enough_is_no_problem() -> None:
    assert margin_of(Limits(retention_ms=HOUR_MS), need(age_s=600), NOW_MS) == Margin(PLACE, seconds=3_000)


def test_less_than_a_fifth_of_the_time_is_told_with_what_to_set() -> None:
    found = margin_of(Limits(retention_ms=HOUR_MS), need(age_s=3_000), NOW_MS)

    assert found.seconds == 600
    assert found.problem == (
        "flights/0: retention.ms is 3600000, but a restart from the oldest state that may be restored reads on from record "
        "1000, written 3000 s ago; in 600 s it may be deleted"
    )
    assert found.settings == f"retention.ms={5 * 3_000_000}"


@pytest.mark.parametrize(("age_s", "thin"), [(2_880, False), (2_881, True), (3_700, True)])
def test_a_fifth_is_the_bound(age_s: float, thin: bool) -> None:
    assert bool(margin_of(Limits(retention_ms=HOUR_MS), need(age_s), NOW_MS).problem) is thin


def test_past_its_time_a_record_may_go_at_any_moment() -> None:
    found = margin_of(Limits(retention_ms=60_000), need(age_s=70), NOW_MS)

    assert found.seconds == -10
    assert found.problem.endswith("it may be deleted at any moment")
    assert found.settings == "retention.ms=3600000"


def test_what_is_deleted_already_is_told_first() -> None:
    found = margin_of(Limits(retention_ms=HOUR_MS), need(age_s=1, start=1_000, beginning=1_200), NOW_MS)

    assert "from record 1000, but the records before 1200 are deleted already" in found.problem


def test_bytes_are_counted_in_records_of_the_usual_size() -> None:
    assert margin_of(Limits(retention_bytes=1_000_000), need(age_s=1), NOW_MS) == Margin(PLACE, records=9_000)

    found = margin_of(Limits(retention_bytes=110_000), need(age_s=1), NOW_MS)
    assert found.records == 100
    assert "retention.bytes is 110000" in found.problem
    assert found.settings == "retention.bytes=500000"


def test_bytes_are_not_judged_before_there_is_a_record() -> None:
    nothing_yet = Need(PLACE, 2_000, 0, 2_000)

    assert margin_of(Limits(retention_ms=1_000, retention_bytes=1), nothing_yet, NOW_MS) == Margin(PLACE, seconds=1)


def test_compaction_of_what_is_read_again_is_a_problem_however_long_it_is_kept() -> None:
    assert margin_of(Limits(compacted=True), need(age_s=1), NOW_MS).settings == "cleanup.policy=delete"
