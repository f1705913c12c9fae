"""Whatever is there, repeated passes lead to what the spec asks for, and break no promise on the way."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tandem.process.ending import EndKind
from tandem_operator.observed import Component, PodPhase
from tandem_operator.plan import plan
from tandem_operator.plan.roster import roster_of
from tandem_operator.plan.status import old_status
from tandem_operator.plan.version import version_of
from tandem_operator.resources.manifest import config_map_name, config_of
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_pods import Pod

_FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

_PODS = st.lists(
    st.builds(
        dict,
        index=st.integers(0, 4),
        phase=st.sampled_from(
            [PodPhase.PENDING, PodPhase.RUNNING, PodPhase.RUNNING, PodPhase.FAILED, PodPhase.SUCCEEDED]
        ),
        age=st.integers(0, 4),
        slots=st.integers(0, 3),
        fate=st.sampled_from(["", "", "", "deleting", "node_lost", "both", "drained", "by_itself", "broken"]),
        template=st.sampled_from(["old", "older"]),
    ),
    max_size=6,
)
_SPECS = st.builds(
    dict, replicas=st.integers(1, 3), standbys=st.integers(0, 2), mode=st.sampled_from(["leader", "heartbeat"])
)


def _spec(given_spec: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in given_spec.items() if name != "mode"}
    return {**rest, "ordering": {"mode": given_spec["mode"]}}


def _with_pods(cluster: TinyCluster, seen: list[dict[str, Any]]) -> TinyCluster:
    """A cluster in any state; who may hold a slot does."""
    for number, values in enumerate(seen):
        fate = values["fate"]
        pod = Pod(
            name=f"flights-replica-{values['index']}-old{number}",
            uid=f"old{number}",
            component=Component.MEMBER,
            index=values["index"],
            template=values["template"],
            manifest=config_map_name(cluster.job),
            config=config_of(cluster.job),
            slots=values["slots"],
            phase=values["phase"],
            age=values["age"],
            created_ms=cluster.now_ms - 60_000 + number,
            deleting=fate in ("deleting", "both"),
            node_lost=fate in ("node_lost", "both"),
            exit_code=0 if fate in ("drained", "by_itself") else None,
            end=EndKind.DRAINED if fate == "drained" else None,
            broken=fate == "broken",
        )
        cluster.pods[pod.name] = pod
        free = [slot for slot in range(pod.slots) if slot not in cluster.slots]
        if free and pod.runs and pod.age >= 2 and values["index"] % 2 == 0:
            cluster.slots[free[0]] = pod.incarnation
    return cluster


def _assert_as_asked(cluster: TinyCluster) -> None:
    spec = cluster.job.spec
    observed = cluster.observed()
    version = version_of(observed, SETTINGS, old_status(observed))
    roster = roster_of(observed, version)
    assert len(roster.actives) == spec.replicas, cluster.story()
    assert len(roster.standbys) == spec.standbys, cluster.story()
    assert not any(member.outdated for member in roster.members), cluster.story()
    members = [pod for pod in cluster.pods.values() if pod.component is Component.MEMBER]
    assert len({pod.index for pod in members}) == len(members) == spec.replicas + spec.standbys, cluster.story()
    assert cluster.status["phase"] == "Running"
    cluster.do(plan(observed, SETTINGS))  # figures may be due
    assert plan(cluster.observed(), SETTINGS) == ()


def _one(index: int, age: int = 0, slots: int = 0, fate: str = "") -> dict[str, Any]:
    """A pod that runs, if it has an age."""
    phase = PodPhase.RUNNING if age else PodPhase.PENDING
    return {"index": index, "phase": phase, "age": age, "slots": slots, "fate": fate, "template": "old"}


_ONE_STANDS_BY = [_one(0, fate="deleting"), _one(0, age=2), _one(1, age=2, slots=1), _one(2, age=2)]
_TWO_OF_ONE_REPLICA = [_one(0), _one(0, age=2), _one(0, age=2, slots=1)]
_TWO_WITH_SLOTS = [_one(0), _one(0), _one(2, age=2, slots=1), _one(2, age=2, slots=2)]
_THREE_OF_ONE_REPLICA = [_one(0), _one(0), _one(0, age=2, slots=1), _one(0, age=2, slots=2)]
_TWO_AND_OTHERS_THAT_FAIL = [_one(0, age=2), _one(0, age=2), _one(1, fate="broken"), _one(2, fate="broken")]


@_FEW
@given(_SPECS, _PODS)
@example({"replicas": 2, "standbys": 0, "mode": "leader"}, _ONE_STANDS_BY)
@example({"replicas": 1, "standbys": 2, "mode": "leader"}, _TWO_OF_ONE_REPLICA)
@example({"replicas": 1, "standbys": 2, "mode": "leader"}, _TWO_WITH_SLOTS)
@example({"replicas": 1, "standbys": 2, "mode": "leader"}, _THREE_OF_ONE_REPLICA)
@example({"replicas": 1, "standbys": 2, "mode": "leader"}, _TWO_AND_OTHERS_THAT_FAIL)
def test_any_set_of_pods_becomes_the_one_that_is_asked_for(spec: dict[str, Any], seen: list[dict[str, Any]]) -> None:
    cluster = _with_pods(TinyCluster(job(**_spec(spec))), seen)
    cluster.converge()
    _assert_as_asked(cluster)


@_FEW
@given(_SPECS, st.integers(1, 3), st.integers(0, 2))
def test_scaling_while_running_ends_with_the_new_counts(spec: dict[str, Any], replicas: int, standbys: int) -> None:
    cluster = TinyCluster(job(**_spec(spec)))
    cluster.converge()
    cluster.change(job(**_spec({**spec, "replicas": replicas, "standbys": standbys})))
    cluster.converge()
    _assert_as_asked(cluster)


@_FEW
@given(_SPECS, st.integers(0, 8), st.integers(0, 9))
def test_a_rollout_survives_the_loss_of_a_node_at_any_moment(spec: dict[str, Any], moment: int, which: int) -> None:
    cluster = TinyCluster(job(**_spec(spec)))
    cluster.converge()
    cluster.change(job(**_spec(spec), restartNonce=1))
    for _ in range(moment):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()
    alive = sorted(name for name, pod in cluster.pods.items() if not pod.node_lost)
    if alive:
        cluster.kill_node(cluster.pods[alive[which % len(alive)]])
    cluster.converge()
    _assert_as_asked(cluster)


@_FEW
@given(_SPECS, _PODS)
def test_a_suspended_job_has_no_pods_and_keeps_everything_else(
    spec: dict[str, Any], seen: list[dict[str, Any]]
) -> None:
    cluster = _with_pods(TinyCluster(job(**_spec(spec))), seen)
    cluster.converge()
    before = dict(cluster.objects)
    cluster.change(job(**_spec(spec), suspend=True))
    cluster.converge()
    assert not cluster.pods
    assert cluster.objects == before
    assert cluster.status["phase"] == "Suspended"
    cluster.change(job(**_spec(spec)))
    cluster.converge()
    _assert_as_asked(cluster)


@_FEW
@given(_SPECS, _PODS, st.integers(0, 6))
def test_a_pass_that_is_repeated_before_its_deeds_are_seen_asks_for_the_same_pods(
    spec: dict[str, Any], seen: list[dict[str, Any]], moment: int
) -> None:
    cluster = _with_pods(TinyCluster(job(**_spec(spec))), seen)
    for _ in range(moment):
        actions = plan(cluster.observed(), SETTINGS)
        cluster.do(actions)
        there = set(cluster.pods)
        cluster.do(tuple(action for action in actions if type(action).__name__ == "CreatePod"))
        assert set(cluster.pods) == there
        cluster.step()
    cluster.converge()
    _assert_as_asked(cluster)
