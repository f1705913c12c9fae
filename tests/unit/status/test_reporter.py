"""What a replica reports of itself follows what it does."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from tandem.core.state import ReplicaState
from tandem.status.metrics import ReplicaMetrics
from tandem.status.report import State
from tandem.status.reporter import Reporter


@pytest.mark.parametrize(
    ("stage", "state", "ready"),
    [
        ("starting", ReplicaState(), False),
        ("standby", ReplicaState(), True),
        ("active", ReplicaState(), False),
        ("active", ReplicaState(ready=True), True),
    ],
)
def test_a_replica_is_ready_until_it_is_taken_apart(stage: State, state: ReplicaState, ready: bool) -> None:
    registry, reporter = CollectorRegistry(), Reporter("replica-0", "orders.replica-0.aaaa")
    ReplicaMetrics(registry, "orders", "replica-0").reported = reporter.report
    reporter.stage, reporter.state = stage, lambda: state
    assert (reporter.is_ready, reporter.report().ready) == (ready, ready)
    reporter.ends()
    assert (reporter.is_ready, reporter.report().ready) == (False, False)
    labels = {"job_name": "orders", "replica": "replica-0"}
    assert registry.get_sample_value("tandem_replica_ready", labels) == 0.0
