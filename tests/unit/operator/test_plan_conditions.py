"""Each condition has another side: what makes it false or unknown, and what it says then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tandem.status.report import HeldInput, OrdererReport
from tandem_operator.actions import SetStatus
from tandem_operator.observed import Component, Observed, PodSeen
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster

Which = Callable[[PodSeen], bool]

HEARTBEAT = {"replicas": 2, "ordering": {"mode": "heartbeat", "generators": 2}}
UNORDERED = {"replicas": 2, "ordering": {"mode": "none"}, "delivery": "atLeastOnce"}
WITH_STANDBY = {"replicas": 2, "standbys": 1}


def running(**spec: Any) -> Observed:
    cluster = TinyCluster(job(**spec))
    cluster.converge()
    return cluster.observed()


def standing_by(pod: PodSeen) -> bool:
    return pod.role == "standby"


def beating(pod: PodSeen) -> bool:
    return pod.component is Component.GENERATOR


def first(pod: PodSeen) -> bool:
    return pod.index == 0


def second_beats(pod: PodSeen) -> bool:
    return beating(pod) and pod.index == 1


def without(which: Which, seen: Observed) -> Observed:
    return replace(seen, pods=tuple(pod for pod in seen.pods if not which(pod)))


def not_ready(which: Which, seen: Observed) -> Observed:
    return replace(seen, pods=tuple(replace(pod, ready=False) if which(pod) else pod for pod in seen.pods))


def silent(which: Which, seen: Observed) -> Observed:
    """They do not answer the operator."""
    return replace(seen, pods=tuple(replace(pod, reported=None) if which(pod) else pod for pod in seen.pods))


def held_back_widely(seen: Observed) -> Observed:
    """As a producer with a transaction over many partitions does."""
    holding = OrdererReport("orderer-1", held=tuple(HeldInput("events", p, 17, 4, 130.0) for p in range(300)))
    return replace(seen, pods=tuple(replace(pod, orderer=holding) if first(pod) else pod for pod in seen.pods))


def held_back(seen: Observed) -> Observed:
    """A producer's transaction is open in an input, as one orderer sees it."""
    holding = OrdererReport("orderer-1", held=(HeldInput("events", 0, 17, 4, 130.0),))
    return replace(seen, pods=(*seen.pods[:-1], replace(seen.pods[-1], orderer=holding)))


def unproved(seen: Observed) -> Observed:
    """No replica has proved a state that it follows."""
    pods = (replace(p, reported=p.reported and replace(p.reported, verified_epoch=-1)) for p in seen.pods)
    return replace(seen, pods=tuple(pods))


def unfit(seen: Observed) -> Observed:
    """On the replicas that stand by, the job's code raises."""
    pods = (replace(p, reported=p.reported and replace(p.reported, fault="no licence")) for p in unproved(seen).pods)
    return replace(seen, pods=tuple(pods))


def leaderless(seen: Observed) -> Observed:
    return replace(seen, leader=None)


def refused_by_kafka(words: str, seen: Observed) -> Observed:
    """One replica reports what Kafka does not take from it."""
    head, *others = seen.pods
    assert head.reported is not None
    return replace(seen, pods=(replace(head, reported=replace(head.reported, trouble=words)), *others))


def waiting(words: str, which: slice, seen: Observed) -> Observed:
    """Some replicas report what they wait for."""
    waits = [replace(p, reported=p.reported and replace(p.reported, waits_for=words)) for p in seen.pods[which]]
    rest = [pod for pod in seen.pods if pod not in seen.pods[which]]
    return replace(seen, pods=(*waits, *rest))


def without_snapshots(seen: Observed) -> Observed:
    """One replica reports that its snapshots do not get on."""
    head, *others = seen.pods
    assert head.reported is not None
    reported = replace(head.reported, waits_beside="the next snapshot, for 1 min")
    return replace(seen, pods=(replace(head, reported=reported), *others))


def nothing_is_cut(seen: Observed) -> Observed:
    """The orderer that leads waits for Kafka."""
    waits = OrdererReport("orderer-1", leading=True, waits_for="the cut of epoch 8: Kafka, for 50 s")
    return replace(seen, pods=(*seen.pods[:-1], replace(seen.pods[-1], orderer=waits)))


def never_told(seen: Observed) -> Observed:
    """There is no status yet."""
    return replace(seen, status={})


