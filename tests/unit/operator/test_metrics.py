"""What the operator tells Prometheus."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from tandem_operator.metrics import JobGauges, OperatorMetrics


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> OperatorMetrics:
    return OperatorMetrics(registry)


def running(**conditions: bool) -> JobGauges:
    return JobGauges("Running", wanted=2, active=1, standby=1, conditions=conditions)


def test_a_job_is_shown_with_its_replicas_and_conditions(registry: CollectorRegistry, metrics: OperatorMetrics) -> None:
    metrics.show("shop", "orders", running(Ready=True, Replicated=False))

    job = {"namespace": "shop", "job_name": "orders", "lane": ""}
    assert registry.get_sample_value("tandem_operator_job_replicas", job | {"state": "wanted"}) == 2
    assert registry.get_sample_value("tandem_operator_job_replicas", job | {"state": "active"}) == 1
    assert registry.get_sample_value("tandem_operator_condition", job | {"type": "Ready"}) == 1
    assert registry.get_sample_value("tandem_operator_condition", job | {"type": "Replicated"}) == 0


def test_a_condition_that_is_no_longer_known_is_not_shown(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.show("shop", "orders", running(Ready=True))
    metrics.show("shop", "orders", running())

    labels = {"namespace": "shop", "job_name": "orders", "lane": "", "type": "Ready"}
    assert registry.get_sample_value("tandem_operator_condition", labels) is None


def test_a_forgotten_job_leaves_nothing_behind(registry: CollectorRegistry, metrics: OperatorMetrics) -> None:
    metrics.show("shop", "orders", running(Ready=True))
    metrics.forget("shop", "orders")
    metrics.forget("shop", "orders")

    labelled = [sample for family in registry.collect() for sample in family.samples if "job_name" in sample.labels]
    assert labelled == []
    assert registry.get_sample_value("tandem_operator_jobs", {"phase": "Running"}) == 0


def test_jobs_are_counted_by_their_phase_of_now(registry: CollectorRegistry, metrics: OperatorMetrics) -> None:
    metrics.show("shop", "orders", running())
    metrics.show("shop", "payments", running())
    metrics.show("shop", "orders", JobGauges("Degraded", 2, 1, 0))

    assert registry.get_sample_value("tandem_operator_jobs", {"phase": "Running"}) == 1
    assert registry.get_sample_value("tandem_operator_jobs", {"phase": "Degraded"}) == 1
    assert registry.get_sample_value("tandem_operator_jobs", {"phase": "Failed"}) == 0


def test_passes_are_counted_by_result_from_the_start(registry: CollectorRegistry, metrics: OperatorMetrics) -> None:
    assert registry.get_sample_value("tandem_operator_reconcile_total", {"result": "failure"}) == 0

    with metrics.seconds.time():
        metrics.reconciled("failure")

    assert registry.get_sample_value("tandem_operator_reconcile_total", {"result": "failure"}) == 1
    assert registry.get_sample_value("tandem_operator_reconcile_seconds_count") == 1


def test_a_lane_has_the_labels_of_its_processes(registry: CollectorRegistry, metrics: OperatorMetrics) -> None:
    metrics.show("shop", "orders-lane-2", replace(running(Ready=True), of=("orders", "2")))
    labels = {"namespace": "shop", "job_name": "orders", "lane": "2", "type": "Ready"}
    assert registry.get_sample_value("tandem_operator_condition", labels) == 1
    metrics.forget("shop", "orders-lane-2")
    assert registry.get_sample_value("tandem_operator_condition", labels) is None
