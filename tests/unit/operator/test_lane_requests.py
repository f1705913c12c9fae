"""Requests to a job with lanes: they reach all lanes at once, and the status of the whole says how they ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tandem.manifest import KIND
from unit.operator.tiny_lanes import Lanes
from unit.operator.tiny_world import World

STORE = {"snapshots": {"store": "s3://bucket/x"}}


def annotated(lanes: Lanes, kind: str, value: str) -> None:
    metadata = {**lanes.body["metadata"], "annotations": {f"tandem.dev/{kind}": value}}
    lanes.body = {**lanes.body, "metadata": metadata}


def answers(lanes: Lanes, lane: int, outcome: str, message: str = "", kind: str = "savepoint") -> None:
    one = lanes.jobs[lane]
    value = one["metadata"]["annotations"].get(f"tandem.dev/{kind}", str(one["spec"].get(kind)))
    request = {"value": value, "outcome": outcome, "message": message}
    lanes.jobs[lane] = {**one, "status": {**one["status"], "requests": {kind: request}}}


def request(lanes: Lanes, kind: str = "savepoint") -> Mapping[str, Any]:
    found: Mapping[str, Any] = lanes.status["requests"][kind]
    return found


@pytest.fixture
def running() -> Lanes:
    return Lanes.running(**STORE)


def test_a_savepoint_is_asked_of_all_lanes_at_once_also_while_one_is_down_and_others_wait_for_a_change(
    running: Lanes,
) -> None:
    running.says(1, ready="False")
    running.change(replicas=3)
    running.passes()
    annotated(running, "savepoint", "before@1")
    running.passes()
    assert (request(running)["outcome"], running.asked) == ("Pending", []), "it is written first"
    running.passes()
    assert running.asked == [0, 1, 2, 3]
    assert [running.jobs[lane]["spec"].get("replicas") for lane in (0, 2, 3)] == [None] * 3, "the change waits"
    running.passes()
    assert running.asked == [0, 1, 2, 3], "once"


def test_it_is_done_when_all_lanes_say_so(running: Lanes) -> None:
    annotated(running, "savepoint", "before@1")
    running.passes()
    running.passes()
    for lane in range(4):
        running.passes()
        assert request(running)["outcome"] == "Pending"
        answers(running, lane, "Done")
    running.passes()
    assert request(running) == request(running) | {"value": "before@1", "outcome": "Done"}
    assert request(running)["message"] == "savepoint before is created in all 4 lanes"
    assert "RequestDone" in running.events


def test_it_is_refused_when_one_lane_refuses_it_with_the_reason(running: Lanes) -> None:
    annotated(running, "savepoint", "before@1")
    running.passes()
    running.passes()
    answers(running, 0, "Done")
    answers(running, 2, "Refused", "there is no snapshot")
    running.passes()
    assert (request(running)["outcome"], request(running)["message"]) == ("Refused", "lane 2: there is no snapshot")


def test_what_a_lane_says_of_another_request_counts_for_nothing(running: Lanes) -> None:
    annotated(running, "savepoint", "before@1")
    running.passes()
    running.passes()
    for lane in range(4):
        answers(running, lane, "Done")
    annotated(running, "savepoint", "before@2")
    running.passes()
    running.passes()
    assert request(running)["outcome"] == "Pending"
    assert running.asked == [0, 1, 2, 3] * 2


def test_a_nonce_is_a_request_of_all_lanes_and_no_change_of_their_jobs(running: Lanes) -> None:
    running.change(savepointNonce=7)
    assert running.passes() == []
    assert running.passes() == []
    assert [job["spec"]["savepointNonce"] for job in running.jobs.values()] == [7] * 4
    for lane in range(4):
        answers(running, lane, "Done", kind="savepointNonce")
    running.passes()
    assert request(running, "savepointNonce")["outcome"] == "Done"


def test_a_lane_that_is_made_later_is_asked_for_nothing_that_is_over(running: Lanes) -> None:
    test_it_is_done_when_all_lanes_say_so(running)
    del running.jobs[3]
    running.asked.clear()
    assert running.passes() == [3]
    running.says(3)
    running.passes()
    assert running.asked == []
    assert request(running)["outcome"] == "Done"


@pytest.mark.parametrize(("spec", "why"), [({"suspend": True}, "is suspended"), ({"snapshots": None}, "no snapshots")])
def test_what_no_lane_could_do_is_refused_at_once(running: Lanes, spec: dict[str, Any], why: str) -> None:
    running.body["spec"] = {name: value for name, value in (running.body["spec"] | spec).items() if value is not None}
    annotated(running, "savepoint", "before@1")
    running.passes()
    assert request(running)["outcome"] == "Refused"
    assert why in request(running)["message"]


@pytest.mark.parametrize("kind", ["promote", "drain", "fence"])
def test_what_is_about_a_replica_is_refused_with_the_job_to_ask(running: Lanes, kind: str) -> None:
    annotated(running, kind, "replica-1@x")
    running.passes()
    assert request(running, kind)["outcome"] == "Refused"
    assert f"kubectl tandem {kind} flights-lane-0 replica-1" in request(running, kind)["message"]
    running.passes()
    assert running.asked == []


def test_an_operator_hands_a_request_on_and_changes_nothing_else_of_the_jobs_of_the_lanes() -> None:
    world = World(lanes=2, **STORE)
    world.passes()
    body = world.job
    world.api.put({**body, "metadata": {**body["metadata"], "annotations": {"tandem.dev/savepoint": "x@1"}}})
    before = world.api.writes("apply")
    for _ in range(3):
        world.watch()
        world.passes()
    lanes = [world.api.objects[KIND, f"flights-lane-{lane}"] for lane in range(2)]
    assert [lane["metadata"]["annotations"]["tandem.dev/savepoint"] for lane in lanes] == ["x@1"] * 2
    assert world.api.writes("apply") == before
    assert world.job["status"]["requests"]["savepoint"]["outcome"] == "Pending"
