"""Lanes with one thing in common that each must have for itself; see `guards`."""

from collections.abc import Callable

from simulation.deviation import Deviation
from simulation.guards import Guard
from simulation.schedule import Schedule
from tandem.protocol.publication_rules import Delivery


def _is_exact(schedule: Schedule) -> bool:
    return schedule.delivery is Delivery.EXACTLY_ONCE


def _has_standbys(schedule: Schedule) -> bool:
    return schedule.redundancy is not None and schedule.redundancy.standbys > 0


def _is_alone(schedule: Schedule) -> bool:
    return schedule.alone and schedule.redundancy is None


def _guard(
    name: str, deviation: Deviation, where: Callable[[Schedule], bool] = _is_exact, unsafe: bool = True
) -> Guard:
    return Guard(name, deviation, unsafe=unsafe, schedule=Schedule.with_lanes, where=where)


GUARDS_OF_LANES = (
    _guard("a partition is of one lane", Deviation(lanes_share="partitions")),
    _guard("a lane has its own ordering log", Deviation(lanes_share="log")),
    _guard("a lane has its own commits topic", Deviation(lanes_share="commits")),
    _guard("transactional ids name the lane", Deviation(lanes_share="ids")),
    _guard("a lane has its own folder in ZooKeeper", Deviation(lanes_share="folder"), _has_standbys, unsafe=False),
    _guard("lanes do not wait for each other", Deviation(lanes_wait=True), _is_alone, unsafe=False),
)
