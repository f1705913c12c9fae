"""Standbys under failures that are told one by one: who goes on, how soon, and that the job is whole again."""

from dataclasses import replace

import pytest

from simulation.deviation import Deviation
from simulation.redundancy import Redundancy
from simulation.running import PROMOTION_BOUND_MS
from simulation.schedule import Failure, Schedule
from simulation.world import World
from tandem.protocol.publication_rules import Delivery

LONG_MS = 4_000.0
SOON_MS = 900.0


def calm(slots: int, standbys: int, *failures: Failure, store: bool = True, detects: bool = False) -> Schedule:
    """A schedule in which only those failures happen."""
    plain = next(s for s in map(Schedule.plain, range(1_000)) if s.delivery is Delivery.EXACTLY_ONCE and not s.asks)
    redundancy = Redundancy(
        slots=slots,
        standbys=standbys,
        store=store,
        one_machine=False,
        far_epochs=0,
        snapshot_ms=30,
        collect_ms=40,
        grace_ms=160,
        retained=2,
        retained_ms=100,
        tears=0.0,
        stranger=-1,
        cuts_log=False,
        least_silence_ms=60.0,
        most_silence_ms=600.0,
        detects=detects,
    )
    return replace(
        plain,
        replicas=slots + standbys,
        compute_ms=(8.0,) * (slots + standbys),
        arrivals=tuple((20.0 * i, 0, 2) for i in range(40)),
        inputs=1,
        failures=failures,
        alone=False,
        slow_messages=0.0,
        unknown=0.0,
        short_glances=0.0,
        session_timeout_ms=200.0,
        lost=0.0,
        redundancy=redundancy,
    )


def run(schedule: Schedule, deviation: Deviation | None = None) -> World:
    """The world after the run: no invariant was broken, and the job is whole."""
    world = World(schedule, deviation)
    world.run()
    return world


@pytest.mark.parametrize(("slots", "standbys"), [(1, 1), (2, 1), (2, 2)])
def test_all_actives_die_at_once_and_a_standby_goes_on(slots: int, standbys: int) -> None:
    world = run(calm(slots, standbys, Failure("all actives", LONG_MS, at_ms=400.0)))
    assert world.checker.longest_silence < SOON_MS
    assert world.seen["restored from a snapshot"] >= 1


def test_with_zookeeper_gone_as_well_the_log_s_silence_is_enough() -> None:
    world = run(calm(1, 1, Failure("all actives, no zookeeper", LONG_MS, at_ms=400.0)))
    assert world.seen["promoted by silence while ZooKeeper was away"] == 1
    assert world.checker.longest_silence < SOON_MS


def test_without_that_rule_the_output_is_silent_until_zookeeper_is_back() -> None:
    schedule = calm(1, 1, Failure("all actives, no zookeeper", LONG_MS, at_ms=400.0))
    assert run(schedule, Deviation(waits_for_a_slot=True)).checker.longest_silence > LONG_MS / 2


@pytest.mark.parametrize("step", ["promoted", "restoring", "went on"])
def test_a_standby_that_dies_while_it_is_promoted_is_followed_by_the_next(step: str) -> None:
    at_start = 1  # the first active was promoted as well
    again = Failure("crash", LONG_MS, step=step, nth=at_start + 1)
    world = run(calm(1, 2, Failure("all actives", LONG_MS, at_ms=400.0), again))
    assert world.seen["failure: crash"] == 1
    assert world.checker.longest_silence < PROMOTION_BOUND_MS


def test_one_of_two_actives_dies_and_there_are_two_again_before_it_is_back() -> None:
    world = World(calm(2, 1, Failure("crash", LONG_MS, step="computed", nth=20)))
    whole_at = []

    def look() -> None:
        if world.injector.healed_at and len(world.actives()) == 2:
            whole_at.append(world.timeline.now - (world.injector.healed_at - LONG_MS))
        world.timeline.after(5.0, None, look)

    look()
    world.run()
    assert min(whole_at) < SOON_MS


def test_an_end_that_is_seen_promotes_a_standby_before_the_log_is_silent_for_long() -> None:
    world = run(calm(1, 1, Failure("all actives", LONG_MS, at_ms=400.0), detects=True))
    assert world.seen["promoted by an end"] == 1
    assert world.seen["promoted by silence"] == 0


@pytest.mark.parametrize("slots", [1, 2])
def test_one_end_promotes_one_standby_of_two(slots: int) -> None:
    world = run(calm(slots, 2, Failure("crash", LONG_MS, step="computed", nth=20), detects=True))
    assert world.seen["promoted by an end"] == 1


def test_a_job_without_standbys_recovers_from_its_last_snapshot() -> None:
    world = run(calm(1, 0, Failure("machine lost", 300.0, target="replica-0", at_ms=500.0)))
    assert world.seen["restored from a snapshot"] == 1


def test_it_begins_anew_when_its_machine_is_lost_and_the_store_is_away() -> None:
    lost = Failure("machine lost", 300.0, target="replica-0", at_ms=500.0)
    world = run(calm(1, 0, Failure("store outage", 1_000.0, at_ms=490.0), lost))
    assert world.seen["began from nothing"] == 1


def test_a_replica_that_is_told_to_stop_hands_over_and_no_reader_notices() -> None:
    worlds = [run(calm(1, 1, Failure("stop", 300.0, target=f"replica-{i}", at_ms=300.0))) for i in range(2)]
    assert sum(world.seen["handed over"] for world in worlds) == 1
    assert max(world.checker.longest_silence for world in worlds) < 100.0


def test_a_replica_that_dies_while_it_hands_over_comes_back_as_a_standby() -> None:
    for at in range(300, 340, 4):
        for replica in ("replica-0", "replica-1"):
            stop = Failure("stop", 300.0, target=replica, at_ms=300.0)
            died = Failure("crash", 5.0, target=replica, at_ms=float(at))
            run(calm(1, 1, stop, died))


def test_a_switchover_costs_the_reader_nothing() -> None:
    schedule = calm(2, 1, Failure("switchover", 0.0, at_ms=400.0))
    worlds = [run(replace(schedule, seed=seed)) for seed in range(6)]
    done = [world for world in worlds if not world.seen["switchover given up"]]  # one of three operators is impatient
    assert done
    assert all(world.seen["switchover: done"] == world.seen["relieved"] == 1 for world in done)
    assert max(world.checker.longest_silence for world in worlds) < 100.0
