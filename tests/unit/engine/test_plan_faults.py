"""What Spark says against a plan only when an epoch begins is the fault of the job, and of no record."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException, UnsupportedOperationException

from tandem.engine.blame import Failed, explained
from tandem.engine.faults import plan_fault
from tandem.jobapi.errors import JobError
from tandem.protocol.values import EpochRange, Offsets
from tandem.replica.failure import classified

QUERY = "\n\n=== Streaming Query ===\nIdentifier: [id = 1]"
COLLATION = (
    "[STATE_STORE_UNSUPPORTED_OPERATION_BINARY_INEQUALITY] Binary inequality column is not supported. SQLSTATE: XXKST"
)


def of(text: str, cause: Exception | None = None) -> StreamingQueryException:
    error = StreamingQueryException(text + QUERY)
    error._cause = cause  # type: ignore[attr-defined]
    return error


OF_PLANS = {
    "a key's collation": of(COLLATION, UnsupportedOperationException(COLLATION)),
    "a feature": of("[UNSUPPORTED_FEATURE.PYTHON_UDF_IN_ON_CLAUSE] Not supported. SQLSTATE: 0A000"),
    "a column too many": of("[MULTIPLE_EVENT_TIME_COLUMNS] More than one. SQLSTATE: 42K09"),
    "no class of errors": of(
        "A join without equality is not supported.; Truncated plan of 9", AnalysisException("A join")
    ),
}
OTHERS = {
    "a value": of("[CAST_INVALID_INPUT] It cannot be cast. SQLSTATE: 22018"),
    "a file": of("[PATH_NOT_FOUND] No such path. SQLSTATE: 42K03", AnalysisException("[PATH_NOT_FOUND]")),
    "a state of another setting": of("[STATE_STORE_INVALID_CONFIG_AFTER_RESTART] Cannot change. SQLSTATE: 42K06"),
    "a date of the old parser": of(
        "[INCONSISTENT_BEHAVIOR_CROSS_VERSION.PARSE_DATETIME_BY_NEW_PARSER] A date. SQLSTATE: 42K0B"
    ),
    "a store": of("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error. SQLSTATE: 58030"),
    "Tandem's own": RuntimeError("the query has stopped"),
}


@pytest.mark.parametrize("name", OF_PLANS)
def test_what_is_of_the_plan_refuses_the_job_without_looking_for_a_record(name: str) -> None:
    epoch = EpochRange(0, Offsets(), Offsets(), 0, 0, 0)
    failed = Failed(epoch, pa.RecordBatch.from_pydict({"value": [b"v"]}), OF_PLANS[name])

    raised = explained(failed, pytest.fail, lambda: False, "tandem run job.yaml")

    assert isinstance(raised, JobError)
    said = str(raised)
    assert said.startswith("Spark refuses the job's plan: ")
    assert "tandem run job.yaml" in said
    assert "Streaming Query" not in said
    assert "Truncated plan" not in said
    assert isinstance(classified(OF_PLANS[name], {}), JobError)


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_change_is_not(name: str) -> None:
    assert plan_fault(OTHERS[name]) is None
