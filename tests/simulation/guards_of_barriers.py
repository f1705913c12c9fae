"""The real-time engine with one of the guards of its barriers removed; see `guards`."""

from __future__ import annotations

from collections.abc import Callable

from simulation.deviation import Deviation
from simulation.guards import Guard
from simulation.schedule import Schedule
from tandem.core import orderer
from tandem.protocol.publication_rules import Delivery


def _is_common(schedule: Schedule) -> bool:
    return _is_exact(schedule) and schedule.barriers is not None and schedule.barriers.common


def _is_exact(schedule: Schedule) -> bool:
    return schedule.delivery is Delivery.EXACTLY_ONCE


def _has_store(schedule: Schedule) -> bool:
    return _is_exact(schedule) and schedule.redundancy is not None and schedule.redundancy.store


def _guard(
    name: str,
    deviation: Deviation | None = None,
    where: Callable[[Schedule], bool] = _is_exact,
    rules: tuple[tuple[object, str, Callable[..., object]], ...] = (),
    unsafe: bool = True,
) -> Guard:
    return Guard(name, deviation or Deviation(), rules, unsafe, Schedule.real_time, where)  # type: ignore[arg-type]


GUARDS_OF_BARRIERS = (
    _guard("a watermark moves behind the same epochs everywhere", Deviation(turns_over_apart=True), _is_common),
    _guard("state is committed behind barriers only", Deviation(commits_between=True), _is_common),
    _guard("a replica replays from its barrier", Deviation(skips_replay=True)),
    _guard("what is published is not published by a replay", Deviation(replays_blindly=True)),
    _guard(
        "a checkpoint's batch is not its epoch",
        Deviation(takes_batch_for_epoch=True),
        _has_store,
    ),
    _guard(
        "an orderer asks for barriers",
        where=_is_common,
        rules=((orderer, "asks_for_barrier", lambda *_: False),),
        unsafe=False,
    ),
)
