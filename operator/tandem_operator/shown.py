"""A job's status → what the operator's metrics show of it."""

from __future__ import annotations

from collections.abc import Mapping

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.metrics import JobGauges
from tandem_operator.status import Status


def gauges(job: ReplicatedStreamJob, status: Mapping[str, object]) -> JobGauges:
    """The gauges of a job with this status."""
    read = Status.model_validate(dict(status))
    standing_by = sum(member.role == "standby" and member.ready for member in read.members)
    known: dict[str, bool] = {
        condition.type: condition.status == "True" for condition in read.conditions if condition.status != "Unknown"
    }
    wanted = 0 if job.spec.suspend or read.phase == "Deleting" else job.spec.replicas
    lane = job.spec.lane_of
    of = None if lane is None else (lane.job, str(lane.lane))
    return JobGauges(read.phase or "Pending", wanted, read.replicas or 0, standing_by, known, of)
