"""One screen of a job with lanes: each lane's job, and all of their pods, are looked at beside the status of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from tandem.status.page import NONE, Page, bare_table, duration
from tandem_operator.lane_change import lanes_now
from tandem_operator.plugin.screen import Pods, age_of, not_ready, or_dash, see_to, verdict_of
from tandem_operator.resources.names import JOB, LANE
from tandem_operator.status import Status

Body = Mapping[str, Any]


def lanes_of(body: Body) -> int:
    """How many lanes the spec asks for."""
    return int(body.get("spec", {}).get("lanes", 1))


def has_lanes(body: Body) -> bool:
    """Whether it is a whole job whose lanes are jobs of their own, or was one when its status was written.

    One without lanes that is to get some runs as it did until they begin.
    """
    status = body.get("status", {})
    if "laneOf" in body.get("spec", {}):
        return False
    if status.get("lanes"):
        return True
    change = status.get("laneChange")
    if change is not None:
        return bool(change["before"] != 1 or change["stage"] == "Beginning")
    return lanes_of(body) > 1 and not status.get("members")


def lanes_page(body: Body, jobs: Sequence[Body], pods: Pods, now: datetime) -> Page:
    """What is shown of a whole job. `jobs`: those of its lanes; `pods`: of all lanes."""
    metadata, spec = body["metadata"], body.get("spec", {})
    status = Status.model_validate(body.get("status", {}))
    lanes = {int(job["metadata"]["labels"][LANE]): job for job in jobs}
    age_s = age_of(status, now)
    return Page(
        job=f"{metadata['namespace']}/{metadata['name']}",
        about=(
            status.phase or "Pending",
            f"{lanes_of(body)} lanes",
            status.mode or "",
            spec.get("delivery", "exactlyOnce"),
        ),
        verdict=verdict_of(status, tuple(_lacking(lanes_now(lanes_of(body), status.lane_change), lanes, pods)), age_s),
        table=_table(lanes),
        attention=(*see_to(status, metadata.get("generation"), pods), *_degraded(status)),
        facts=tuple(_facts(status, age_s)),
    )


def _lacking(count: int, lanes: Mapping[int, Body], pods: Pods) -> Iterator[str]:
    """Lanes without a job, and replicas that work as the status of their lane says and not as Kubernetes says."""
    yield from (f"lane {lane}, which has no job" for lane in range(count) if lane not in lanes)
    for lane, job in sorted(lanes.items()):
        status = Status.model_validate(job.get("status", {}))
        theirs = None if pods is None else _pods_of(job, pods)
        yield from (f"{name} of lane {lane}" for name in not_ready(status, theirs))


def _pods_of(job: Body, pods: Iterable[Body]) -> Sequence[Body]:
    return [pod for pod in pods if pod["metadata"]["labels"].get(JOB) == job["metadata"]["name"]]


def _degraded(status: Status) -> Iterator[str]:
    for one in status.degraded_lanes:
        yield f"lane {one.lane} is {one.phase}" + (f": {one.message}" if one.message else "")


def _facts(status: Status, age_s: float | None) -> Iterator[tuple[str, str]]:
    yield "Lanes", f"{status.lanes or NONE} ready"
    yield "Lag", f"{or_dash(status.lag)} records that no replica of the slowest lane has computed yet"
    yield "Replicas", f"{status.active or NONE} active, {status.standby or '0/0'} standbys"
    yield "Measured", "never" if age_s is None else f"{duration(age_s)} ago"


def _table(lanes: Mapping[int, Body]) -> Table:
    table = bare_table()
    for heading in ("Lane", "Phase", "Active", "Standby"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Epoch", "Lag"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("Publisher", "Job"):
        table.add_column(heading, overflow="fold")
    for lane, job in sorted(lanes.items()):
        status = Status.model_validate(job.get("status", {}))
        phase = status.phase or "Pending"
        colour = "green" if phase == "Running" else "yellow"
        figures = (status.active or NONE, status.standby or NONE, or_dash(status.epoch), or_dash(status.lag))
        name = job["metadata"]["name"]
        table.add_row(str(lane), Text(phase, style=colour), *figures, status.publisher or NONE, name)
    return table
