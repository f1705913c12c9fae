"""Which records of an epoch become dead letters: exactly those without which the rest can be computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from pyspark.errors import (
    IllegalArgumentException,
    SparkRuntimeException,
    StreamingQueryException,
    UnknownException,
)

from tandem.engine.blame import Failed, explained, not_found
from tandem.engine.faults import any_fault, job_fault, record_fault
from tandem.engine.isolation import MOST_RECORDS, isolated
from tandem.engine.trial import TrialError, most_s
from tandem.jobapi.errors import EpochError, JobError
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

RAISED = "[CAST_INVALID_INPUT] The value cannot be cast. SQLSTATE: 22018\n== DataFrame ==\n"
MISSING = "Error. Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'\n SQLSTATE: 38000"
CRASHED = "Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"


def of_java(cause: Exception) -> StreamingQueryException:
    """As Spark reports what has no SQLSTATE of its own."""
    said = "" if "StackOverflow" in str(cause) else str(cause)
    error = StreamingQueryException(f"[STREAM_FAILED] Query [id = 1] terminated with exception: {said} SQLSTATE: XXKST")
    error._cause = cause  # type: ignore[attr-defined]
    return error


def sequence() -> StreamingQueryException:
    return of_java(IllegalArgumentException("Illegal sequence boundaries: 5 to 3 by 1"))


def map_of() -> StreamingQueryException:
    return of_java(SparkRuntimeException("The key array and value array of MapData must have the same length."))


def deep() -> StreamingQueryException:
    cause = UnknownException("java.lang.StackOverflowError")
    cause._stackTrace = "\n".join(  # type: ignore[attr-defined]
        ["java.lang.StackOverflowError", "\tat java.base/java.util.regex.Pattern$Branch.match(Pattern.java:4734)"] * 2
    )
    return of_java(cause)


OF_VALUES = {
    sequence: "IllegalArgumentException: Illegal sequence boundaries: 5 to 3 by 1",
    map_of: "SparkRuntimeException: The key array and value array of MapData must have the same length.",
    deep: "StackOverflowError",
}


def failed(rows: int, error: StreamingQueryException | None = None) -> Failed:
    columns = {
        "topic": ["in"] * rows,
        "partition": [0] * rows,
        "offset": [100 + row for row in range(rows)],
        "key": [b"k"] * rows,
        "value": [b"v"] * rows,
    }
    input_ = TopicPartition("in", 0)
    epoch = EpochRange(7, Offsets({input_: 100}), Offsets({input_: 100 + rows}), 0, 0, 0)
    return Failed(epoch, pa.RecordBatch.from_pydict(columns), error or StreamingQueryException(RAISED))


def attempt(fails: Callable[[set[int]], bool], said: str = RAISED) -> Callable[[Sequence[int]], BaseException | None]:
    return lambda rows: StreamingQueryException(said) if fails(set(rows)) else None


@pytest.mark.parametrize("bad", [{0}, {9}, {0, 9}, {3, 4, 5}, set(range(10)), set()])
def test_every_record_that_fails_by_itself_is_found_and_no_other(bad: set[int]) -> None:
    found = isolated(failed(10), attempt(lambda rows: bool(rows & bad)), "run it")

    assert set(found) == {("in", 0, 100 + row) for row in bad}
    assert set(found.values()) <= {"the job raised: [CAST_INVALID_INPUT] The value cannot be cast."}


def test_of_records_that_fail_together_the_last_one_leaves() -> None:
    found = isolated(failed(10), attempt(lambda rows: {2, 6} <= rows), "run it")

    assert list(found) == [("in", 0, 106)]
    assert found["in", 0, 106].endswith("(together with records before it in its epoch)")


def test_an_epoch_that_fails_without_any_record_stops_the_job() -> None:
    with pytest.raises(JobError, match="computing epoch 7, in/0 offsets 100 to 109"):
        isolated(failed(10), attempt(lambda _: True), "run it")


def test_a_worker_that_crashes_stops_the_job_and_the_record_is_named() -> None:
    with pytest.raises(JobError, match=r"crashed\)\. It was about the record in/0, offset 103"):
        isolated(failed(10), attempt(lambda rows: 3 in rows, CRASHED), "run it")


def test_a_module_that_is_missing_is_no_record_s_fault_and_stops_the_job() -> None:
    with pytest.raises(JobError, match=r"No module named 'x'\. It was about .* install the module") as stopped:
        isolated(failed(10), attempt(bool, MISSING), "run it")

    assert "onError" not in str(stopped.value)


def test_more_records_than_can_be_found_one_by_one_stop_the_job() -> None:
    rows = MOST_RECORDS + 20
    with pytest.raises(JobError, match=f"more than {MOST_RECORDS} records .* offset {100 + MOST_RECORDS} .*`run it`"):
        isolated(failed(rows), attempt(bool), "run it")


@pytest.mark.parametrize("error", OF_VALUES)
def test_what_java_raises_about_a_value_makes_a_letter_with_its_class_and_words(
    error: Callable[[], StreamingQueryException],
) -> None:
    found = isolated(failed(10, error()), lambda rows: error() if {3, 7} & set(rows) else None, "run it")

    assert found == {("in", 0, 103): f"the job raised: {OF_VALUES[error]}", ("in", 0, 107): found["in", 0, 103]}


def test_what_java_raises_only_about_several_records_stops_the_job() -> None:
    with pytest.raises(JobError, match=r"Illegal sequence .* offset 106 .*, together with those before it"):
        isolated(failed(10, sequence()), lambda rows: sequence() if {2, 6} <= set(rows) else None, "run it")


def test_what_java_raises_without_any_record_is_no_error_of_the_job() -> None:
    first = sequence()
    with pytest.raises(StreamingQueryException) as stopped:
        isolated(failed(10, first), lambda _: sequence(), "run it")
    assert stopped.value is first


@pytest.mark.parametrize(
    "cause",
    [
        UnknownException("java.io.EOFException"),
        UnknownException("java.lang.OutOfMemoryError: Java heap space"),
        UnknownException("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"),
        IllegalArgumentException("Invalid value for 'spark.sql.statestore.size', must be a number"),
        SparkRuntimeException("[CANNOT_LOAD_STATE_STORE] An error occurred. SQLSTATE: 58030"),
    ],
    ids=str,
)
def test_what_is_not_about_a_value_makes_no_letter(cause: Exception) -> None:
    with pytest.raises(JobError, match="offset 103"):
        isolated(failed(10, of_java(cause)), lambda rows: of_java(cause) if 3 in rows else None, "run it")


def test_what_stopped_a_query_is_said_without_the_query_s_identity() -> None:
    assert any_fault(sequence()) == OF_VALUES[sequence]
    assert any_fault(deep()) == "StackOverflowError in java.util.regex.Pattern"
    assert any_fault(of_java(UnknownException("java.io.EOFException"))).startswith("[STREAM_FAILED]")
    silent = of_java(UnknownException("java.io.EOFException"))
    silent.args = ()
    silent._message = "[STREAM_FAILED] Query [id = 1] terminated with exception:  SQLSTATE: XXKST (no cause message)"
    assert any_fault(silent) == "java.io.EOFException"


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (StreamingQueryException(RAISED), "`try_cast`"),
        (
            StreamingQueryException(MISSING.replace("ModuleNotFoundError", "KeyError")),
            "catch the error in the function",
        ),
        (StreamingQueryException(CRASHED), "catch the error in the function"),
        (deep(), "filter such records out, or give the expression what it takes"),
    ],
)
def test_the_remedy_is_of_the_language_in_which_it_was_raised(error: StreamingQueryException, remedy: str) -> None:
    said = str(
        explained(failed(10, error), lambda _: lambda rows: error if 3 in rows else None, lambda: False, "run it")
    )
    assert f"Fix the code ({remedy}" in said


@pytest.mark.parametrize("takes_letters", [True, False])
def test_dead_letters_are_a_way_on_only_where_the_engine_takes_them(takes_letters: bool) -> None:
    found = attempt(lambda rows: 3 in rows)
    said = str(explained(failed(10), lambda _: found, lambda: False, "run it", takes_letters))

    assert "It was about the record in/0, offset 103" in said
    assert ("spec.job.onError: deadLetter" in said) is takes_letters


def test_trials_that_take_too_long_end_the_job_with_what_the_epoch_raised() -> None:
    def slow(_: Sequence[int]) -> BaseException | None:
        raise TrialError("computing a part of the epoch took longer than 60 s")

    with pytest.raises(TrialError) as trouble:
        isolated(failed(10), slow, "run it")
    found = not_found(failed(10), trouble.value, "run it")

    assert isinstance(found, EpochError)
    assert "[CAST_INVALID_INPUT] The value cannot be cast" in found.said
    assert "the record was not found: computing a part of the epoch took longer than 60 s" in found.said


def test_what_java_raised_without_an_sqlstate_stays_where_no_record_was_tried() -> None:
    epoch = failed(10, sequence())

    assert not_found(epoch, TrialError("the disk is full"), "run it") is epoch.error


def test_a_trial_may_take_longer_the_longer_its_epoch_took() -> None:
    assert [most_s(took_s) for took_s in (0, 5.9, 90)] == [60, 60, 900]


@pytest.mark.parametrize("number", ["$3111/0x00007f08a4d5c210", "$3140/0x0000000801a7c000", "/0x00007f08a4d5c210"])
def test_a_lambda_of_java_has_the_same_name_in_every_jvm(number: str) -> None:
    said = f"User defined function (`Halves$$Lambda{number}`: (int) => int) failed."
    raised = StreamingQueryException(f"[FAILED_EXECUTE_UDF] {said} SQLSTATE: 39000\n")

    assert (
        job_fault(raised) == "[FAILED_EXECUTE_UDF] User defined function (`Halves$$Lambda/0x…`: (int) => int) failed."
    )
    assert "$$Lambda/0x…`" in str(record_fault(of_java(IllegalArgumentException(said))))
