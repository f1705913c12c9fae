"""What stopped a replica: the first failure of any of its threads, and whether it is a mistake of the job."""

import re
import threading
from collections.abc import Callable, Mapping

from tandem.engine.faults import job_fault, plan_fault
from tandem.engine.interface import StoppedError
from tandem.engine.refused_settings import refused_later
from tandem.jobapi.errors import JobError
from tandem.logs import get_logger

_log = get_logger(__name__)

Explain = Callable[[BaseException], BaseException]
"""An error → what stands behind it. That may take long, and fail: it may ask a JVM that is not there any more."""


def _as_it_is(error: BaseException) -> BaseException:
    return error


class FirstFailure:
    """A cell that the first writer fills. All other failures follow from that one, or come too late to matter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._explain: Explain = _as_it_is

    def put(self, error: BaseException, explain: Explain = _as_it_is) -> None:
        """Something failed. A `StoppedError` is none: it only says that something else did.

        `explain` : called later, by who asks for `explained`.
        """
        with self._lock:
            if self._error is None and not isinstance(error, StoppedError):
                self._explain = explain
                self._error = error

    @property
    def error(self) -> BaseException | None:
        """The first failure; None: there is none."""
        return self._error

    def explained(self) -> Exception:
        """What stands behind the first failure, or that itself if nobody can say. There must be one."""
        error = self._error
        if error is None:
            raise ValueError("nothing has failed")
        try:
            found = self._explain(error)
        except Exception as trouble:
            _log.warning("failure_not_explained", kind=type(error).__name__, reason=repr(trouble))
            found = error
        if isinstance(found, Exception):
            return found
        # SystemExit and its like would end the main thread without a word, and with another exit code.
        wrapped = RuntimeError(f"a thread of the replica was ended by {found!r}")
        wrapped.__cause__ = found
        return wrapped


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
