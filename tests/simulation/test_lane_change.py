"""The number of lanes changes under failures: each key shows each of its records once, in order, and counts on."""

from dataclasses import replace

import pytest

from simulation.campaign import Report, explain, run, story
from simulation.changing import ChangingWorlds
from simulation.guards import Guard
from simulation.guards_of_lane_change import GUARDS_OF_LANE_CHANGE
from simulation.lane_change import CHANGE_STEPS
from simulation.schedule import Failure, Schedule

SCHEDULES = 60
MOST = 300
SITUATIONS = (
    "more lanes",
    "fewer lanes",
    "a process lingered",
    "a change took over what was claimed",
    "a change fenced an owner that lingered",
    "a change was refused",
    "a change lacked a state",
    "a change was fenced",
    "a change was found to be made",
    "a fenced owner tried to commit",
    "a replica that lingered was superseded",
    "a new lane published",
)


@pytest.fixture(scope="module")
def report() -> Report:
    return run(range(SCHEDULES), Schedule.changing_lanes)


def test_no_change_breaks_an_invariant(report: Report) -> None:
    assert not report.failed, explain(report.failed, Schedule.changing_lanes)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_changes_get_into_every_situation(report: Report, situation: str) -> None:
    assert report.seen[situation] > 0


@pytest.mark.parametrize("step", CHANGE_STEPS)
@pytest.mark.parametrize("kind", ["crash", "pause"])
def test_a_change_goes_on_whatever_happens_before_each_of_its_steps(kind: str, step: str) -> None:
    for seed in range(20):
        worlds = with_one_failure(seed, Failure(kind, 150.0, step=step, nth=1))
        worlds.run()
        if worlds.seen[f"failure: {kind}"]:
            assert worlds.seen["more lanes"] + worlds.seen["fewer lanes"] > 0
            return
    pytest.fail(f"no change came to the step {step}")


def with_one_failure(seed: int, failure: Failure) -> ChangingWorlds:
    """Somebody else tries the change, too, and all processes of the lanes before linger; nothing else fails."""
    drawn = Schedule.changing_lanes(seed)
    assert drawn.lane_changes is not None
    assert drawn.lanes is not None
    changes = tuple(replace(one, lingers=1.0, again_ms=60.0) for one in drawn.lane_changes.changes[:1])
    lanes = [replace(one, failures=(failure,) if one.lane == 0 else ()) for one in drawn.lanes.schedules]
    planned = replace(drawn.lane_changes, changes=changes, failures=())
    return ChangingWorlds(replace(drawn, lanes=replace(drawn.lanes, schedules=tuple(lanes)), lane_changes=planned))


@pytest.mark.parametrize("guard", GUARDS_OF_LANE_CHANGE, ids=lambda guard: guard.name)
def test_removing_a_guard_of_the_change_is_found(guard: Guard) -> None:
    count, failed = guard.missed_after(MOST)
    assert failed is not None, f"{count} schedules do not miss: {guard.name}"
    print(f"{guard.name}: missed after {count} schedules, seed {failed.seed}: {failed.violation}")
    assert story(guard.schedule(failed.seed)).endswith("no invariant was broken")
