"""What a job's status says of how far it has got."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tandem.status.report import OrdererReport
from tandem_operator.actions import SetStatus
from tandem_operator.observed import Component, Observed, PodSeen
from tandem_operator.plan import plan
from tandem_operator.plan.figures import lag_of, published_epoch
from unit.operator.builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster


def running(**spec: Any) -> Observed:
    cluster = TinyCluster(job(**{"replicas": 2, **spec}))
    cluster.converge()
    return cluster.observed()


def telling(pod: PodSeen, **figures: Any) -> PodSeen:
    """`waiting`: what the orderer beside it says, if it leads."""
    waiting = figures.pop("waiting", None)
    assert pod.reported is not None
    orderer = None if waiting is None else OrdererReport(f"orderer-{pod.index}", True, 7, waiting)
    return replace(pod, reported=replace(pod.reported, **figures), orderer=orderer)


def with_pods(observed: Observed, *figures: dict[str, Any]) -> Observed:
    pods = tuple(telling(pod, **more) for pod, more in zip(observed.pods, figures, strict=True))
    return replace(observed, pods=pods)


def later(observed: Observed, ms: int) -> Observed:
    return replace(observed, now_ms=observed.now_ms + ms)


def status_of(observed: Observed) -> dict[str, Any]:
    """The status that is written now."""
    return next(dict(one.status) for one in plan(observed, SETTINGS) if isinstance(one, SetStatus))


def test_records_that_are_in_no_epoch_lag_too() -> None:
    observed = with_pods(running(), {"lag_records": 40, "waiting": 1_000}, {"lag_records": 30})

    assert lag_of(observed) == 1_030


def test_of_orderers_that_both_believe_to_lead_the_one_counts_that_has_read_farthest() -> None:
    observed = with_pods(running(), {"waiting": 1_000}, {"waiting": 50})
    first, second = observed.pods
    assert second.orderer is not None

    newer = replace(second, orderer=replace(second.orderer, epoch=8))

    assert lag_of(replace(observed, pods=(first, newer))) == 50


def test_an_orderer_that_does_not_lead_says_nothing_of_the_lag() -> None:
    observed = with_pods(running(), {"waiting": 1_000}, {})
    first, second = observed.pods
    assert first.orderer is not None

    watching = replace(first, orderer=replace(first.orderer, leading=False))

    assert lag_of(replace(observed, pods=(watching, second))) is None


def test_where_generators_beat_they_tell_what_waits() -> None:
    observed = running(ordering={"mode": "heartbeat", "generators": 1}, zookeeper=None)
    beating = [
        replace(pod, orderer=OrdererReport("generator-0", True, 7, 600))
        if pod.component is Component.GENERATOR
        else pod
        for pod in observed.pods
    ]

    assert lag_of(replace(observed, pods=tuple(beating))) == 600


def test_where_each_orders_for_itself_what_waits_is_its_own() -> None:
    figures = {"lag_records": 10, "waiting": 5}, {"lag_records": 0, "waiting": 20}
    observed = with_pods(running(ordering={"mode": "none"}, delivery="atLeastOnce", zookeeper=None), *figures)

    assert lag_of(observed) == 15


def test_a_replica_that_has_computed_nothing_yet_does_not_hide_what_lags() -> None:
    """Neither one without any state, nor one that has restored it and has not read the log yet."""
    for restored in (-1, 80):
        starting = {"lag_records": 0, "epoch": restored, "ready": False, "waiting": 5}
        observed = with_pods(running(), {"lag_records": 40, "lag_epochs": 3, "ready": False}, starting)

        assert lag_of(observed) == 45


def test_a_member_that_cannot_know_its_lag_shows_none() -> None:
    figures = {"state": "starting", "ready": False}, {"state": "standby", "epoch": -1, "followed_epoch": 80}
    rows = status_of(with_pods(running(), *figures))["members"]

    assert [(row.get("epoch"), row.get("lagRecords"), row.get("lagSeconds")) for row in rows][1] == (80, None, None)
    assert "lagRecords" not in rows[0]


def test_the_status_of_a_job_without_input_does_not_grow_old() -> None:
    observed = with_pods(running(), {"waiting": 0}, {})
    first = status_of(later(observed, 40_000))
    seen = replace(observed, status=first)

    assert plan(later(seen, 120_000), SETTINGS) == ()
    again = status_of(later(seen, 131_000))
    assert again.pop("measuredAt") > first.pop("measuredAt")
    assert again == first


def test_nor_is_it_written_while_no_replica_says_anything() -> None:
    observed = running()
    silent = replace(observed, pods=tuple(replace(pod, ready=False, reported=None) for pod in observed.pods))
    seen = replace(silent, status=status_of(silent))

    assert [one for one in plan(later(seen, 300_000), SETTINGS) if isinstance(one, SetStatus)] == []


def test_a_lag_that_nobody_tells_stays_as_it_was() -> None:
    observed = with_pods(running(), {"waiting": 70}, {})
    later = replace(observed, now_ms=observed.now_ms + 40_000)
    status = next(dict(one.status) for one in plan(later, SETTINGS) if isinstance(one, SetStatus))
    assert status["lag"] == 70

    silent = with_pods(replace(later, status=status, now_ms=later.now_ms + 40_000), {"epoch": 10**9}, {})
    status = next(dict(one.status) for one in plan(silent, SETTINGS) if isinstance(one, SetStatus))
    assert status["lag"] == 70


def test_a_backlog_that_changes_all_the_time_is_written_once_in_a_while_only() -> None:
    observed = with_pods(running(), {"waiting": 70}, {})
    later = replace(observed, now_ms=observed.now_ms + 40_000)
    status = next(dict(one.status) for one in plan(later, SETTINGS) if isinstance(one, SetStatus))

    growing = with_pods(replace(later, status=status, now_ms=later.now_ms + 5_000), {"waiting": 700}, {})
    assert plan(growing, SETTINGS) == ()


def test_what_is_published_is_told_not_what_is_computed() -> None:
    figures = {"epoch": 90, "published_epoch": 80}, {"epoch": 91, "published_epoch": 81}

    assert published_epoch(with_pods(running(), *figures), None) == 81


def test_a_candidate_tells_of_nothing_that_is_published() -> None:
    candidate = {"candidate": True, "published_epoch": 99}

    assert published_epoch(with_pods(running(), {"published_epoch": 80}, candidate), None) == 80


def test_replicas_that_began_anew_and_have_read_of_no_epoch_do_not_take_back_what_is_known() -> None:
    observed = with_pods(running(), {"published_epoch": -1}, {"published_epoch": -1})

    assert published_epoch(observed, 80) == 80
    assert published_epoch(observed, None) == -1
