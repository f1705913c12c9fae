"""A job with lanes: a job for each, changed so many at a time as may be, and one status of all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from tandem.manifest import KIND, parse
from tandem_operator.actions import Apply, Ask, Emit, SetStatus
from tandem_operator.api import ApiError
from tandem_operator.lane_seen import seen_lanes
from tandem_operator.lanes import plan_lanes, wanted_lane
from tandem_operator.manifests import job_of
from tandem_operator.observed import Component
from tandem_operator.plan.times import written
from tandem_operator.reconciler import PATIENCE, STEADY_S
from tandem_operator.resources import Settings, tasks
from tandem_operator.resources.manifest import runtime_tree
from tandem_operator.resources.pods import pod
from tandem_operator.store import Key
from tandem_operator.wiring import Intake
from unit.operator.operator_builders import SETTINGS, UID, tree
from unit.operator.tiny_api import FORBIDDEN, refuses
from unit.operator.tiny_world import KEY, TERMINATING, World

FOUR = {"lanes": 4}
NOW_MS = 1_800_000_000_000


def whole(**spec: Any) -> dict[str, Any]:
    body = tree(**{**FOUR, **spec})
    return {**body, "metadata": {**body["metadata"], "uid": UID, "generation": 1}}


def conditions(ready: str, progressing: str = "True") -> list[dict[str, Any]]:
    said = {"Ready": ready, "Progressing": progressing, "Diverged": "False", "Suspended": "False"}
    time = "2027-01-15T08:00:00Z"
    return [
        {"type": kind, "status": status, "reason": "R", "message": f"{kind} {status}", "lastTransitionTime": time}
        for kind, status in said.items()
    ]


def may_follow(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """The rule snapshot-store-stays: the API server refuses anything else."""
    stores = [spec.get("snapshots", {}).get("store") for spec in (new, old)]
    is_suspended = bool(new.get("suspend") and old.get("suspend"))
    return stores[1] in (None, stores[0]) or is_suspended


@dataclass
class Lanes:
    """A whole job, and the jobs of its lanes, which the test moves on."""

    body: dict[str, Any]
    jobs: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def change(self, **spec: Any) -> None:
        metadata = {**self.body["metadata"], "generation": self.body["metadata"]["generation"] + 1}
        self.body = {**self.body, "metadata": metadata, "spec": {**self.body["spec"], **spec}}

    def passes(self, trouble: str = "", now_ms: int = NOW_MS, settings: Settings = SETTINGS) -> list[int]:
        """The lanes that were made or changed."""
        found = seen_lanes(UID, self.jobs.values())
        applied = []
        for action in plan_lanes(self.body, job_of(self.body), found, settings, now_ms, trouble):
            match action:
                case Apply(thing):
                    lane = thing["spec"]["laneOf"]["lane"]
                    assert lane not in self.jobs or may_follow(thing["spec"], self.jobs[lane]["spec"])
                    applied.append(lane)
                    old = self.jobs.get(lane, {"metadata": {"generation": 0}})
                    generation = old["metadata"]["generation"] + 1
                    metadata = {**thing["metadata"], "generation": generation, "uid": f"lane-{lane}"}
                    self.jobs[lane] = {**thing, "metadata": metadata, "status": old.get("status", {})}
                case Ask(name, _, change):
                    (lane,) = (lane for lane, one in self.jobs.items() if one["metadata"]["name"] == name)
                    self.asked.append(lane)
                    one = self.jobs[lane]
                    annotations = one["metadata"]["annotations"] | change.get("metadata", {}).get("annotations", {})
                    metadata = {**one["metadata"], "annotations": annotations}
                    self.jobs[lane] = {**one, "metadata": metadata, "spec": {**one["spec"], **change.get("spec", {})}}
                case SetStatus(status):
                    self.body = {**self.body, "status": status}
                case Emit():
                    self.events.append(action.reason)
        return sorted(applied)

    def says(self, lane: int, ready: str = "True", progressing: str = "True", **more: Any) -> None:
        job = self.jobs[lane]
        phase = "Running" if ready == "True" else "Degraded"
        status = {"phase": phase, "observedGeneration": job["metadata"]["generation"], "active": "2/2", "replicas": 2}
        self.jobs[lane] = {**job, "status": {**status, "conditions": conditions(ready, progressing), **more}}

    @property
    def status(self) -> Mapping[str, Any]:
        return self.body["status"]

    def condition(self, kind: str) -> Mapping[str, Any]:
        return next(one for one in self.status["conditions"] if one["type"] == kind)


@pytest.fixture
def running() -> Lanes:
    lanes = Lanes(whole())
    assert lanes.passes() == [0, 1, 2, 3]
    for lane in range(4):
        lanes.says(lane)
    assert lanes.passes() == []
    return lanes


def test_every_lane_is_a_job_that_the_whole_owns() -> None:
    body = whole(snapshots={"store": "s3://bucket/x"})
    body["metadata"]["labels"] = {"team": "a"}
    body["metadata"]["annotations"] = {"tandem.dev/savepoint": "before@1", "tandem.dev/promote": "replica-1"}
    made = wanted_lane(body, job_of(body), 2)
    assert made["metadata"]["name"] == "flights-lane-2"
    assert (
        made["metadata"]["labels"] | {"team": "a", "tandem.dev/lanes-of": "flights", "tandem.dev/lane": "2"}
        == (made["metadata"]["labels"])
    )
    assert [owner["uid"] for owner in made["metadata"]["ownerReferences"]] == [UID]
    assert list(made["metadata"]["annotations"]) == ["tandem.dev/applied"], "requests of the past are none of a new lane"
    assert job_of(made).spec.snapshots == job_of(body).spec.snapshots


def test_the_processes_of_a_lane_read_the_manifest_of_the_whole_and_are_told_which_lane_they_are() -> None:
    lane = job_of(wanted_lane(whole(), job_of(whole()), 2))
    read = parse(runtime_tree(lane))
    assert (read.name, read.spec.lanes, read.spec.lane_of) == ("flights", 4, None)
    made = pod(lane, "uid", SETTINGS, Component.MEMBER, 0, "flights-lane-2-replica-0-abcde")
    for container in made["spec"]["containers"]:
        assert container["args"][container["args"].index("--lane") + 1] == "2"
    task = tasks.savepoint(lane, "uid", SETTINGS, "before", "1")
    assert task["spec"]["containers"][0]["args"][-2:] == ["--lane", "2"]
    spread = made["spec"]["topologySpreadConstraints"][-1]
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert spread["labelSelector"]["matchLabels"].items() <= made["metadata"]["labels"].items()


def test_a_job_without_lanes_has_neither_option_nor_label() -> None:
    made = pod(job_of(whole(lanes=1)), "uid", SETTINGS, Component.MEMBER, 0, "flights-replica-0-abcde")
    assert all("--lane" not in container["args"] for container in made["spec"]["containers"])
    assert "tandem.dev/lanes-of" not in made["metadata"]["labels"]
    assert len(made["spec"]["topologySpreadConstraints"]) == 1


def test_a_change_goes_from_lane_to_lane_and_waits_for_each(running: Lanes) -> None:
    running.change(replicas=3)
    for lane in range(4):
        assert running.passes() == [lane]
        assert running.passes() == [], "the lane that was changed is not available yet"
        running.says(lane)
    assert running.passes() == []


def test_a_lane_that_still_changes_its_replicas_is_waited_for(running: Lanes) -> None:
    running.change(replicas=3)
    assert running.passes() == [0]
    running.says(0, phase="Upgrading")
    assert running.passes() == []


def test_so_many_lanes_change_at_a_time_as_may_be_unavailable(running: Lanes) -> None:
    running.change(replicas=3, maxUnavailableLanes=3)
    assert running.passes() == [0, 1, 2]
    running.says(1)
    assert running.passes() == [3]


def test_a_change_that_fails_stops_at_the_first_lane(running: Lanes) -> None:
    running.change(image="example.com/broken:1")
    assert running.passes() == [0]
    running.says(0, progressing="False")
    assert running.passes() == []
    assert "1 of 4 lanes: lane 0: Progressing False" in running.condition("Progressing")["message"]


def test_a_lane_that_is_down_is_changed_first_so_that_it_can_be_repaired(running: Lanes) -> None:
    running.says(2, ready="False")
    running.says(3, ready="False")
    running.change(image="example.com/repaired:2")
    assert running.passes() == [2, 3]
    running.says(2)
    running.says(3)
    assert running.passes() == [0]


def test_a_job_is_suspended_as_a_whole_and_goes_on_as_a_whole(running: Lanes) -> None:
    running.change(suspend=True)
    assert running.passes() == [0, 1, 2, 3]
    for lane in range(4):
        running.says(lane, ready="False", phase="Suspended")
    running.passes()
    running.change(suspend=False)
    assert running.passes() == [0, 1, 2, 3]


def moves_on(lanes: Lanes, lane: int) -> list[list[int]]:
    """Passes, in between which the lane does what it is asked for: the lanes that were changed in each."""
    found = []
    for _ in range(6):
        found.append(lanes.passes())
        if lanes.jobs[lane]["spec"].get("suspend"):
            lanes.says(lane, ready="False", phase="Suspended")
        else:
            lanes.says(lane)
    return found


def test_a_store_that_changed_while_the_job_was_suspended_for_a_moment_only_is_changed_lane_by_lane() -> None:
    lanes = Lanes(whole(lanes=2, snapshots={"store": "s3://a"}))
    lanes.passes()
    for lane in range(2):
        lanes.says(lane)
    lanes.passes()
    lanes.change(snapshots={"store": "s3://b"})
    assert lanes.passes() == [0]
    assert lanes.jobs[0]["spec"] == lanes.jobs[0]["spec"] | {"suspend": True, "snapshots": {"store": "s3://a"}}
    assert lanes.passes() == [], "it has to stop first"
    lanes.says(0, ready="False", phase="Suspended")
    assert moves_on(lanes, 0)[:3] == [[0], [0], [1]]
    lanes.says(1, ready="False", phase="Suspended")
    moves_on(lanes, 1)
    specs = [lane["spec"] for lane in lanes.jobs.values()]
    assert [(spec["snapshots"], spec.get("suspend", False)) for spec in specs] == [({"store": "s3://b"}, False)] * 2
    assert lanes.passes() == []


def test_a_store_that_changed_before_any_pass_saw_the_job_suspended_is_changed_in_all_lanes() -> None:
    lanes = Lanes(whole(lanes=2, snapshots={"store": "s3://a"}))
    lanes.passes()
    lanes.change(suspend=True, snapshots={"store": "s3://b"})
    assert lanes.passes() == [0, 1]
    for lane in range(2):
        lanes.says(lane, ready="False", phase="Suspended")
    assert lanes.passes() == [0, 1]
    assert [lane["spec"]["snapshots"]["store"] for lane in lanes.jobs.values()] == ["s3://b"] * 2
    lanes.change(suspend=False)
    assert lanes.passes() == [0, 1], "no lane is available, so all go on"


def test_the_status_says_how_many_lanes_are_ready_and_which_are_not(running: Lanes) -> None:
    assert (running.status["lanes"], running.status["phase"], running.status["active"]) == ("4/4", "Running", "8/8")
    running.says(1, ready="False", lag=70)
    running.passes()
    assert (running.status["lanes"], running.status["phase"], running.status["lag"]) == ("3/4", "Degraded", 70)
    assert [one["lane"] for one in running.status["degradedLanes"]] == [1]
    assert running.condition("Ready")["message"] == "1 of 4 lanes: lane 1: Ready False"
    assert "NotReady" in running.events


def test_a_lane_that_says_nothing_yet_is_not_taken_for_good() -> None:
    lanes = Lanes(whole())
    lanes.passes()
    lanes.says(0)
    lanes.passes()
    assert (lanes.status["lanes"], lanes.status["phase"]) == ("1/4", "Pending")
    assert lanes.condition("Ready")["status"] == "Unknown"
    assert "Resumed" not in lanes.events


def test_a_quiet_job_whose_lanes_measure_the_same_says_so_every_ninety_seconds(running: Lanes) -> None:
    times = [running.status["measuredAt"]]
    for passed_s in range(10, 200, 10):
        now_ms = NOW_MS + 1_000 * passed_s
        for lane in range(4):
            running.says(lane, measuredAt=written(now_ms))
        running.passes(now_ms=now_ms)
        times.append(running.status["measuredAt"])
    assert list(dict.fromkeys(times)) == [written(NOW_MS + ms) for ms in (0, 90_000, 180_000)]
    for passed_s in (600, 700, 800):
        running.passes(now_ms=NOW_MS + 1_000 * passed_s)
    assert running.status["measuredAt"] == written(NOW_MS + 600_000), "the lanes have measured nothing since"


@pytest.mark.parametrize(("lag", "every_s"), [(0, 20.0), (None, 10.0)])
def test_how_often_figures_are_written_is_a_setting_of_the_operator(
    running: Lanes, lag: int | None, every_s: float
) -> None:
    settings = replace(SETTINGS, figures_every_s=10.0, same_figures_every_s=20.0)
    written_at = []
    for passed_s in range(1, 42):
        now_ms = NOW_MS + 1_000 * passed_s
        for lane in range(4):
            running.says(lane, measuredAt=written(now_ms), lag=passed_s if lag is None else lag)
        if running.passes(now_ms=now_ms, settings=settings) == [] and running.status["measuredAt"] == written(now_ms):
            written_at.append(passed_s)
    times = [later - earlier for earlier, later in pairwise(written_at)]
    assert times == [every_s] * len(times)
    assert times


@pytest.mark.parametrize("deleted", [1, 4])
def test_lanes_jobs_that_somebody_deletes_degrade_the_whole(running: Lanes, deleted: int) -> None:
    for lane in range(deleted):
        running.jobs[lane]["status"]["phase"] = "Deleting"
    running.passes()
    assert running.status["phase"] == "Degraded"


def test_one_diverged_lane_is_a_diverged_job(running: Lanes) -> None:
    said = [{**one, "status": "True"} if one["type"] == "Diverged" else one for one in conditions("True")]
    running.says(3, conditions=said)
    running.passes()
    assert running.condition("Diverged")["status"] == "True"


def test_a_status_that_has_not_changed_is_not_written(running: Lanes) -> None:
    before = running.body
    assert running.passes() == []
    assert running.body is before


def test_what_the_server_refuses_is_said(running: Lanes) -> None:
    running.passes("flights-lane-2 exists, and belongs to somebody else")
    assert running.condition("Progressing")["reason"] == "ApiRefused"
    assert "belongs to somebody else" in running.condition("Progressing")["message"]


def test_an_operator_makes_the_lanes_and_no_pods() -> None:
    world = World(lanes=2)
    world.passes()
    assert world.api.named(KIND) == ["flights", "flights-lane-0", "flights-lane-1"]
    assert world.api.named("Pod") == []


def test_an_operator_that_does_not_know_the_lanes_yet_asks_before_it_makes_them_again() -> None:
    world = World(lanes=2)
    world.passes()
    applied = world.api.writes("apply")
    world.passes()
    assert world.api.writes("apply") == applied, "the watches have told nothing, but the server knows them"


@pytest.mark.parametrize("error", [ApiError(429, "TooManyRequests", "later"), FORBIDDEN])
def test_when_the_server_refuses_a_lane_for_what_it_would_refuse_all_for_no_other_is_tried(error: ApiError) -> None:
    world = World(lanes=4)
    tried: list[str] = []

    def refuse(verb: str, kind: str, name: str) -> ApiError | None:
        if (verb, kind) != ("apply", KIND):
            return None
        tried.append(name)
        return error

    world.api.refuse = refuse
    assert world.refused() is error
    assert tried == ["flights-lane-0"]


def test_a_quota_keeps_no_change_from_the_lanes_that_are_there() -> None:
    world = World(lanes=2)
    world.passes()
    world.watch()
    del world.api.objects[KIND, "flights-lane-0"]
    world.store.see_job(world.store.jobs[Key(KEY.namespace, "flights-lane-0")], gone=True)
    body = world.job
    metadata = {**body["metadata"], "generation": 2}
    world.api.put({**body, "metadata": metadata, "spec": {**body["spec"], "replicas": 3}})
    world.watch()
    world.api.refuse = refuses("apply", KIND, "flights-lane-0")
    world.refused()
    assert world.api.objects[KIND, "flights-lane-1"]["spec"]["replicas"] == 3


def test_a_foreign_job_with_the_name_of_a_lane_is_left_alone() -> None:
    world = World(lanes=2)
    other = tree(lanes=2, laneOf={"job": "flights", "lane": 1})
    named = {"name": "flights-lane-1", "uid": "foreign", "labels": {"tandem.dev/lanes-of": "flights"}}
    world.api.put({**other, "metadata": {**other["metadata"], **named}})
    with pytest.raises(ApiError, match="belongs to somebody else"):
        world.passes()
    assert world.api.objects[KIND, "flights-lane-1"]["metadata"]["uid"] == "foreign"
    said = {one["type"]: one for one in world.job["status"]["conditions"]}
    assert "belongs to somebody else" in said["Progressing"]["message"]


def test_lanes_that_are_refused_are_not_told_of_as_created() -> None:
    world = World(lanes=2)
    world.api.refuse = refuses("apply", KIND)
    for _ in range(3):
        world.refused()
    assert "LanesCreated" not in [reason for _, reason in world.api.events()]
    assert world.api.progressing()["reason"] == "ApiRefused"

    world.api.refuse = lambda *_: None
    world.passes()
    assert [reason for _, reason in world.api.events()].count("LanesCreated") == 1


def test_a_server_that_is_busy_for_a_moment_is_no_news_of_a_job_with_lanes() -> None:
    world = World(lanes=2)
    busy = ApiError(503, "", "the server is busy")
    world.api.refuse = lambda verb, *_: busy if verb == "apply" else None
    for _ in range(PATIENCE):
        assert world.refused() is busy
    assert world.api.done == []

    world.refused()
    assert "the server is busy" in world.api.progressing()["message"]


def test_lanes_in_a_namespace_that_is_deleted_are_no_failure() -> None:
    world = World(lanes=2)
    world.api.refuse = lambda verb, *_: TERMINATING if verb == "apply" else None
    assert world.passes() == STEADY_S


def test_what_happens_to_a_lane_wakes_the_whole() -> None:
    world = World(lanes=2)
    woken: list[Key] = []

    class Loop:
        def wake(self, key: Key) -> None:
            woken.append(key)

        def forget(self, key: Key) -> None:
            woken.append(key)

    body = wanted_lane(world.body, job_of(world.body), 1)
    seen = {**body, "metadata": {**body["metadata"], "uid": "x"}}
    asyncio.run(Intake(world.store, Loop()).job_event("ADDED", seen))
    assert woken == [Key(KEY.namespace, "flights-lane-1"), KEY]


def test_what_many_lanes_have_to_say_is_cut_to_what_a_condition_may_hold() -> None:
    lanes = Lanes(whole(lanes=8))
    lanes.passes()
    for one in lanes.jobs.values():
        long = [{**said, "message": "x" * 30_000} for said in conditions("False")]
        one["status"] = {"phase": "Degraded", "conditions": long}
    found = seen_lanes(UID, lanes.jobs.values())
    (status,) = (
        a.status
        for a in plan_lanes(lanes.body, job_of(lanes.body), found, SETTINGS, NOW_MS)
        if isinstance(a, SetStatus)
    )

    assert max(len(one["message"]) for one in status["conditions"]) == 32_768
