"""Who fails now, and who did long ago."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.process.ending import EndKind
from tandem_operator.observed import Component, ContainerSeen, Observed, PodPhase, PodSeen
from tandem_operator.plan.failures import (
    ends_again,
    failure,
    failure_beside,
    has_hope,
    is_stopped,
    nobody_works,
    refuses,
)
from unit.operator.operator_builders import UID, job

NOW_MS = 1_800_000_000_000
TIMEOUT_S = 900.0


def pod(
    created_s: float = 0, started_s: float = 0, restarts: int = 0, beside: tuple[ContainerSeen, ...] = ()
) -> PodSeen:
    """`created_s` and `started_s`: so long ago; 0: it does not run."""
    return PodSeen(
        "flights-replica-0-aaaaa",
        "u",
        Component.MEMBER,
        0,
        "t",
        PodPhase.RUNNING,
        created_ms=NOW_MS - int(created_s * 1000),
        started_ms=NOW_MS - int(started_s * 1000) if started_s else 0,
        restarts=restarts,
        beside=beside,
    )


@pytest.mark.parametrize(("started_s", "fails"), [(0, True), (599, True), (600, False), (86_400, False)])
def test_what_has_run_for_ten_minutes_does_not_end_again_and_again(started_s: float, fails: bool) -> None:
    assert ends_again(pod(100_000, started_s, restarts=3), NOW_MS) is fails


@pytest.mark.parametrize(("started_s", "refused"), [(0, True), (599, True), (600, False)])
def test_what_has_run_for_ten_minutes_since_it_refused_to_does_not_refuse(started_s: float, refused: bool) -> None:
    once = replace(pod(100_000, started_s, restarts=1), exit_code=78, message="no topic")

    assert refuses(once, NOW_MS) is refused
    assert ("refuses to run: no topic" in failure(once, NOW_MS, TIMEOUT_S)) is refused


def standing(*pods: PodSeen) -> Observed:
    return Observed(job(replicas=2), UID, 1, NOW_MS, pods=pods)


def test_a_job_stands_still_when_all_that_could_work_refuse_to() -> None:
    refusing = replace(pod(60), exit_code=78)
    starting = replace(pod(60), index=1)
    without_node = replace(starting, phase=PodPhase.PENDING, waits="Unschedulable")
    lost = replace(starting, phase=PodPhase.LOST, node_lost=True)

    assert is_stopped(standing(refusing, replace(refusing, index=1)))
    assert is_stopped(standing(refusing, without_node))
    assert is_stopped(standing(refusing, lost))
    assert not is_stopped(standing(refusing, starting))
    assert not is_stopped(standing(refusing, replace(starting, phase=PodPhase.PENDING)))
    assert not is_stopped(standing(without_node))
    assert not is_stopped(standing())


def test_a_candidate_on_a_lost_node_may_work_until_kubernetes_gives_its_pod_up() -> None:
    refusing = replace(pod(60), exit_code=78)
    candidates = (
        replace(refusing, component=Component.CANDIDATE),
        replace(pod(60), component=Component.CANDIDATE, index=1),
    )
    lost = replace(candidates[1], phase=PodPhase.LOST, node_lost=True)

    assert not nobody_works(standing(refusing, *candidates))
    assert not nobody_works(standing(refusing, candidates[0], lost))
    assert nobody_works(standing(refusing, candidates[0], replace(lost, deleting=True)))


def test_what_ended_twice_may_come_up_yet() -> None:
    assert not ends_again(pod(60, restarts=2), NOW_MS)


def test_the_time_to_reach_the_head_counts_from_the_last_start() -> None:
    assert failure(pod(86_400, started_s=100, restarts=1), NOW_MS, TIMEOUT_S) == ""
    assert "has not caught up after 900 s" in failure(pod(86_400, started_s=901, restarts=1), NOW_MS, TIMEOUT_S)
    assert "has not caught up after 900 s" in failure(pod(901), NOW_MS, TIMEOUT_S)


def test_one_that_was_at_the_head_has_its_time_again_when_it_falls_behind() -> None:
    blinked = replace(pod(86_400, started_s=86_000), unready_ms=NOW_MS - 5_000)

    assert failure(blinked, NOW_MS, TIMEOUT_S) == ""
    assert "has not caught up" in failure(replace(blinked, unready_ms=NOW_MS - 901_000), NOW_MS, TIMEOUT_S)


def test_one_whose_last_words_are_of_a_divergence_has_none_although_it_runs_again() -> None:
    again = replace(pod(100, started_s=5, restarts=1), exit_code=78, end=EndKind.DIVERGED)

    assert "computed other rows" in failure(again, NOW_MS, TIMEOUT_S)
    assert not has_hope(again, NOW_MS, TIMEOUT_S)


def test_what_refuses_to_run_has_hope_for_a_few_times_and_until_its_deadline() -> None:
    refused = replace(pod(100, restarts=2), exit_code=78)

    assert has_hope(refused, NOW_MS, TIMEOUT_S)
    assert not has_hope(replace(refused, restarts=3), NOW_MS, TIMEOUT_S)
    assert not has_hope(replace(refused, created_ms=NOW_MS - 901_000), NOW_MS, TIMEOUT_S)
    assert not has_hope(replace(refused, exit_code=1), NOW_MS, TIMEOUT_S)
    assert has_hope(pod(100, beside=(ContainerSeen("orderer", exit_code=78),)), NOW_MS, TIMEOUT_S)


def test_a_container_beside_the_replica_is_named_when_it_refuses_or_ends_again_and_again() -> None:
    refused = pod(beside=(ContainerSeen("orderer", exit_code=78, message="no quorum"),))
    ended = pod(beside=(ContainerSeen("shipper", restarts=3, exit_code=1),))

    assert failure_beside(refused, NOW_MS) == "orderer beside replica-0 refuses to run: no quorum"
    assert failure_beside(ended, NOW_MS) == "shipper beside replica-0 ended 3 times"
    assert failure(refused, NOW_MS, TIMEOUT_S) == failure_beside(refused, NOW_MS)


def test_a_container_that_refused_once_and_is_ready_now_does_not_fail() -> None:
    assert failure_beside(pod(beside=(ContainerSeen("orderer", ready=True, restarts=1, exit_code=78),)), NOW_MS) == ""
