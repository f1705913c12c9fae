"""What all of a job shares: time, the brokers, ZooKeeper, and the topics of its user. A job without lanes has it for itself.

What belongs to one lane is named after it, by the product's own rules. What has the same name is the same thing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from simulation.clock import Timeline

if TYPE_CHECKING:
    from simulation.kafka import Producer
    from simulation.sink import Sink
    from simulation.world import World

_Thing = TypeVar("_Thing")
_BEHIND = 2


class Site:
    """`seen` counts the situations that were got into; `story` is what happened, if asked for."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.seen: Counter[str] = Counter()
        self.story: list[str] = []
        self.lanes: list[World] = []  # or the one job
        self.producers: dict[str, Producer] = {}  # of the brokers' coordinator
        self.of_all_lanes = ""  # the transactional id that the lanes share: of a change of their number
        self.sink: Sink | None = None  # that lanes share
        self.published = 0  # epochs
        self._named: dict[str, object] = {}

    def named(self, name: str, make: Callable[[], _Thing]) -> _Thing:
        """The topic or folder of that name, made when it is first asked for."""
        if name not in self._named:
            self._named[name] = make()
        return cast("_Thing", self._named[name])

    def on_published(self, world: World) -> None:
        """An epoch is published."""
        self.published += 1
        if len(self.lanes) > 1 and any(not lane.has_replica for lane in self.lanes if lane is not world):
            world.reached("a lane published while another had no replica")

    def is_ahead(self, world: World) -> bool:
        """Whether another lane with something to publish is behind this one."""
        others = [lane.checker for lane in self.lanes if lane is not world]
        return any(not one.all_published and one.published + _BEHIND < world.checker.published for one in others)
