"""What stopped Spark, told as what it is: a mistake of the job, or a failure that a restart may cure."""

from __future__ import annotations

import re

from tandem.engine.faults import job_fault
from tandem.jobapi.errors import JobError

_OTHER_STATE = re.compile(
    r"\[(STATE_STORE_\w*NOT_COMPATIBLE|STATE_STORE_\w*SCHEMA\w*|STREAMING_STATEFUL_OPERATOR_NOT_MATCH\w*)[^\n]*"
    r"(\n(?!\s+at |\n)[^\n]*){0,5}"
)
"""Spark's own words when a checkpoint is of another plan, and the lines with what differs."""


def classified(error: BaseException) -> BaseException:
    """Failures inside Spark that come from the user's code are refusals, not worth a restart."""
    if (match := _OTHER_STATE.search(str(error))) is not None:
        return JobError(
            f"the job's code cannot go on from the state that the code before it left: {match[0].strip()} Keep the "
            "operators and their keys as they were, or give the changed job another metadata.name, so that it begins anew"
        )
    if (said := job_fault(error)) is not None:
        return JobError(f"the job raised while it ran: {said}")
    return error
