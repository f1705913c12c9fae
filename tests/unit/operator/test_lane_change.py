"""Another number of lanes: stage after stage, each from what is seen, also where an operator was killed before."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.manifest import KIND
from tandem_operator.lane_change import LaneJob, LanesStep, lanes_step
from tandem_operator.observed import PodPhase, TaskSeen
from tandem_operator.status import LaneChange, read_status
from unit.operator.tiny_changing import Changing
from unit.operator.tiny_world import KEY

NOW_MS = 1_800_000_000_000
TWO = {lane: LaneJob(f"old-{lane}", 2) for lane in range(2)}
ASKED = {lane: LaneJob(f"old-{lane}", 2, is_asked_to_stop=True) for lane in range(2)}
STOPPED = {lane: LaneJob(f"old-{lane}", 2, is_asked_to_stop=True, has_stopped=True) for lane in range(2)}
FOUR = {lane: LaneJob(f"new-{lane}", 4) for lane in range(4)}


def task(phase: PodPhase, message: str = "", exit_code: int | None = None) -> TaskSeen:
    return TaskSeen("task", "uid", phase, message, NOW_MS, exit_code=exit_code)


def failing(message: str = "no") -> TaskSeen:
    """It decided nothing."""
    return task(PodPhase.FAILED, message, 1)


def change(stage: str, **more: Any) -> LaneChange:
    fields = {"before": 2, "to": 4, "stage": stage, "generation": 3, "since": "2027-01-15T08:00:00Z", **more}
    return LaneChange.model_validate(fields)


def step(
    known: LaneChange | None,
    lanes: dict[int, LaneJob],
    seen: TaskSeen | None = None,
    wanted: int = 4,
    generation: int = 3,
    now_ms: int = NOW_MS,
) -> LanesStep:
    return lanes_step(wanted, generation, known, lanes, seen, now_ms)


def stage_of(found: LanesStep) -> str:
    assert found.change is not None
    return found.change.stage


def message_of(found: LanesStep) -> str:
    assert found.change is not None
    return found.change.message


def attempt_of(found: LanesStep) -> int:
    assert found.change is not None
    return found.change.attempt


def test_nothing_changes_while_the_lanes_are_as_many_as_they_are_to_be() -> None:
    assert step(None, FOUR) == LanesStep(4)
    assert step(None, {}) == LanesStep(4), "a job that is new"


def test_it_is_checked_first_and_the_lanes_go_on_meanwhile() -> None:
    begun = step(None, TWO)
    assert (begun.lanes, stage_of(begun), begun.task, begun.stops) == (2, "Checking", None, frozenset())
    checking = step(begun.change, TWO)
    assert (checking.lanes, checking.task, checking.holds) == (2, "check", False)
    assert step(begun.change, TWO, task(PodPhase.RUNNING)) == checking
    assert stage_of(step(begun.change, TWO, task(PodPhase.SUCCEEDED))) == "Stopping"


def test_what_the_check_refuses_stops_nothing_and_is_not_asked_again_before_the_spec_changes() -> None:
    said = task(PodPhase.FAILED, "checked\nthe number of lanes was not changed: the job has tables.\n", 78)
    refused = step(change("Checking"), TWO, said)
    assert (refused.lanes, stage_of(refused), refused.holds) == (2, "Refused", False)
    assert refused.change is not None
    assert refused.change.message.startswith(
        "the number of lanes was not changed: the job has tables. The job goes on with 2"
    )
    assert step(refused.change, TWO) == LanesStep(2, refused.change)
    assert stage_of(step(refused.change, TWO, generation=4)) == "Checking"
    assert step(refused.change, TWO, wanted=2, generation=4) == LanesStep(2), "set back"


def test_all_lanes_stop_before_their_states_are_divided() -> None:
    stopping = step(change("Stopping"), TWO)
    assert (stopping.stops, stopping.holds) == (frozenset({0, 1}), True)
    waits = step(change("Stopping"), {**STOPPED, 1: ASKED[1]})
    assert (stage_of(waits), waits.stops) == ("Stopping", frozenset())
    gone = step(change("Stopping"), {0: STOPPED[0]})
    assert (stage_of(gone), gone.stops) == ("Stopping", frozenset({1})), "lane 1 is made again, suspended"
    assert stage_of(step(change("Stopping"), STOPPED)) == "Dividing"


def test_lanes_that_do_not_stop_go_on_as_they_were() -> None:
    late = step(change("Stopping"), {**STOPPED, 1: ASKED[1]}, now_ms=NOW_MS + 600_001)
    assert (late.lanes, stage_of(late), late.holds) == (2, "Refused", False)
    assert late.change is not None
    assert "lanes 1 have not stopped" in late.change.message


def test_the_jobs_of_the_lanes_before_go_when_the_logs_are_written_and_then_those_of_the_new_ones_come() -> None:
    dividing = step(change("Dividing"), STOPPED)
    assert (dividing.task, dividing.holds, dividing.removes) == ("change", True, frozenset())
    begins = step(change("Dividing"), STOPPED, task(PodPhase.SUCCEEDED))
    assert (stage_of(begins), begins.removes, begins.holds) == ("Beginning", frozenset(), True)
    going = step(change("Beginning"), STOPPED)
    assert (going.lanes, going.removes, going.holds) == (4, frozenset({0, 1}), False)
    assert step(change("Beginning"), {}).change == change("Beginning")
    assert step(change("Beginning"), {**FOUR, 0: STOPPED[0]}).removes == frozenset({0})
    assert step(change("Beginning"), FOUR) == LanesStep(4, ended=True)


def test_states_that_a_task_refuses_to_divide_are_what_they_were() -> None:
    refused = step(change("Dividing", attempt=2), STOPPED, task(PodPhase.FAILED, "no", 78))
    assert (refused.lanes, stage_of(refused), refused.holds, refused.removes) == (2, "Refused", False, frozenset())
    assert message_of(refused).startswith("no. The job goes on with 2 lanes.")


def test_a_check_that_fails_twice_says_so_and_the_lanes_have_gone_on() -> None:
    again = step(change("Checking"), TWO, failing())
    assert (stage_of(again), again.holds) == ("Checking", False)
    refused = step(again.change, TWO, failing())
    assert stage_of(refused) == "Refused"
    assert "The job goes on with 2 lanes" in message_of(refused)


def test_a_task_that_fails_behind_its_commit_and_cannot_be_tried_again_at_once_leaves_the_stage() -> None:
    known = step(change("Dividing"), STOPPED, failing("killed")).change
    assert known is not None
    assert (known.stage, known.attempt, known.message) == ("Dividing", 2, "try 1 of 7 failed: killed")
    unscheduled = task(PodPhase.PENDING, "no node has 64Gi")
    waits = step(known, STOPPED, unscheduled, now_ms=NOW_MS + 60_000)
    assert (stage_of(waits), waits.holds) == ("Dividing", True)
    assert message_of(waits) == "the task of try 2 has not begun: no node has 64Gi"
    late = step(known, STOPPED, unscheduled, now_ms=NOW_MS + 300_000)
    assert (stage_of(late), late.holds) == ("Dividing", True)
    assert "try 2 of 7 failed: it has not begun within 5 min: no node has 64Gi" in message_of(late)
    assert stage_of(step(late.change, STOPPED, task(PodPhase.SUCCEEDED))) == "Beginning"


def test_tries_are_bounded_and_their_end_does_not_say_more_than_is_known() -> None:
    now_ms, known, waits = NOW_MS, change("Dividing"), []
    while known.stage == "Dividing":
        found = step(known, STOPPED, failing(), now_ms=now_ms)
        assert found.change is not None
        known = found.change
        waited = 0
        while known.stage == "Dividing" and step(known, STOPPED, now_ms=now_ms).task is None:
            now_ms, waited = now_ms + 1_000, waited + 1
        waits.append(waited)
    assert waits == [0, 15, 30, 60, 120, 300, 0]
    assert (known.stage, found.lanes, found.holds, found.removes) == ("Refused", 2, False, frozenset())
    assert "is not known" in known.message
    assert "goes on with 2 lanes" not in known.message
    assert "set spec.lanes to 2, then to 4" in known.message


def test_tries_that_last_long_are_not_as_many() -> None:
    hours = NOW_MS + 2 * 3_600_000
    second = step(change("Dividing"), STOPPED, failing(), now_ms=hours)
    assert stage_of(second) == "Dividing"
    assert stage_of(step(second.change, STOPPED, failing(), now_ms=hours)) == "Refused"


def test_a_clock_that_is_set_back_makes_no_try_wait_for_longer_than_it_has_to() -> None:
    known = change("Dividing", attempt=2, retry_at="2027-01-16T08:00:00Z")
    assert step(known, STOPPED).task == "change"


def test_a_task_that_no_node_takes_or_that_never_ends_has_failed() -> None:
    waits = task(PodPhase.PENDING, "no node has 64Gi")
    assert step(change("Dividing"), STOPPED, waits).change == change("Dividing")
    assert attempt_of(step(change("Dividing"), STOPPED, waits, now_ms=NOW_MS + 300_000)) == 2
    runs = task(PodPhase.RUNNING)
    assert step(change("Dividing"), STOPPED, runs, now_ms=NOW_MS + 1_800_000).change == change("Dividing")
    assert attempt_of(step(change("Dividing"), STOPPED, runs, now_ms=NOW_MS + 2_160_000)) == 2


def test_the_next_stage_knows_nothing_of_the_tries_of_the_last_one() -> None:
    known = change("Checking", attempt=2, message="try 1 of 2 failed: no", retry_at="2027-01-15T08:00:00Z")
    begun = step(known, TWO, task(PodPhase.SUCCEEDED)).change
    assert begun == change("Stopping")


@pytest.mark.parametrize("stage", ["Checking", "Stopping", "Refused"])
def test_a_number_that_is_set_back_in_time_ends_the_change(stage: str) -> None:
    assert step(change(stage), ASKED, wanted=2) == LanesStep(2)
    assert stage_of(step(change(stage), ASKED, wanted=6)) == "Checking"


def test_a_number_that_is_set_back_too_late_is_another_change() -> None:
    assert step(change("Dividing"), STOPPED, wanted=2).task == "change"
    assert step(change("Beginning"), FOUR, wanted=2) == LanesStep(4, ended=True)
    back = step(None, FOUR, wanted=2)
    assert back.change is not None
    assert (back.change.before, back.change.to) == (4, 2)


def test_new_lanes_that_are_there_say_that_the_logs_are_theirs_also_if_the_status_is_lost() -> None:
    found = step(None, {0: FOUR[0], 1: STOPPED[1]})
    assert (found.lanes, stage_of(found)) == (4, "Beginning")


def test_a_job_gets_another_number_of_lanes() -> None:
    changing = Changing()
    changing.goes_on()
    assert changing.numbers == [4, 4, 4, 4]
    assert {f"{KEY.name}-lane-0", f"{KEY.name}-lane-1"} <= set(changing.world.api.writes("delete"))
    assert all(lane["spec"]["deletionPolicy"] == "Retain" for lane in changing.lanes())
    status = read_status(changing.world.job["status"])
    assert (status.lanes, status.phase, status.lane_change) == ("4/4", "Running", None)
    assert changing.tasks() == []
    assert "LanesChanged" in [reason for _, reason in changing.world.api.events()]


def test_the_lanes_that_go_keep_their_topics_and_snapshots() -> None:
    changing = Changing()
    deleted: list[dict[str, Any]] = []

    def look(verb: str, kind: str, name: str) -> None:
        if (verb, kind) == ("delete", KIND):
            deleted.append(changing.world.api.objects[kind, name]["spec"])

    changing.world.api.refuse = look
    changing.goes_on()
    assert [(spec["lanes"], spec.get("suspend"), spec["deletionPolicy"]) for spec in deleted] == [
        (2, True, "Retain")
    ] * 2


def test_a_job_of_a_lane_that_somebody_deletes_while_it_stops_holds_nothing_up() -> None:
    changing = Changing()
    changing.until("Stopping")
    changing.world.passes()
    del changing.world.api.objects[KIND, f"{KEY.name}-lane-1"]
    changing.goes_on()
    assert changing.numbers == [4, 4, 4, 4]
    assert "LanesNotChanged" not in [reason for _, reason in changing.world.api.events()]


@pytest.mark.parametrize("fails", ["check", "change"])
def test_a_job_whose_number_cannot_change_goes_on_as_it_was(fails: str) -> None:
    changing = Changing()
    changing.fails = fails
    before = {lane["metadata"]["name"]: lane["spec"] for lane in changing.lanes()}
    changing.goes_on()
    assert {lane["metadata"]["name"]: lane["spec"] for lane in changing.lanes()} == before
    assert not any("-lane-" in name for name in changing.world.api.writes("delete"))
    said = {one["type"]: one for one in changing.world.job["status"]["conditions"]}
    assert (said["Progressing"]["status"], said["Progressing"]["reason"]) == ("False", "LanesNotChanged")
    assert "it is not so" in said["Progressing"]["message"]


def test_who_waits_for_a_change_is_not_asked_to_resume_a_job_that_he_did_not_suspend() -> None:
    changing = Changing()
    changing.until("Dividing")
    changing.world.passes()
    said = {one["type"]: one for one in changing.world.job["status"]["conditions"]}
    assert (said["Ready"]["status"], said["Ready"]["reason"]) == ("False", "LanesChange")
    assert "The number of lanes changes from 2 to 4" in said["Ready"]["message"]


def test_a_number_that_is_refused_costs_no_listing_of_all_lanes_with_each_pass() -> None:
    changing = Changing()
    changing.fails = "check"
    changing.goes_on()
    before = changing.world.requests()["list"]
    for _ in range(5):
        changing.world.passes()
    assert changing.world.requests()["list"] == before


@pytest.mark.parametrize("write", range(40))
def test_another_operator_goes_on_wherever_one_was_killed(write: int) -> None:
    changing = Changing()
    changing.goes_on_behind_a_kill(write)
    assert changing.numbers == [4, 4, 4, 4]
    assert changing.tasks() == []
