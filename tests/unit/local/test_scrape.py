"""Metrics become values; what is written by the processes' own metrics can be read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tandem.local.scrape import Histogram, Sample, parse, scrape
from tandem.status.metrics import ReplicaMetrics
from tandem.status.report import OrdererReport, ReplicaReport
from tandem.status.serving import Probes, ProcessServer

PROBES = Probes(lambda: False, lambda: True, lambda: OrdererReport("orderer-0"))


def replica_metrics() -> tuple[CollectorRegistry, ReplicaMetrics]:
    registry = CollectorRegistry()
    return registry, ReplicaMetrics(registry, "flights", "replica-0")


def read(registry: CollectorRegistry) -> Sample:
    return parse(generate_latest(registry).decode())


def test_what_a_replica_counts_can_be_read() -> None:
    registry, metrics = replica_metrics()
    metrics.rows.inc(7)
    metrics.observe_phase("publish", 0.02)

    sample = read(registry)

    assert sample.count("tandem_rows_published_total") == 7
    assert "tandem_phase_seconds_sum" not in sample.values


def test_how_a_process_stands_is_in_its_report_and_its_metrics_say_the_same() -> None:
    registry, metrics = replica_metrics()
    report = ReplicaReport("replica-0", "", "active", epoch=41, claims_won=7, waits_for="the publication of epoch 42")
    metrics.reported = lambda: report
    server = ProcessServer(registry, Probes(lambda: False, lambda: True, lambda: report), 0)

    sample = scrape(server.port)
    server.close()

    assert sample is not None
    assert sample.report == report
    assert sample.waits == ("the publication of epoch 42",)
    assert (sample.count("tandem_epoch"), sample.count("tandem_claims_won_total")) == (41, 7)


def test_quantiles_are_interpolated_as_prometheus_does() -> None:
    registry, metrics = replica_metrics()
    for latency_s in (0.06,) * 50 + (0.12,) * 50:
        metrics.publish_latency.observe(latency_s)

    latency = read(registry).latency

    assert latency.count == 100
    assert latency.quantile(0.5) == pytest.approx(0.075)
    assert latency.quantile(0.75) == pytest.approx(0.125)


def test_only_what_was_added_since_counts() -> None:
    registry, metrics = replica_metrics()
    metrics.publish_latency.observe(9.0)
    before = read(registry).latency
    metrics.publish_latency.observe(0.002)

    latency = read(registry).latency.since(before)

    assert latency.count == 1
    assert latency.quantile(0.99) == pytest.approx(0.0025, abs=1e-4)


def test_beyond_the_last_bound_the_quantile_is_that_bound() -> None:
    assert Histogram(((1.0, 0.0), (float("inf"), 3.0))).quantile(0.5) == 1.0


def test_no_values_have_no_quantile() -> None:
    registry, _ = replica_metrics()

    assert read(registry).latency.quantile(0.5) is None
    assert Histogram().quantile(0.5) is None


def test_the_endpoint_of_a_process_is_read_and_a_closed_one_is_not_waited_for() -> None:
    registry, metrics = replica_metrics()
    metrics.rows.inc(12)
    server = ProcessServer(registry, PROBES, 0)

    sample = scrape(server.port)
    server.close()

    assert sample is not None
    assert sample.count("tandem_rows_published_total") == 12
    assert scrape(server.port) is None


def test_a_standby_on_which_the_jobs_code_raises_is_in_trouble() -> None:
    report = ReplicaReport("replica-1", "", "standby", fault="ValueError: no licence (job.py:13)")

    assert "raises on replica-1 where the others compute" in Sample(report=report).trouble
    assert Sample(report=replace(report, trouble="topic out: full")).trouble == "topic out: full"
    assert Sample(report=replace(report, fault="")).trouble == ""
