"""A job's status → what the operator's metrics show of it."""

from __future__ import annotations

from collections.abc import Mapping

from tandem.manifest.models import Spec
from tandem_operator.metrics import JobGauges
from tandem_operator.status import read_status
from tandem_operator.trim import Body


def gauges(body: Body, status: Mapping[str, object]) -> JobGauges:
    """The gauges of a job with this status. `body`: as the API has it, also if its spec is no good."""
    read, spec = read_status(status), body["spec"]
    standing_by = sum(member.role == "standby" and member.ready for member in read.members)
    known: dict[str, bool] = {
        condition.type: condition.status == "True" for condition in read.conditions if condition.status != "Unknown"
    }
    wanted = 0 if spec.get("suspend") or read.phase == "Deleting" else int(spec.get("replicas", _REPLICAS))
    lane = spec.get("laneOf")
    of = None if lane is None else (str(lane["job"]), str(lane["lane"]))
    return JobGauges(read.phase or "Pending", wanted, read.replicas or 0, standing_by, known, of)


_REPLICAS = Spec.model_fields["replicas"].default
