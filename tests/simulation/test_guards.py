"""Without any one guard of the protocol, the simulation finds a schedule that breaks the output."""

from dataclasses import replace

import pytest

from simulation.campaign import story
from simulation.deviation import Deviation
from simulation.guards import GUARDS, Guard
from simulation.guards_of_barriers import GUARDS_OF_BARRIERS
from simulation.guards_of_lanes import GUARDS_OF_LANES
from simulation.guards_of_pace import GUARDS_OF_PACE
from simulation.guards_of_state import GUARDS_OF_STATE
from simulation.schedule import Failure, Schedule
from simulation.world import World
from tandem.protocol.publication_rules import Delivery

MOST = 20_000  # far more than any guard needs


@pytest.mark.parametrize(
    "guard",
    GUARDS + GUARDS_OF_PACE + GUARDS_OF_STATE + GUARDS_OF_BARRIERS + GUARDS_OF_LANES,
    ids=lambda guard: guard.name,
)
def test_removing_a_guard_is_found(guard: Guard) -> None:
    count, failed = guard.missed_after(MOST)
    assert failed is not None, f"{count} schedules do not miss: {guard.name}"
    print(f"{guard.name}: missed after {count} schedules, seed {failed.seed}: {failed.violation}")
    with guard.removed() as deviation:
        assert failed.violation in story(guard.schedule(failed.seed), deviation)
    assert story(guard.schedule(failed.seed)).endswith("no invariant was broken")


def _silence(deviation: Deviation) -> float:
    """A stopped owner comes back after the one that took over has died inside its transaction, and not been replaced."""
    stopped = Failure("pause", 320.0, step="rows sent", nth=1)
    died = Failure("crash", 5_000.0, step="marker sent", nth=1)
    calm = replace(
        next(s for s in map(Schedule.plain, range(1_000)) if s.delivery is Delivery.EXACTLY_ONCE and s.replicas == 2),
        failures=(stopped, died),
        alone=False,
        slow_messages=0.0,
        unknown=0.0,
        short_glances=0.0,
        lost=0.0,
        transaction_timeout_ms=3_000.0,
    )
    world = World(calm, deviation)
    world.run()
    return world.checker.longest_silence


def test_reading_to_the_last_stable_offset_is_enough_and_waiting_for_open_transactions_is_slow() -> None:
    assert _silence(Deviation()) < 1_000.0
    assert _silence(Deviation(waits_for_open_transactions=True)) > 2_500.0
