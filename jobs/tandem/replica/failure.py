"""What stopped a replica: the first failure of any of its threads, and whether it is a mistake of the job."""

import re
import threading
from collections.abc import Mapping

from tandem.engine.faults import job_fault, plan_fault
from tandem.engine.interface import StoppedError
from tandem.engine.refused_settings import refused_later
from tandem.jobapi.errors import JobError


class FirstFailure:
    """A cell that the first writer fills. All other failures follow from that one, or come too late to matter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def put(self, error: BaseException) -> None:
        """Something failed. A `StoppedError` is none: it only says that something else did."""
        with self._lock:
            if self._error is None and not isinstance(error, StoppedError):
                self._error = error

    @property
    def error(self) -> BaseException | None:
        """The first failure; None: there is none."""
        return self._error


_OTHER_STATE = re.compile(
    r"\[(STATE_STORE_\w*NOT_COMPATIBLE|STATE_STORE_\w*SCHEMA\w*|STREAMING_STATEFUL_OPERATOR_NOT_MATCH\w*)[^\n]*"
    r"(\n(?!\s+at |\n)[^\n]*){0,5}"
)
"""Spark's own words when a checkpoint is of another plan, and the lines with what differs."""


def classified(error: BaseException, given: Mapping[str, str]) -> BaseException:
    """Failures inside Spark that come from the user's code, or settings (`given`), are refusals, not worth a restart."""
    if (match := _OTHER_STATE.search(str(error))) is not None:
        return JobError(
            f"the job's code cannot go on from the state that the code before it left: {match[0].strip()} Keep the "
            "operators and their keys as they were, or give the changed job another metadata.name, so that it begins again"
        )
    if (said := job_fault(error)) is not None:
        return JobError(f"the job raised while it ran: {said}")
    if (said := plan_fault(error)) is not None:
        return JobError(f"Spark refuses the job's plan: {said}")
    return refused_later(given, error) or error
