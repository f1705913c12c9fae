"""The run of one schedule to its end: of one world, or of several lanes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulation.invariants import InvariantError
from simulation.scale import scaled_down

if TYPE_CHECKING:
    from simulation.site import Site
    from simulation.world import World

_PATIENCE_MS = 15_000.0
_AFTERMATH_MS = 150.0
PROMOTION_BOUND_MS = 1_800.0  # the same with standbys or snapshots: three times that with actives
SILENCE_BOUND_MS = 600.0  # under one failure at a time: four times the longest bound on an owner's silence


def run(site: Site) -> None:
    """Run until everything is published, every failure is over and, with standbys, the job is whole again.

    Raises `InvariantError`.
    """
    lanes = site.lanes
    with scaled_down():
        try:
            for lane in lanes:
                lane.begin()
            _run(site, lanes)
            for lane in lanes:
                _check(lane)
        finally:
            for lane in lanes:
                for task in lane.tasks:
                    task.kill()


def _run(site: Site, lanes: Sequence[World]) -> None:
    step, timeline = site.timeline.step, site.timeline
    last_arrival = max(lane.schedule.arrivals[-1][0] for lane in lanes)
    stop_at: float | None = None
    published = -1
    while step():
        now = timeline.now
        if site.published != published:
            published = site.published
            stop_at = None
            if now >= last_arrival and all(lane.checker.all_published for lane in lanes):
                stop_at = max(now, *(lane.injector.healed_at for lane in lanes)) + _AFTERMATH_MS
        if stop_at is not None and now > stop_at:
            if all(lane.is_whole for lane in lanes):
                return
            stop_at += _AFTERMATH_MS
        if now > _PATIENCE_MS:
            break
    if stop_at is None:
        late = next((lane for lane in lanes if not lane.checker.all_published), lanes[0]).checker
        raise InvariantError(f"only {late.published} epochs of {len(late.ranges)} are published", unsafe=False)


def _check(lane: World) -> None:
    schedule, checker = lane.schedule, lane.checker
    if not lane.is_whole:
        raise InvariantError(f"the job is not whole again: {lane.roles()}", unsafe=False)
    checker.at_the_end()
    masked = schedule.redundancy is None and schedule.upgrade is None
    bound = SILENCE_BOUND_MS if masked else PROMOTION_BOUND_MS
    if schedule.alone and checker.longest_silence > bound:
        raise InvariantError(f"the output was silent for {checker.longest_silence:.0f} ms", unsafe=False)
