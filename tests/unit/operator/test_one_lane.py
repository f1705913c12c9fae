"""A job of one lane gets several, and one of several becomes one: pods of its own go, or come, in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tandem.manifest import KIND
from tandem_operator.manifests import job_of
from tandem_operator.one_lane import as_one_lane, may_have_one_lane
from tandem_operator.resources.names import CLEANUP
from tandem_operator.resources.revisions import KIND as REVISION
from tandem_operator.status import read_status
from unit.operator.tiny_changing import SNAPSHOTS, FromOne
from unit.operator.tiny_world import KEY, World


def test_a_job_of_one_lane_gets_several() -> None:
    changing = FromOne()
    assert len(changing.members()) == 2
    changing.goes_on()
    assert changing.numbers == [4, 4, 4, 4]
    assert (changing.members(), changing.tasks()) == ([], [])
    assert changing.world.api.named(REVISION) == [], "nothing is left of the job of one lane"
    assert CLEANUP in changing.world.job["metadata"]["finalizers"], "it takes with it what its lanes have"
    status = read_status(changing.world.job["status"])
    assert (status.lanes, status.lane_change) == ("4/4", None)


def test_it_runs_while_it_is_checked_and_has_no_pods_while_its_state_is_divided() -> None:
    changing = FromOne()
    changing.until("Checking")
    assert len(changing.members()) == 2
    changing.until("Dividing")
    changing.world.passes()
    assert (changing.members(), len(changing.tasks())) == ([], 1)
    assert changing.lanes() == []
    assert changing.world.job["status"]["phase"] == "Upgrading"
    said = {one["type"]: one for one in changing.world.job["status"]["conditions"]}
    assert said["Progressing"]["reason"] == "LanesChange"
    assert said["Suspended"]["status"] == "False"


def test_no_pods_start_while_it_is_divided_even_if_the_spec_becomes_invalid() -> None:
    changing = FromOne()
    changing.until("Dividing")
    body = changing.world.job
    changing.world.api.put({**body, "spec": {**body["spec"], "sources": []}})
    changing.goes_on()
    assert changing.members() == []


@pytest.mark.parametrize("fails", ["check", "change"])
def test_a_job_of_one_lane_that_cannot_have_several_goes_on(fails: str) -> None:
    changing = FromOne()
    changing.fails = fails
    changing.goes_on()
    assert (len(changing.members()), changing.lanes()) == (2, [])
    said = {one["type"]: one for one in changing.world.job["status"]["conditions"]}
    assert (said["Progressing"]["status"], said["Progressing"]["reason"]) == ("False", "LanesNotChanged")
    changing.set_lanes(1)
    changing.goes_on()
    assert changing.change() is None
    assert len(changing.members()) == 2


@pytest.mark.parametrize("write", range(0, 48, 3))
def test_another_operator_goes_on_wherever_one_was_killed(write: int) -> None:
    changing = FromOne()
    changing.goes_on_behind_a_kill(write)
    assert changing.numbers == [4, 4, 4, 4]
    assert (changing.members(), changing.tasks()) == ([], [])


def test_of_a_job_that_was_never_seen_to_work_the_logs_say_whether_it_has_run() -> None:
    changing = FromOne(worked=False)
    changing.goes_on()
    assert changing.numbers == [4, 4, 4, 4]
    assert changing.members() == []
    assert any("-lanes-" in name for name in changing.world.api.writes("create"))


def back_to_one(stage: str) -> FromOne:
    changing = FromOne()
    changing.goes_on()
    changing.set_lanes(1)
    changing.until(stage)
    return changing


@pytest.mark.parametrize("stage", ["Dividing", "Beginning"])
def test_a_number_that_is_set_back_too_late_is_another_change(stage: str) -> None:
    changing = back_to_one(stage)
    changing.set_lanes(4)
    before = len([name for name in changing.world.api.writes("create") if "-lanes-" in name])
    changing.goes_on()
    changing.goes_on()
    assert changing.numbers == [4, 4, 4, 4]
    assert len([name for name in changing.world.api.writes("create") if "-lanes-" in name]) > before + 1


def test_a_number_that_is_corrected_before_the_first_status_is_written() -> None:
    changing = FromOne.__new__(FromOne)
    changing.world, changing.fails = World(lanes=1, **SNAPSHOTS), ""
    written = changing.world.api.set_status

    def set_status(*arguments: Any) -> Mapping[str, Any]:
        changing.world.api.set_status = written  # type: ignore[method-assign]
        changing.set_lanes(4)
        return written(*arguments)

    changing.world.api.set_status = set_status  # type: ignore[method-assign]
    changing.world.passes()
    changing.goes_on()
    changing.goes_on()
    assert (changing.numbers, changing.members()) == ([4, 4, 4, 4], [])
    changing.world.api.doom(KIND, KEY.name)
    changing.goes_on()
    assert (KIND, KEY.name) not in changing.world.api.objects


def test_a_job_with_lanes_whose_status_is_lost_gets_no_pods_of_its_own() -> None:
    changing = back_to_one("Dividing")
    body = changing.world.job
    changing.world.api.put({**body, "status": {}})
    changing.goes_on()
    assert not (changing.members() and changing.lanes())


def test_a_number_that_is_set_back_while_it_is_checked_leaves_no_task() -> None:
    changing = FromOne()
    changing.until("Checking")
    changing.world.passes()
    changing.world.watch()
    assert changing.tasks()
    changing.set_lanes(1)
    changing.goes_on()
    assert changing.tasks() == []


def test_a_pod_that_is_not_the_jobs_own_holds_nothing_up() -> None:
    changing = FromOne()
    pod = changing.world.api.objects["Pod", changing.members()[0]]
    metadata = {**pod["metadata"], "name": "flights-lanes-debug", "uid": "other", "ownerReferences": []}
    changing.world.api.put({**pod, "metadata": metadata})
    changing.goes_on()
    assert changing.numbers == [4, 4, 4, 4]


def test_a_spec_that_is_valid_with_the_new_number_only_is_said_to_be_invalid() -> None:
    changing = FromOne()
    changing.goes_on()
    body = changing.world.job
    sinks = [{"name": "d", "delta": {"path": "s3://b/x"}}]
    changing.world.api.put({**body, "spec": {**body["spec"], "lanes": 1, "sinks": sinks}})
    changing.world.watch()
    changing.world.passes()
    said = {one["type"]: one for one in changing.world.job["status"]["conditions"]}
    assert said["Progressing"]["reason"] == "InvalidSpec"


def test_several_lanes_become_one_and_an_operator_that_knows_no_lanes_yet_waits_for_them() -> None:
    changing = FromOne()
    changing.goes_on()
    changing.set_lanes(1)
    changing.world.restarts()
    for key in [key for key in changing.world.store.jobs if key != KEY]:
        changing.world.store.see_job(changing.world.store.jobs[key], gone=True)
    changing.world.passes()
    assert changing.members() == [], "its lanes run still"
    changing.goes_on()
    assert changing.lanes() == []
    assert len(changing.members()) == 2
    status = read_status(changing.world.job["status"])
    assert (status.lanes, status.lane_change) == (None, None)
    assert CLEANUP in changing.world.job["metadata"]["finalizers"]


def test_a_job_that_is_made_with_lanes_never_had_one() -> None:
    world = World(lanes=4, **SNAPSHOTS)
    job = job_of(world.body)
    world.passes()  # the finalizer comes first
    world.passes()
    assert not may_have_one_lane(job, read_status(world.job["status"]))
    assert as_one_lane(world.body, read_status({}))["spec"]["lanes"] == 1
    assert KIND in {kind for kind, _ in world.api.objects}


def test_a_number_that_is_set_back_while_it_stops_is_never_said_to_be_suspended() -> None:
    changing = FromOne()
    changing.until("Stopping")
    changing.set_lanes(1)
    changing.world.watch()
    before = len(changing.world.api.events())
    changing.goes_on()
    assert "Suspended" not in [reason for _, reason in changing.world.api.events()[before:]]
    assert len(changing.members()) == 2


def test_the_account_that_the_lanes_use_stays_when_the_job_of_one_lane_goes() -> None:
    changing = FromOne()
    body = changing.world.job
    changing.world.api.put({**body, "spec": {**body["spec"], "serviceAccount": KEY.name}})
    changing.goes_on()
    assert changing.numbers == [4, 4, 4, 4]
    assert KEY.name in changing.world.api.named("ServiceAccount")
    assert read_status(changing.world.job["status"]).lane_change is None
