"""A replica that catches up says so every few seconds, and once more when it has arrived."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from tandem.metrics import ReplicaMetrics
from tandem.protocol.catching_up import Standing
from tandem.replica.catching_up import CatchUpLog


def logger() -> tuple[CatchUpLog, CollectorRegistry]:
    registry = CollectorRegistry()
    return CatchUpLog(ReplicaMetrics(registry, "air", "replica-0"), every_ms=3_000, window_ms=10_000), registry


def seconds_left(registry: CollectorRegistry) -> float | None:
    return registry.get_sample_value("tandem_replica_catch_up_seconds", {"job_name": "air", "replica": "replica-0"})


def test_a_line_comes_every_three_seconds_while_it_catches_up() -> None:
    log, registry = logger()

    said = [ms for ms in range(0, 10_000, 50) if log.look(Standing(ms, ms // 50, 1_000), ready=False) is not None]

    assert said == [3_000, 6_000, 9_000]
    assert seconds_left(registry) == (1_000 - 190) / 20


def test_nothing_is_said_at_the_head_and_nothing_is_left() -> None:
    log, registry = logger()
    log.look(Standing(0, 0, 1_000), ready=False)
    log.look(Standing(600, 10, 1_000), ready=False)
    assert seconds_left(registry) == (1_000 - 10) / (10 / 0.6)

    assert log.look(Standing(9_000, 1_000, 1_000), ready=True) is None
    assert seconds_left(registry) == 0


def test_while_it_comes_no_nearer_the_time_is_unknown() -> None:
    log, registry = logger()
    log.look(Standing(0, 0, 1_000), ready=False)
    log.look(Standing(1_000, 20, 1_020), ready=False)

    assert seconds_left(registry) == -1


def test_old_speeds_are_forgotten() -> None:
    log, registry = logger()
    for ms in range(0, 60_000, 500):
        log.look(Standing(ms, 0 if ms < 40_000 else (ms - 40_000) // 10, 5_000), ready=False)

    assert seconds_left(registry) == (5_000 - 1_950) / 100
