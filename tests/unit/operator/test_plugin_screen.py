"""`kubectl tandem status` answers at a glance whether a job is safe."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tandem_operator.plugin.screen import screen

NOW = datetime(2026, 11, 21, 21, 5, 0, tzinfo=UTC)


def condition(type_: str, status: str, message: str = "told") -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": "Reason",
        "message": message,
        "lastTransitionTime": "2026-11-21T21:00:00Z",
    }


def body(*conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    member = {
        "name": "replica-0",
        "pod": "flights-replica-0-x",
        "node": "n1",
        "role": "active",
        "epoch": 7,
        "ready": True,
    }
    shown = {
        "phase": "Running",
        "observedGeneration": 3,
        "mode": "leader",
        "leader": "orderer-0",
        "publisher": "replica-0",
        "epoch": 7,
        "lag": 12,
        "active": "2/2",
        "standby": "1/1",
        "members": [member],
        "conditions": list(conditions),
        **status,
    }
    metadata = {"name": "flights", "namespace": "streaming", "generation": 3}
    return {"metadata": metadata, "spec": {}, "status": shown}


WHOLE = tuple(condition(name, "True") for name in ("Ready", "Replicated", "OrderingAvailable"))


def lines(shown: dict[str, Any]) -> str:
    return "\n".join(screen(shown, NOW))


def test_a_whole_job_is_safe_and_says_who_publishes() -> None:
    text = lines(body(*WHOLE))

    assert "streaming/flights: Running. Safe" in text
    assert "epoch 7 by replica-0, 12 records behind" in text
    assert "led by orderer-0" in text
    assert "2/2 active, 1/1 standing by" in text
    assert "replica-0  active  yes    7" in text
    assert "Failover     none yet" in text


def test_what_is_missing_makes_it_unsafe_and_is_told() -> None:
    text = lines(body(*WHOLE[:1], condition("Replicated", "False", "1 of 2 active replicas"), WHOLE[2]))

    assert "NOT SAFE: not Replicated" in text
    assert "Replicated=False: 1 of 2 active replicas" in text


def test_a_divergence_comes_before_everything_else() -> None:
    assert "NOT SAFE: replicas computed different rows" in lines(body(*WHOLE, condition("Diverged", "True")))


@pytest.mark.parametrize(("time", "ago"), [("2026-11-21T21:04:30Z", "30 s"), ("2026-11-21T19:04:59Z", "2 h")])
def test_the_last_failover_tells_how_long_the_gap_was(time: str, ago: str) -> None:
    failover = {"time": time, "from": "replica-1", "to": "replica-0", "epoch": 5, "gapMs": 231}

    assert f"{ago} ago: replica-1 → replica-0, a gap of 231 ms" in lines(body(*WHOLE, lastFailover=failover))


def test_a_suspended_job_has_lost_nothing() -> None:
    suspended = condition("Suspended", "True", "The job is suspended")

    assert "nothing is lost" in lines(body(suspended, phase="Suspended"))


def test_a_job_that_no_operator_has_looked_at_says_so() -> None:
    bare = {"metadata": {"name": "flights", "namespace": "streaming", "generation": 1}, "spec": {}}

    assert "is it running?" in lines(bare)
