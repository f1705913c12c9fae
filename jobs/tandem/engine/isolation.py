"""`onError: deadLetter`: which records of a failed epoch leave the job, and why. The rest is computed without them.

What is found follows from the records, the state before the epoch and the code: every replica, and whatever computes the
epoch later, finds the same. So nothing of it stands in the log; the digest shows if an error depends on anything else.
"""

from collections.abc import Mapping

from tandem.engine.blame import Failed, about, can_leave
from tandem.engine.culprit import Attempt, Culprit, first_culprit
from tandem.engine.faults import job_fault, record_fault
from tandem.intake.parsing import Place
from tandem.jobapi.errors import JobError
from tandem.logs import get_logger

_log = get_logger(__name__)

MOST_RECORDS = 100
"""Of one epoch. Each costs about log2 of the epoch's records runs of the query, so many of them would hold up the job."""


def isolated(failed: Failed, attempt: Attempt, command: str) -> Mapping[Place, str]:
    """The records without which the epoch can be computed, each with its reason; none if it does not fail again.

    `attempt` : computes rows of the epoch. `command`: starts the changed job, for messages. Raises `JobError` if no record
    is the cause, if a worker crashes, if a module is missing, or if it is more than `MOST_RECORDS`; `TrialError`; what the
    epoch failed with if neither a record nor the job is the cause.
    """
    rows, found, passing = list(range(failed.batch.num_rows)), dict[Place, str](), 0
    error = attempt(rows)
    while error is not None:
        culprit = first_culprit(rows, attempt, error, passing)
        if culprit is None and job_fault(error) is None:
            raise failed.error
        if culprit is None or not can_leave(culprit):
            raise about(failed, error, culprit, "none of its records alone", command, takes_letters=False)
        if len(found) == MOST_RECORDS:
            raise JobError(
                f"more than {MOST_RECORDS} records of an epoch cannot be computed, so they do not become dead letters one "
                f"by one; the first of the others: {about(failed, error, culprit, '', command, takes_letters=False)}"
            )
        found[_place(failed, culprit.row)] = _reason(culprit)
        _log.warning(
            "record_isolated", epoch=failed.epoch.epoch, record=_place(failed, culprit.row), reason=_reason(culprit)
        )
        passing = rows.index(culprit.row)
        rows.remove(culprit.row)
        error = attempt(rows)
    return found


def _place(failed: Failed, row: int) -> Place:
    topic, partition, offset = (failed.batch[name][row].as_py() for name in ("topic", "partition", "offset"))
    return str(topic), int(partition), int(offset)


def _reason(culprit: Culprit) -> str:
    together = "" if culprit.alone else " (together with records before it in its epoch)"
    return f"the job raised: {record_fault(culprit.error)}{together}"
