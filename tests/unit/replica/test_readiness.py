"""A replica is ready from when it has reached the log's head until it is far behind, or stands still while others go on."""

from __future__ import annotations

import time

import pytest
from prometheus_client import CollectorRegistry

from tandem.metrics import ReplicaMetrics
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config, Cut, Positions, TopicPartition
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


def shown(registry: CollectorRegistry, metric: str) -> float | None:
    return registry.get_sample_value(metric, {"job_name": "flights", "replica": "replica-1"})


def test_a_replica_that_restored_its_state_shows_that_epoch_before_it_computes_any(registry: CollectorRegistry) -> None:
    metrics = ReplicaMetrics(registry, "flights", "replica-1")
    assert (shown(registry, "tandem_epoch"), shown(registry, "tandem_replica_catch_up_seconds")) == (-1, -1)
    idle = Readiness(metrics, CatchUp("replica-1", 41), BEGAN_MS)
    assert shown(registry, "tandem_epoch") == 41

    idle.look(41, has_read_all=True, now_ms=BEGAN_MS + 4_000)
    assert idle.ready
    assert shown(registry, "tandem_replica_lag_seconds") == 0


def test_the_lag_in_time_is_the_age_of_what_is_to_be_computed_and_grows_while_nobody_computes_it(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s = 1_000.0
    monkeypatch.setattr(time, "time", lambda: clock_s)
    decisions, records = Decisions(), TopicPartition("in", 0)
    catch_up = CatchUp("replica-1", -1)
    readiness = Readiness(ReplicaMetrics(registry, "flights", "replica-1"), catch_up, BEGAN_MS)

    def lag() -> list[float | None]:
        return [shown(registry, f"tandem_replica_lag_{what}") for what in ("epochs", "records", "seconds")]

    decisions.apply(Config(0, "c0ffee", Positions({records: 0}), "replica-0"))
    for epoch in (0, 1):
        decisions.apply(Cut(epoch, Positions({records: 10 * (epoch + 1)}), 990_000 + 1_000 * epoch, 0, "orderer-0"))
    readiness.news(decisions)
    assert lag() == [2, 20, 10.0]  # of a replica without any state, too

    catch_up.computed(0, 1, BEGAN_MS)
    readiness.news(decisions)
    clock_s = 1_060.0
    readiness.look(1, has_read_all=True, now_ms=BEGAN_MS + 60_000)
    assert lag() == [1, 10, 69.0]

    catch_up.computed(1, 1, BEGAN_MS + 60_000)
    readiness.news(decisions)
    clock_s = 5_000.0
    readiness.look(1, has_read_all=True, now_ms=BEGAN_MS + 4_000_000)
    assert lag() == [0, 0, 0]
