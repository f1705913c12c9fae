"""A change of the number of lanes with one of its guards removed; see `guards`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulation.deviation import Deviation
from simulation.guards import Guard
from simulation.schedule import Schedule
from tandem.protocol import decisions
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import Boundary


def _behind_one(logs: Iterable[Decisions]) -> Boundary:
    """A boundary behind the first log only."""
    first = next(iter(logs))
    return Boundary(1 + (-1 if first.config is None else first.config.generation), 1 + first.last_epoch)


def _guard(
    name: str,
    without: str = "",
    rules: tuple[tuple[object, str, Callable[..., object]], ...] = (),
    unsafe: bool = True,
    near: int = 0,
) -> Guard:
    return Guard(
        name,
        Deviation(changes_lanes=without),
        rules,  # type: ignore[arg-type]
        unsafe=unsafe,
        schedule=Schedule.changing_lanes,
        where=lambda _: True,
        near=near,
    )


GUARDS_OF_LANE_CHANGE = (
    _guard("owners of what is not published are fenced", "fences", near=20),
    _guard("what is not published is claimed before its owners are fenced", "claims", near=100),
    _guard("nobody has written since a log was read", "known ends"),
    _guard("a lane's state is that of its last published epoch", "the exact state"),
    _guard("a new lane gets its own keys only", "its keys"),
    _guard("the boundary is behind the logs of all lanes", rules=((Boundary, "behind", _behind_one),), unsafe=False),
    _guard("a cut is of the lane's partitions", rules=((decisions, "is_of_lane", lambda *_: True),), near=30),
)
