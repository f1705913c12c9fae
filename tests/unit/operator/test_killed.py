"""An operator that is killed in the middle of a pass, and starts again, ends where one ends that was not.

The status is written last: so whoever is killed before the end of a pass has lost it, too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_api import KilledError, kills_before
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_world import World

BASE: dict[str, Any] = {"replicas": 2, "standbys": 1, "snapshots": {"store": "s3://b/x"}}
IMAGE = "example.com/tandem:2"
OPTIONS = {"file": "job.py", "options": {"late": "5"}}
HEARTBEAT = {"ordering": {"mode": "heartbeat"}}


@dataclass(frozen=True)
class Change:
    """A job with each of these specs in turn, and then with these annotations; the last one is the change.

    `pauses` : the reader may notice it. `breaks`: pods of the last spec never come up.
    """

    specs: tuple[Mapping[str, Any], ...] = ({},)
    requests: Mapping[str, str] = field(default_factory=dict)
    pauses: bool = False
    breaks: bool = False

    def begun(self) -> TinyCluster:
        """When the user has just made the change."""
        first, *more = (job(**{**BASE, **spec}) for spec in self.specs)
        cluster = TinyCluster(first)
        for spec in more:
            cluster.converge()
            cluster.change(spec)
        if self.requests:
            cluster.converge()
            cluster.annotations = {f"tandem.dev/{name}": value for name, value in self.requests.items()}
        good = {pod.template for pod in cluster.pods.values()}
        cluster.breaks = lambda template: self.breaks and template not in good
        return cluster


CHANGES = {
    "create": Change(pauses=True),
    "create with generators": Change((HEARTBEAT,), pauses=True),
    "more replicas": Change(({}, {"replicas": 3})),
    "fewer replicas": Change(({"replicas": 3}, {})),
    "more standbys": Change(({}, {"standbys": 2})),
    "no standbys": Change(({}, {"standbys": 0})),
    "suspend": Change(({}, {"suspend": True}), pauses=True),
    "resume": Change(({}, {"suspend": True}, {}), pauses=True),
    "restart": Change(({}, {"restartNonce": 1})),
    "restart with generators": Change((HEARTBEAT, {**HEARTBEAT, "restartNonce": 1})),
    "leader to heartbeat": Change(({}, HEARTBEAT)),
    "heartbeat to leader": Change((HEARTBEAT, {})),
    "image": Change(({}, {"image": IMAGE})),
    "image that breaks": Change(({}, {"image": IMAGE}), breaks=True),
    "generation": Change(({}, {"job": OPTIONS})),
    "generation that breaks": Change(({}, {"job": OPTIONS}), breaks=True),
    "savepoint": Change(requests={"savepoint": "before@1"}),
    "savepoint by nonce": Change(({}, {"savepointNonce": 1})),
    "promotion": Change(requests={"promote": "replica-2@1"}),
    "drain": Change(requests={"drain": "replica-0@1"}),
    "fence": Change(requests={"fence": "replica-1@1"}),
}
each_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


def goes_by(cluster: TinyCluster, change: Change, steps: int) -> None:
    """So much time."""
    for _ in range(steps):
        cluster.step()
        assert change.pauses or any(cluster.publishes(pod) for pod in cluster.pods.values()), cluster.story()


def passes(cluster: TinyCluster, change: Change) -> Iterator[int]:
    """Passes until nothing is left to do. Yields before each one how many actions it has."""
    idle = 0
    while idle < 4:
        actions = plan(cluster.observed(), SETTINGS)
        yield len(actions)
        cluster.do(actions)
        goes_by(cluster, change, 1)
        idle = 0 if actions else idle + 1


def killed(cluster: TinyCluster, change: Change, after: int, away: int) -> None:
    """A pass of which only the first actions are carried out; the next operator starts `away` steps later."""
    cluster.do(plan(cluster.observed(), SETTINGS)[:after])
    goes_by(cluster, change, away)


def completed(cluster: TinyCluster, change: Change) -> dict[str, Any]:
    """What comes of it in the end. Which replica is the one too many, time may decide."""
    for number, _ in enumerate(passes(cluster, change)):
        assert number < 120, f"no end: {cluster.story()}"
    status = cluster.status
    return {
        "pods": sorted((pod.component, pod.template, pod.config) for pod in cluster.pods.values()),
        "replicas": len({(pod.component, pod.index) for pod in cluster.pods.values()}),
        "pods ever made": cluster.made - candidates_made(cluster),
        "objects": sorted(cluster.objects),
        "revisions": sorted(cluster.revisions),
        "tasks left": list(cluster.tasks),
        "phase": status["phase"],
        "conditions": [(one["type"], one["status"], one["reason"]) for one in status["conditions"]],
        "history": [entry["reason"] for entry in status.get("history", ())],
        "requests": {
            name: (request["value"], request["outcome"]) for name, request in status.get("requests", {}).items()
        },
    }


def candidates_made(cluster: TinyCluster) -> int:
    """How many pods were ever made to begin a generation."""
    return sum(told.startswith("create flights-candidate-") for told in cluster.log)


@each_change
def test_wherever_an_operator_is_killed_the_next_one_ends_where_it_would_have_ended(change: Change) -> None:
    undisturbed, cluster = change.begun(), change.begun()
    expected, candidates = completed(undisturbed, change), candidates_made(undisturbed)
    for number, count in enumerate(passes(cluster, change)):
        for after in range(count):
            there = copy.deepcopy(cluster)
            killed(there, change, after, away=1 + after % 3)
            found = completed(there, change)
            assert found == expected, f"killed in pass {number} after {after} of {count} actions: {there.story()}"
            assert candidates_made(there) == candidates, there.story()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example("generation", [(3, 1), (1, 1), (1, 1), (1, 4)])
@given(
    st.sampled_from(sorted(CHANGES)), st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=2, max_size=9)
)
def test_operators_that_are_killed_one_after_the_other_lead_there_too(name: str, deaths: list[tuple[int, int]]) -> None:
    """While nobody acts, the first candidate may begin the generation: the second one then is not needed any more."""
    change = CHANGES[name]
    undisturbed, cluster = change.begun(), change.begun()
    for after, away in deaths:
        killed(cluster, change, after, away)
    assert completed(cluster, change) == completed(undisturbed, change), cluster.story()
    assert candidates_made(cluster) <= candidates_made(undisturbed), cluster.story()


def looked_at(world: World) -> set[tuple[str, str]]:
    """Some passes, also by another operator if one is killed; kinds and names of what the job has then."""
    for _ in range(4):
        try:
            world.passes()
        except KilledError:
            world.restarts()
        world.watch()
    return {(kind, name) for kind, name in world.api.objects if kind != "Event"}


@pytest.mark.parametrize("spec", [{"standbys": 1}, HEARTBEAT, {"executors": {"instances": 1}}], ids=str)
def test_a_job_is_made_once_whichever_write_an_operator_is_killed_before(spec: dict[str, Any]) -> None:
    whole = World(**spec)
    expected = looked_at(whole)
    for killed_before in range(len(whole.api.done)):
        world = World(**spec)
        world.api.refuse = kills_before(killed_before)
        assert looked_at(world) == expected
        assert world.api.progressing()["reason"] == "Starting"
