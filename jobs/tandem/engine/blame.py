"""An epoch failed: which record made it fail, what was raised about it, and how to go on."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import StreamingQueryException

from tandem.checkpoint.position import EnginePosition
from tandem.engine.culprit import Attempt, Culprit, first_culprit
from tandem.engine.faults import (
    WRONG_SETTING,
    Coordinates,
    any_fault,
    is_of_init,
    is_of_module,
    job_fault,
    plan_fault,
    ranges,
    record_fault,
)
from tandem.engine.kept_state import ANOTHER_NAME, CANNOT_GO_ON
from tandem.engine.memory import exceeds_arrow
from tandem.engine.trial import NotSearchedError, TrialError
from tandem.jobapi.errors import EpochError, JobError
from tandem.logs import get_logger
from tandem.protocol.values import EpochRange

_log = get_logger(__name__)

SEARCH_S = 45.0
"""For how long a record is looked for: the report waits meanwhile."""

_NOT_OF_A_RECORD = (
    *("STATE_STORE", "STREAMING_STATEFUL_OPERATOR", "LostInputError", "OutOfMemory", "STREAM_LOG_UPDATE"),
    "ChangedTableException",
    WRONG_SETTING,
)

_OTHER_STATE = re.compile(
    r"\[(?:STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA|STATE_STORE_(?:KEY_SCHEMA_NOT_COMPATIBLE|"
    r"VALUE_SCHEMA_NOT_COMPATIBLE|INVALID_VARIABLE_TYPE_CHANGE|COLUMN_FAMILY_SCHEMA_INCOMPATIBLE|"
    r"INVALID_VALUE_SCHEMA_EVOLUTION|INVALID_CONFIG_AFTER_RESTART))\].*?(?= SQLSTATE|$)",
    re.DOTALL,
)
"""What Spark says where the code's operators, or the types that they keep, are not those of the state."""

_SQL_REMEDY = (
    "`try_cast` and the other `try_` functions give NULL instead, as many expressions do with "
    '`spark.sql.ansi.enabled: "false"` in spec.spark.conf'
)
_MODULE_REMEDY = "or install the module where the replicas run, or put it beside the job's file"
_JAVA_REMEDY = "filter such records out, or give the expression what it takes"
_OF_PYTHON = ("Traceback (most recent call last)", "Python worker")
_PYTHON_REMEDY = "catch the error in the function, or filter such records out before it"


@dataclass(frozen=True, slots=True)
class Failed:
    """An epoch that failed with `error` after `took_s` seconds, and its records."""

    epoch: EpochRange
    batch: pa.RecordBatch
    error: StreamingQueryException
    took_s: float = 0.0

    @property
    def position(self) -> EnginePosition:
        """Where the engine would stand after it."""
        return EnginePosition(self.epoch.epoch, self.epoch.log_offset)

    @property
    def concerns_records(self) -> bool:
        """Whether a record may be the cause."""
        text = str(self.error)
        if exceeds_arrow(self.error):
            return False
        if job_fault(self.error) is not None:
            return True
        return plan_fault(self.error) is None and not any(name in text for name in _NOT_OF_A_RECORD)


def explained(
    failed: Failed,
    begin: Callable[[Callable[[], str]], Attempt],
    stopped: Callable[[], bool],
    command: str,
    takes_letters: bool = True,
) -> Exception:
    """An `EpochError` that says what was raised, and about which record; the error itself if it is none of the job's.

    `begin` : begins trials of this epoch, given why they shall end: after `SEARCH_S` at the latest. `command` : starts the
    changed job. `takes_letters` : whether such records could become dead letters.
    """
    said, error = job_fault(failed.error), failed.error
    if not failed.concerns_records:
        return _of_other_state(error) or _of_plan(error, command) or error
    _log.warning("epoch_failed", epoch=failed.epoch.epoch, reason=any_fault(error), next="looking for the record")
    deadline = time.monotonic() + SEARCH_S
    nothing, fails_again = "none of its records alone", False
    try:
        attempt = begin(lambda: _over(deadline, stopped))
        rows = range(failed.batch.num_rows)
        again = attempt(rows)
        fails_again = again is not None
        culprit = None if again is None else first_culprit(rows, attempt, again)
        if again is None:
            nothing = "it did not fail when it was computed once more, so the cause may be outside of the records"
    except NotSearchedError as reason:
        culprit, nothing = None, str(reason)
    except TrialError as trouble:
        culprit, nothing = None, f"the record was not found: {trouble}"
    if culprit is None and said is None and not (fails_again and is_of_init(error)):
        return error
    return about(failed, error, culprit, nothing, command, takes_letters)


