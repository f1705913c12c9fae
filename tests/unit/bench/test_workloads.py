"""The workloads of the literature: their feeds, their references and their manifests."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from bench.workloads import BLOCK, LITERATURE, Feed, Record, Row, merged
from bench.workloads.base import FIRST_MS, due_ns, shares
from bench.workloads.fixwindow import DELAY_MS, WINDOW_MS, each_once, every_change
from bench.workloads.latency import counted
from bench.workloads.manifests import Place, manifest
from bench.workloads.sequences import checked

from tandem.manifest import API_VERSION, parse

FEEDS = {f"{w.name}-{feed.source}": feed for w in LITERATURE.values() for feed in w.feeds}
BYTES = {
    "mib1-events": "316731722057",
    "mib2-events": "316731722057",
    "mib3-first": "b92aa656d60b",
    "mib3-second": "f596f343acb2",
    "heartbeat-events": "316731722057",
    "varying-first": "5e414bad1335",
    "varying-second": "4fa2552e5440",
    "fixwindow-visits": "272964c6396d",
    "closed-windows-visits": "272964c6396d",
    "grep-lines": "02987bda1c50",
    "grouping-lines": "95412173507e",
    "sequences-events": "09e4eb230bce",
    "transform-events": "c62114305058",
    "count-events": "3adc353a93b8",
    "join-events": "1020287fc0cf",
}
"""Of block 3 of seed 1."""


def digest(feed: Feed, seed: int, number: int) -> str:
    block = feed.make(feed, seed, number)
    return hashlib.sha256(repr((block.keys, block.values, block.partitions)).encode()).hexdigest()[:12]


def visit(second: float, ip: bytes = b"10.0.0.1") -> Record:
    return Record("visits", 0, ip, b"%013d x" % (second * 1_000), 0)


@pytest.mark.parametrize("name", FEEDS)
def test_the_same_seed_gives_the_same_bytes_on_every_machine(name: str) -> None:
    assert digest(FEEDS[name], 1, 3) == BYTES[name]


@pytest.mark.parametrize("name", FEEDS)
def test_another_seed_or_block_gives_other_records(name: str) -> None:
    feed = FEEDS[name]
    assert len({digest(feed, 1, 3), digest(feed, 2, 3), digest(feed, 1, 4)}) == 3


@pytest.mark.parametrize("name", FEEDS)
def test_a_value_has_the_length_that_the_feed_says_and_more_records_begin_with_fewer(name: str) -> None:
    feed = FEEDS[name]
    records = list(feed.records(1, BLOCK + 5))
    assert records[:7] == list(feed.records(1, 7))
    assert len(records) == BLOCK + 5
    assert {len(record.value) for record in records} == {feed.record_bytes}
    assert {record.partition for record in records} == set(range(feed.partitions))


def test_records_are_due_as_the_schedule_says() -> None:
    feed = LITERATURE["varying"].feeds[0]
    due_s = ((due_ns(feed, np.arange(60_000)) / 1e6) - FIRST_MS) / 1_000
    per_second = {second: int(((due_s >= second) & (due_s < second + 1)).sum()) for second in (10, 45, 70, 120, 185)}
    assert per_second == {10: 500, 45: 500, 70: 250, 120: 0, 185: 250}


def test_sources_share_the_records_by_their_rates_and_each_has_one() -> None:
    assert shares([1_000, 5], 2_010) == [2_000, 10]
    assert shares([10_000, 5], 100) == [99, 1]


@pytest.mark.parametrize("name", LITERATURE)
def test_every_manifest_of_a_workload_and_of_its_sweep_is_valid(name: str) -> None:
    workload = LITERATURE[name]
    for one in (workload, *(workload.at(variant.name) for variant in workload.sweep)):
        for engine in one.engines:
            tree = manifest(one, engine, Place("some"))
            assert tree["apiVersion"] == API_VERSION
            spec = parse(tree).spec
            assert (spec.engine, spec.job.module, spec.job.function) == (engine, one.job.__module__, one.job.__name__)


def test_scales_and_points_of_a_sweep_are_named() -> None:
    assert LITERATURE["grep"].at_scale("paper").feeds[0].rate == 1_500_000
    assert LITERATURE["mib1"].at("length-3").options == {"length": "3"}
    assert [feed.rate for feed in LITERATURE["mib3"].at("first-10").feeds] == [10, 5]
    with pytest.raises(ValueError, match="length-1, length-2"):
        LITERATURE["mib1"].at("length-9")
    with pytest.raises(ValueError, match="laptop, or paper"):
        LITERATURE["mib1"].at_scale("large")


def test_an_epoch_goes_round_robin_over_its_partitions() -> None:
    a, b, c = (Record("s", number, None, b"%d" % number, 0) for number in range(3))
    assert merged([[a, a, a], [], [b], [c, c]]) == [a, b, c, a, c, a]


def test_a_window_tells_of_each_change_in_micro_batches_and_of_each_record_in_real_time() -> None:
    epochs = [[visit(3), visit(1), visit(1, b"10.0.0.2")], [visit(12)], [visit(2)]]
    start, first, other = b"0 10.0.0.1", b"0 10.0.0.1", b"0 10.0.0.2"
    assert every_change(epochs, "microBatch") == [
        [Row(start, b"1000 2"), Row(other, b"1000 1")],
        [Row(b"10000 10.0.0.1", b"12000 1")],
        [Row(first, b"1000 3")],
    ]
    assert every_change(epochs, "realTime")[0] == [Row(start, b"3000 1"), Row(start, b"1000 2"), Row(other, b"1000 1")]


def test_a_window_is_closed_behind_the_watermark_and_its_late_visits_are_dropped() -> None:
    closing = (WINDOW_MS + DELAY_MS) / 1_000
    epochs = [[visit(1)], [visit(closing)], [visit(2)], [visit(3)], [visit(closing)]]
    assert each_once(epochs, "microBatch") == [[], [], [Row(b"0 10.0.0.1", b"1000 2")], [], []]


def test_only_an_equal_payload_of_the_same_time_is_counted_together() -> None:
    one, later = Record("events", 0, b"1", b"a", 5), Record("events", 0, b"1", b"a", 6)
    rows = counted([[one, later], [one]], "microBatch")
    assert [row.value for epoch in rows for row in epoch] == [b"MSxh", b"MSxh", b"Mixh"]
    assert [row.headers[0][1] for epoch in rows for row in epoch] == [b"5", b"6", b"5"]


def test_events_that_may_not_follow_raise_an_alert_and_a_visit_has_its_events() -> None:
    kinds = ("usage", "login", "login", "usage", "leave", "leave")
    events = [Record("events", 0, b"u", b"%012d %s xx" % (at, kind.encode()), 0) for at, kind in enumerate(kinds)]
    assert [row.value for row in checked([events], "microBatch")[0]] == [
        b"alert 0 leave-usage",
        b"alert 1 usage-login",
        b"alert 2 login-login",
        b"visit 4 3",
        b"alert 5 leave-leave",
    ]


@pytest.mark.parametrize("change", [lambda r: r[:50] + r[51:], lambda r: r[:51] + r[50:]], ids=["lost", "repeated"])
def test_an_event_that_is_lost_or_repeated_raises_an_alert_or_changes_a_visit(change: object) -> None:
    records = [record for record in LITERATURE["sequences"].records(1, 60_000) if record.key == b"user-5"]
    assert checked([change(records)], "microBatch") != checked([records], "microBatch")  # type: ignore[operator]


def test_about_one_event_of_a_thousand_is_wrong() -> None:
    rows = checked([LITERATURE["sequences"].records(1, 50_000)], "microBatch")[0]
    alerts = sum((row.value or b"").startswith(b"alert") for row in rows)
    assert 30 <= alerts <= 110
