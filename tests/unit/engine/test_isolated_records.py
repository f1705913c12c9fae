"""Which records of an epoch become dead letters: exactly those without which the rest can be computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from tandem.engine.blame import Failed, explained
from tandem.engine.isolation import MOST_RECORDS, isolated
from tandem.jobapi.errors import JobError
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

RAISED = "[CAST_INVALID_INPUT] The value cannot be cast. SQLSTATE: 22018\n== DataFrame ==\n"
MISSING = "Error. Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'\n SQLSTATE: 38000"
CRASHED = "Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"


def failed(rows: int) -> Failed:
    columns = {
        "topic": ["in"] * rows,
        "partition": [0] * rows,
        "offset": [100 + row for row in range(rows)],
        "key": [b"k"] * rows,
        "value": [b"v"] * rows,
    }
    input_ = TopicPartition("in", 0)
    epoch = EpochRange(7, Offsets({input_: 100}), Offsets({input_: 100 + rows}), 0, 0, 0)
    return Failed(epoch, pa.RecordBatch.from_pydict(columns), StreamingQueryException(RAISED))


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


@pytest.mark.parametrize("takes_letters", [True, False])
def test_dead_letters_are_a_way_on_only_where_the_engine_takes_them(takes_letters: bool) -> None:
    found = attempt(lambda rows: 3 in rows)
    said = str(explained(failed(10), lambda _: found, lambda: False, "run it", takes_letters))

    assert "It was about the record in/0, offset 103" in said
    assert ("spec.job.onError: deadLetter" in said) is takes_letters
