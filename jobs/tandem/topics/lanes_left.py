"""What a job with lanes has left, also of lanes that it no longer has: their logs stay when their number changes."""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from tandem.manifest import Manifest
from tandem.manifest.lanes import lane_of
from tandem.topics.declared import left_by

_LANE: Final = re.compile(r"\.lane-(\d{1,6})(?=\.|$)")


def gone_lanes(job: Manifest, existing: Collection[str]) -> tuple[Manifest, ...]:
    """The lanes that the whole `job` has no longer, each as a job, as far as one of their logs is in `existing`.

    A job that has lanes, and once had none, was its only lane. No other job can have their names.
    """
    model, lanes = job.model, job.spec.lanes
    numbers = {int(number) for name in existing for number in _LANE.findall(name)}
    if lanes > 1:
        numbers -= set(range(lanes))
    alone = model.model_copy(update={"spec": model.spec.model_copy(update={"lanes": 1})})
    once = [replace(job, model=alone)] if lanes > 1 else []
    once += [replace(job, model=lane_of(model, number), lane=number) for number in sorted(numbers)]
    return tuple(lane for lane in once if set(left_by(lane, existing)) - {model.topics.dead_letter})


def left_by_lanes(job: Manifest, lanes: Iterable[Manifest], existing: Collection[str]) -> list[str]:
    """Tandem's own topics of these lanes of the whole `job`; the dead letters, which all share, only if these are all."""
    lanes = tuple(lanes)
    found = {name for lane in lanes for name in left_by(lane, existing)}
    is_part = not {lane.lane for lane in job.lanes} <= {lane.lane for lane in lanes}
    return sorted(found - ({job.model.topics.dead_letter} if is_part else set()))
