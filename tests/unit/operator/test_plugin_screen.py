"""`kubectl tandem status` answers at a glance whether a job is safe."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from tandem.status.page import show
from tandem_operator.plugin.screen import page

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
        "measuredAt": "2026-11-21T21:04:20Z",
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


def pod(ready: str = "True", name: str = "flights-replica-0-x", **metadata: str) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


PODS = (pod(),)


def lines(shown: dict[str, Any], pods: Sequence[dict[str, Any]] | None = PODS) -> str:
    """As in a pipe, without the spaces that make columns."""
    out = Console(file=io.StringIO(), width=160)
    show(out, page(shown, pods, NOW))
    assert isinstance(out.file, io.StringIO)
    found = [" ".join(line.split()) for line in out.file.getvalue().splitlines()]
    return "\n".join(line for line in found if "──" not in line)


def test_a_whole_job_is_safe_and_says_who_publishes() -> None:
    text = lines(body(*WHOLE))

    assert (
        text
        == """\
streaming/flights Running · leader · exactlyOnce
Safe: a failure of any one replica is masked

Replica Role Ready Epoch Behind Node Pod
replica-0 active yes 7 – n1 flights-replica-0-x

Published epoch 7 by replica-0
Lag 12 records that no replica has computed yet
Failover none yet
Ordering led by orderer-0
Replicas 2/2 active, 1/1 standbys
Measured 40 s ago"""
    )


def test_what_is_missing_makes_it_unsafe_and_is_told() -> None:
    text = lines(body(*WHOLE[:1], condition("Replicated", "False", "1 of 2 active replicas"), WHOLE[2]))

    assert "NOT SAFE: not Replicated" in text
    assert text.splitlines()[2] == "! Replicated=False: 1 of 2 active replicas", "what is wrong comes first"


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


@pytest.mark.parametrize(
    "pods",
    [(), (pod("False"),), (pod("Unknown"),), (pod(deletionTimestamp="2026-11-21T21:04:59Z"),), (pod(name="another"),)],
    ids=["gone", "not ready", "on a silent node", "leaving", "another one"],
)
def test_a_replica_whose_pod_is_not_ready_makes_it_unsafe_whatever_the_status_says(
    pods: Sequence[dict[str, Any]],
) -> None:
    text = lines(body(*WHOLE), pods)

    assert "NOT SAFE: not ready: replica-0" in text
    assert "Safe:" not in text


def test_a_pod_that_the_status_does_not_count_on_need_not_be_ready() -> None:
    starting = {"name": "replica-1", "pod": "flights-replica-1-x", "role": "starting", "ready": False}
    members = [body()["status"]["members"][0], starting]

    assert "\nSafe: a failure" in lines(body(*WHOLE, members=members))


def test_who_may_not_see_pods_is_told_that_nobody_looked_at_them() -> None:
    text = lines(body(*WHOLE), None)

    assert "\nSafe: a failure" in text
    assert "You may not list its pods" in text


@pytest.mark.parametrize(
    ("measured", "words"),
    [("2026-11-21T21:02:59Z", "2 min old"), ("2026-11-20T21:05:00Z", "1 d old"), (None, "has no time")],
)
def test_an_old_status_is_not_called_safe_and_it_is_said_what_to_look_at(measured: str | None, words: str) -> None:
    text = lines(body(*WHOLE, measuredAt=measured))

    assert f"NOT KNOWN: the status {'is ' if measured else ''}{words}" in text
    assert "Is the operator running? kubectl get pods" in text
    assert "Safe:" not in text


def test_an_old_status_that_was_bad_is_still_bad() -> None:
    assert "NOT SAFE: not Replicated, not OrderingAvailable" in lines(
        body(*WHOLE[:1], measuredAt="2026-11-20T21:05:00Z")
    )


def test_the_engine_is_shown_with_its_reason() -> None:
    words = "realTime: both engines publish the same rows of this job"

    assert f"\nEngine {words}\n" in lines(body(*WHOLE, engine=words))
    assert " Running · realTime · leader · " in lines(body(*WHOLE, engine=words))
    assert "Engine" not in lines(body(*WHOLE, engine="realTime"))