def _of_other_state(error: BaseException) -> JobError | None:
    """A restart cannot help where Spark refuses a state for what it is."""
    said = _OTHER_STATE.search(str(error))
    if said is None:
        return None
    remedy = f"Keep its operators and types as they were; or {ANOTHER_NAME[0].lower()}{ANOTHER_NAME[1:]}"
    return JobError(f"{CANNOT_GO_ON} {' '.join(said[0].split())} {remedy}")


def _of_plan(error: BaseException, command: str) -> JobError | None:
    said = plan_fault(error)
    if said is None:
        return None
    return JobError(
        f"Spark refuses the job's plan: {said.rstrip('.')}. Nothing is lost. Fix the code; {_continued(command)}"
    )


def about(
    failed: Failed, error: BaseException, culprit: Culprit | None, nothing: str, command: str, takes_letters: bool
) -> EpochError:
    """What was raised, about which record, and how to go on.

    `nothing` : why no record is named if there is no `culprit`. `takes_letters`: such records could become dead letters, and
    do not yet.
    """
    error = error if culprit is None else culprit.error
    place = f"epoch {failed.epoch.epoch}, {ranges(failed.epoch)}"
    where = f"It was computing {place} ({nothing})"
    if culprit is not None:
        together = "" if culprit.alone else ", together with those before it"
        where = f"It was about the record {Coordinates.of(failed.batch, culprit.row)}{together}, in {place}"
    may_leave = takes_letters and culprit is not None and can_leave(culprit)
    said = any_fault(error).rstrip(".")
    remedy = _how_to_go_on(error, command, may_leave)
    return EpochError(failed.epoch.epoch, f"the job raised while it ran: {said}. {where}.", remedy)


def not_found(failed: Failed, trouble: TrialError, command: str) -> Exception:
    """What to raise of an epoch whose records cannot be tried one by one: another try would come to the same end."""
    if job_fault(failed.error) is None:
        return failed.error
    return about(failed, failed.error, None, f"the record was not found: {trouble}", command, takes_letters=False)


def repeated(failed: Failed, said: str, tries: int, nothing: str, command: str) -> EpochError:
    """The same was raised in so many tries of the epoch. `nothing` : why no record is named."""
    where = f"It was computing epoch {failed.epoch.epoch}, {ranges(failed.epoch)}, in each of {tries} tries ({nothing})"
    said = f"the job raised while it ran: {said.rstrip('.')}. {where}."
    return EpochError(failed.epoch.epoch, said, _how_to_go_on(failed.error, command, may_leave=False))


def can_leave(culprit: Culprit) -> bool:
    """Whether the record can become a dead letter: what it raises is its own, and the same in every replica."""
    error = culprit.error
    if job_fault(error) is None:
        return culprit.alone and record_fault(error) is not None
    return not is_of_module(error)


def _how_to_go_on(error: BaseException, command: str, may_leave: bool) -> str:
    is_python = any(word in str(error) for word in _OF_PYTHON)
    remedy = _PYTHON_REMEDY if is_python else _JAVA_REMEDY if job_fault(error) is None else _SQL_REMEDY
    if is_of_init(error):
        remedy = "Spark calls the processor's `init` before any record"
    elif is_of_module(error):
        remedy = _MODULE_REMEDY
    letters = ", or let such records become dead letters (spec.job.onError: deadLetter)" if may_leave else ""
    return f"Nothing is lost. Fix the code ({remedy}){letters}; {_continued(command)}"


def _continued(command: str) -> str:
    return f"then let the changed job go on with `{command}`, or on Kubernetes by applying it"


def _over(deadline: float, stopped: Callable[[], bool]) -> str:
    if stopped():
        return "the replica was stopped"
    return f"the search took longer than {SEARCH_S:.0f} s" if time.monotonic() > deadline else ""
