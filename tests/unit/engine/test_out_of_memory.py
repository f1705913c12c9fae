"""Spark without memory is one clear error: which epoch, how large, how much heap, and what helps."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException, UnknownException

from tandem.engine.blame import Failed
from tandem.engine.memory import EpochSize, EpochTooLargeError, OutOfMemoryError, explained, suggested_heap
from tandem.manifest.spark import LEAST_MEMORY
from tandem.protocol.values import EpochRange, Offsets

MIB = 2**20
SAID = "org.apache.spark.SparkException: boom\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat x.Y"


def test_an_epoch_that_cannot_fit_is_refused_with_the_heap_that_it_needs() -> None:
    found = explained(RuntimeError(SAID), "512m", EpochSize(1, 400, 343 * MIB))

    assert isinstance(found, EpochTooLargeError)
    assert str(found).startswith("epoch 1 with 400 records of 343.0 MiB in all does not fit into Spark's heap of 512m")
    assert "(OutOfMemoryError: Java heap space)" in str(found)
    assert "raise spec.spark.driverMemory to 5888m or more" in str(found)
    assert "\n" not in str(found)


def test_a_small_epoch_is_not_to_blame() -> None:
    found = explained(RuntimeError(SAID), "1g", EpochSize(7, 3, 2 * MIB))

    assert isinstance(found, OutOfMemoryError)
    assert "Spark's heap of 1g was full in epoch 7 with 3 records of 2.0 MiB in all" in str(found)
    assert "raise spec.spark.driverMemory" in str(found)


def test_memory_that_is_gone_before_the_first_epoch_says_so() -> None:
    assert "before any epoch was computed" in str(explained(RuntimeError(SAID), "1g", None))


@pytest.mark.parametrize(("code", "said"), [(3, "Java heap space"), (52, "memory for rows on their way")])
def test_a_jvm_that_says_nothing_tells_by_its_exit_code(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    monkeypatch.setattr("tandem.engine.memory.jvm_exit_code", lambda **_: code)
    found = explained(EOFError(), "1g", EpochSize(7, 1, 100))
    assert isinstance(found, OutOfMemoryError)
    assert f"full in epoch 7 with 1 records of 0.0 MiB in all ({said}" in str(found)
    assert "what it makes of a record (explode) needs more; the epoch is in the log" in str(found)


def of_arrow(said: str, at: str) -> StreamingQueryException:
    error = StreamingQueryException("[STREAM_FAILED] Query [id = 1] terminated with exception: boom SQLSTATE: XXKST")
    cause = UnknownException(said)
    stack = f"{said}\n\tat org.apache.arrow.vector.X.y(X.java:1)\n\tat tandem.{at}(Z.java:2)"
    cause._stackTrace = stack  # type: ignore[attr-defined]
    error._cause = cause  # type: ignore[attr-defined]
    return error


OVERSIZED = "org.apache.arrow.vector.util.OversizedAllocationException: Memory required for vector is (2147483648)"


@pytest.mark.parametrize(
    ("said", "where"),
    [
        (OVERSIZED, "EpochBridge.toArrow"),
        ("java.lang.OutOfMemoryError: Required length exceeds implementation limit", "EpochBridge.toArrow"),
        (OVERSIZED, "FeedWriter.write"),
        ("java.lang.ArithmeticException: integer overflow", "Frame.write"),
    ],
)
def test_output_over_what_arrow_holds_is_refused_and_no_record_is_to_blame(said: str, where: str) -> None:
    error = of_arrow(said, where)
    found = explained(error, "8g", EpochSize(7, 3, 2 * MIB))

    assert isinstance(found, EpochTooLargeError)
    assert str(found).startswith(
        "the rows that the job makes of epoch 7, with 3 records of 2.0 MiB in all, are over 2 GiB"
    )
    assert "lower spec.ordering.maxRecordsPerEpoch or spec.ordering.maxBytesPerEpoch" in str(found)
    assert not Failed(
        EpochRange(7, Offsets(), Offsets(), 0, 0, 0), pa.RecordBatch.from_pydict({}), error
    ).concerns_records


def test_a_function_whose_input_is_over_what_arrow_holds_is_another_matter() -> None:
    error = of_arrow(OVERSIZED, "SomebodysWriter.write")

    assert explained(error, "8g", EpochSize(7, 3, 2 * MIB)) is error


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("OutOfMemoryException: HashAggregate had no room for all of its rows or groups", OutOfMemoryError),
        ("ChangedTableException: the file /t/a.csv of a static table was written", StreamingQueryException),
    ],
)
def test_no_record_is_looked_for_where_room_or_a_table_is_the_cause(said: str, kind: type[Exception]) -> None:
    error = StreamingQueryException(f"[STREAM_FAILED] Query [id = 1] terminated with exception: {said} SQLSTATE: XXKST")
    epoch = EpochRange(7, Offsets(), Offsets(), 0, 0, 0)
    assert not Failed(epoch, pa.RecordBatch.from_pydict({}), error).concerns_records
    found = explained(error, "1g", EpochSize(7, 3, 2 * MIB))
    assert type(found) is kind
    assert said in str(found)


def test_other_errors_stay_what_they_are() -> None:
    error = RuntimeError("something else")
    assert explained(error, "1g", None) is error


@pytest.mark.parametrize("size", [1, 40 * MIB, 900 * MIB])
def test_what_is_suggested_is_more_than_there_was_and_more_than_an_epoch_takes(size: int) -> None:
    suggested = suggested_heap(size, LEAST_MEMORY) * MIB
    assert suggested >= 2 * LEAST_MEMORY
    assert suggested >= 12 * size