CASES: list[tuple[str, str, str, str, Callable[[], Observed]]] = [
    ("Ready", "True", "Active", "2 of 2 active", lambda: running(replicas=2)),
    ("Ready", "False", "RefusedByKafka", "out/0 waits", lambda: refused_by_kafka("out/0 waits", running(replicas=2))),
    (
        "Ready",
        "False",
        "StillWaiting",
        "replica-0 waits for epoch 7, for 50 s\nreplica-1 waits for epoch 7, for 50 s",
        lambda: waiting("epoch 7, for 50 s", slice(2), running(replicas=2)),
    ),
    (
        "Ready",
        "True",
        "Active",
        "2 of 2 active replicas have caught up. replica-0 waits for epoch 7",
        lambda: waiting("epoch 7, for 50 s", slice(1), running(replicas=2)),
    ),
    (
        "OrderingAvailable",
        "False",
        "StillWaiting",
        "orderer-1 waits for the cut of epoch 8: Kafka, for 50 s",
        lambda: nothing_is_cut(running(replicas=2)),
    ),
    (
        "Progressing",
        "True",
        "Complete",
        "as specified. replica-0 waits for the next snapshot",
        lambda: without_snapshots(running(replicas=2)),
    ),
    ("Replicated", "True", "AllActive", "2 of 2 active", lambda: running(replicas=2)),
    ("Replicated", "True", "AllActive", "1 of 1 active", lambda: running(replicas=1, standbys=1)),
    ("Replicated", "False", "SingleReplica", "Set spec.replicas: 2, or spec.standbys: 1", lambda: running(replicas=1)),
    ("Replicated", "False", "ReplicasMissing", "1 of 2", lambda: without(first, running(replicas=2))),
    ("Replicated", "False", "Suspended", "suspended", lambda: running(replicas=2, suspend=True)),
    ("OrderingAvailable", "True", "Elected", "orderer-0 leads", lambda: running(replicas=2)),
    (
        "OrderingAvailable",
        "True",
        "InputHeldBack",
        "events/0: a producer's transaction has been open at offset 17 for 2 min or longer, and 1 or more offsets",
        lambda: held_back(running(replicas=2)),
    ),
    ("OrderingAvailable", "False", "NoLeader", "ZooKeeper reachable", lambda: leaderless(running(replicas=2))),
    (
        "OrderingAvailable",
        "Unknown",
        "NoReport",
        "Not all orderers answer",
        lambda: never_told(silent(first, leaderless(running(replicas=2)))),
    ),
    (
        "OrderingAvailable",
        "True",
        "Elected",
        "orderer-0 leads",  # as long as nobody knows better
        lambda: silent(first, leaderless(running(replicas=2))),
    ),
    ("OrderingAvailable", "True", "Beating", "2 of 2 generators beat", lambda: running(**HEARTBEAT)),
    ("OrderingAvailable", "True", "Beating", "1 of 2", lambda: without(second_beats, running(**HEARTBEAT))),
    ("OrderingAvailable", "False", "NoBeat", "0 of 2", lambda: not_ready(beating, running(**HEARTBEAT))),
    ("OrderingAvailable", "True", "EachForItself", "cuts its own epochs", lambda: running(**UNORDERED)),
    ("OrderingAvailable", "False", "Suspended", "suspended", lambda: running(replicas=2, suspend=True)),
    ("StandbyFresh", "True", "Verified", "1 of 1 standbys follow", lambda: running(**WITH_STANDBY)),
    (
        *("OrderingAvailable", "True", "InputHeldBack", "and 295 more partitions"),
        lambda: held_back_widely(running(replicas=2)),
    ),
    ("StandbyFresh", "True", "NoneAskedFor", "no standbys", lambda: running(replicas=2)),
    ("StandbyFresh", "False", "StandbysMissing", "0 of 1", lambda: without(standing_by, running(**WITH_STANDBY))),
    ("StandbyFresh", "False", "NotVerified", "not all have verified", lambda: unproved(running(**WITH_STANDBY))),
    (
        "StandbyFresh",
        "False",
        "NotVerified",
        "replace none of them: no licence",
        lambda: unfit(running(**WITH_STANDBY)),
    ),
    ("StandbyFresh", "Unknown", "NoReport", "answer", lambda: silent(standing_by, running(**WITH_STANDBY))),
    ("StandbyFresh", "False", "Suspended", "suspended", lambda: running(**WITH_STANDBY, suspend=True)),
]


@pytest.mark.parametrize(
    ("name", "status", "reason", "words", "seen"),
    CASES,
    ids=[f"{one[0]}-{one[2]}-{one[3][:12]}" for one in CASES],
)
def test_a_condition_says_what_is_so_and_why(
    name: str, status: str, reason: str, words: str, seen: Callable[[], Observed]
) -> None:
    observed = seen()
    written = (action.status for action in plan(observed, SETTINGS) if isinstance(action, SetStatus))
    conditions: Any = next(written, observed.status)["conditions"]
    (found,) = (one for one in conditions if one["type"] == name)

    assert (found["status"], found["reason"]) == (status, reason)
    assert words in found["message"]


def test_a_standby_that_nothing_was_published_for_has_nothing_to_prove() -> None:
    """Else the alert StandbyStale would fire for every job without input."""
    seen = running(**WITH_STANDBY)
    pods = tuple(
        replace(pod, reported=replace(pod.reported, verified_epoch=-1, has_to_prove=False)) if pod.reported else pod
        for pod in seen.pods
    )
    status = next(dict(one.status) for one in plan(replace(seen, pods=pods), SETTINGS) if isinstance(one, SetStatus))

    fresh = next(one for one in status["conditions"] if one["type"] == "StandbyFresh")
    assert (fresh["status"], fresh["reason"]) == ("True", "NothingToProve")
