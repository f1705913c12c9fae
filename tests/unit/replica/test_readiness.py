"""A replica is ready from when it has reached the log's head until it is far behind, or stands still while others go on."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from tandem.metrics import ReplicaMetrics
from tandem.replica.progress import CatchUp
from tandem.replica.readiness import Readiness

BEGAN_MS = 1_000.0


@pytest.fixture
def catch_up() -> CatchUp:
    """One that has computed epochs 0 to 9, at 40 ms each."""
    catch_up = CatchUp("replica-1", -1)
    for epoch in range(10):
        catch_up.computed(epoch, 10, BEGAN_MS + 40 * epoch)
    return catch_up


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def readiness(catch_up: CatchUp, registry: CollectorRegistry) -> Readiness:
    """Of a replica that is at the head, and was long enough."""
    ready = Readiness(ReplicaMetrics(registry, "flights", "replica-1"), catch_up, BEGAN_MS)
    ready.look(9, has_read_all=True, now_ms=BEGAN_MS + 4_000)
    assert ready.ready
    return ready


def test_a_replica_that_stands_still_is_not_ready_although_it_is_not_far_behind(
    readiness: Readiness, registry: CollectorRegistry
) -> None:
    for second in range(5):
        readiness.look(12 + second, has_read_all=True, now_ms=BEGAN_MS + 5_000 + 1_000 * second)
        assert readiness.ready
    readiness.look(17, has_read_all=True, now_ms=BEGAN_MS + 10_100)
    assert not readiness.ready
    assert registry.get_sample_value("tandem_replica_ready", {"job_name": "flights", "replica": "replica-1"}) == 0


def test_it_is_ready_again_when_it_is_back_at_the_head(readiness: Readiness, catch_up: CatchUp) -> None:
    readiness.look(13, has_read_all=True, now_ms=BEGAN_MS + 5_000)
    readiness.look(17, has_read_all=True, now_ms=BEGAN_MS + 10_100)
    catch_up.computed(17, 17, BEGAN_MS + 11_000)
    readiness.look(17, has_read_all=True, now_ms=BEGAN_MS + 11_010)
    assert readiness.ready


def test_a_replica_that_had_nothing_to_compute_stays_ready(readiness: Readiness) -> None:
    readiness.look(9, has_read_all=True, now_ms=BEGAN_MS + 1_000_000)
    assert readiness.ready
