"""A job with lanes: a job for each, changed so many at a time as may be, and one status of all."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from tandem.manifest import parse
from tandem_operator.actions import SetStatus
from tandem_operator.lane_seen import seen_lanes
from tandem_operator.lanes import plan_lanes, wanted_lane
from tandem_operator.manifests import job_of
from tandem_operator.observed import Component
from tandem_operator.plan.times import written
from tandem_operator.resources import tasks
from tandem_operator.resources.manifest import runtime_tree
from tandem_operator.resources.pods import pod
from unit.operator.operator_builders import SETTINGS, UID
from unit.operator.tiny_lanes import NOW_MS, Lanes, conditions, whole


@pytest.fixture
def running() -> Lanes:
    return Lanes.running()


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
    assert list(made["metadata"]["annotations"]) == ["tandem.dev/applied"], (
        "requests of the past are none of a new lane"
    )
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
    lanes = Lanes.running(lanes=2, snapshots={"store": "s3://a"})
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


@pytest.mark.parametrize(
    ("phase", "kind", "status", "reason", "is_degraded"),
    [
        ("Suspended", "Ready", "False", "Suspended", False),
        ("Suspended", "Diverged", "True", "Diverged", True),
        ("Running", "Replicated", "False", "SingleReplica", False),
        ("Running", "Replicated", "False", "CatchingUp", True),
    ],
)
def test_lanes_that_are_as_they_should_be_are_not_degraded(
    running: Lanes, phase: str, kind: str, status: str, reason: str, is_degraded: bool
) -> None:
    said = running.jobs[1]["status"]
    one = {**said["conditions"][0], "type": kind, "status": status, "reason": reason}
    others = [known for known in said["conditions"] if known["type"] != kind]
    running.jobs[1]["status"] = {**said, "phase": phase, "conditions": [*others, one]}
    running.passes()
    assert bool(running.status.get("degradedLanes")) is is_degraded


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


def test_the_whole_is_not_called_suspended_while_a_lane_still_runs() -> None:
    lanes = Lanes.running()
    lanes.change(suspend=True)
    lanes.passes()
    for lane in range(4):
        lanes.says(lane, phase="Running" if lane == 3 else "Suspended")
    lanes.passes()
    assert lanes.status["phase"] == "Running"
    lanes.says(3, phase="Suspended")
    lanes.passes()
    assert lanes.status["phase"] == "Suspended"
