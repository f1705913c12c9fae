"""The lanes of a job whose spec is no good: what is lost of them is made again as those that are left have it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tandem.manifest import ManifestError, ReplicatedStreamJob
from tandem_operator.actions import Action, Apply, Emit
from tandem_operator.lane_seen import LaneSeen
from tandem_operator.lanes import wanted_lane
from tandem_operator.manifests import job_of
from tandem_operator.one_lane import is_between
from tandem_operator.resources.names import APPLIED
from tandem_operator.status import Status
from tandem_operator.trim import Body


def may_lack_lanes(body: Body, status: Status) -> bool:
    """Whether a job may have lost lanes that are to be made again: not one that is deleted, or changes their number."""
    return "deletionTimestamp" not in body["metadata"] and not is_between(status)


def lost_lanes(
    body: Body, lanes: Mapping[int, LaneSeen]
) -> tuple[ReplicatedStreamJob, tuple[Apply, ...], tuple[Action, ...]] | None:
    """The whole job as its lanes have it, what makes those again that are lost, and what is said of that.

    None: all are there, or none is from which the others could be made. `body`: the whole job, whose spec is not used.
    """
    counts = {one.lanes for one in lanes.values()}
    if len(counts) != 1 or lanes.keys() >= set(range(*counts)):
        return None
    try:
        whole = _with_spec_of(body, min(lanes.values(), key=lambda one: (not _is_as_made(body, one), one.lane)))
        job = job_of(whole)
    except ManifestError:  # made by an operator that knew other rules
        return None
    lost = sorted(set(range(*counts)) - lanes.keys())
    words = f"{len(lost)} of {job.spec.lanes} lanes are created, as the others are: the job's spec cannot be used"
    made = tuple(Apply(wanted_lane(whole, job, lane), is_new=True) for lane in lost)
    return job, made, (Emit("Normal", "LanesCreated", words),)


def _is_as_made(body: Body, one: LaneSeen) -> bool:
    """Whether nobody has edited the job of a lane since. A change goes from lane to lane, the lowest first."""
    try:
        whole = _with_spec_of(body, one)
        made = wanted_lane(whole, job_of(whole), one.lane)
    except ManifestError:
        return False
    return bool(made["metadata"]["annotations"][APPLIED] == one.applied)


def _with_spec_of(body: Body, one: LaneSeen) -> dict[str, Any]:
    return {**body, "spec": {name: value for name, value in one.spec.items() if name != "laneOf"}}
