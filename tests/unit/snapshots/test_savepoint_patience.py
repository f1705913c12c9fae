"""How long a savepoint may have to wait is reported with what it depends on."""

from __future__ import annotations

import pytest

from tandem.cli.creating import patience
from tandem.manifest import Spec

BODY = {
    "job": {"file": "job.py"},
    "kafka": {"bootstrapServers": "kafka:9092"},
    "sources": [{"name": "events", "topics": ["in"]}],
    "sinks": [{"name": "out", "topic": "out"}],
    "checkpoint": {"directory": "/data"},
    "snapshots": {"store": "/store", "interval": "7s"},
    "ordering": {"mode": "heartbeat", "barrierInterval": "20s"},
}


@pytest.mark.parametrize("engine", ["realTime", "auto"])
def test_a_snapshot_is_of_a_barrier(engine: str) -> None:
    said = patience(Spec.model_validate({**BODY, "engine": engine}))
    assert said == "spec.snapshots.interval (7s) and twice spec.ordering.barrierInterval (20s) together"


def test_a_micro_batch_job_has_no_barriers() -> None:
    assert patience(Spec.model_validate({**BODY, "engine": "microBatch"})) == "spec.snapshots.interval (7s)"
