"""What a refused replica says: which part of the job differs, and where the job's own code raised."""

from __future__ import annotations

import sysconfig

import pytest
from pyspark.errors import StreamingQueryException

from tandem.jobapi.errors import JobError
from tandem.replica.failure import classified
from tandem.replica.identity_parts import difference, identity_of

PARTS = {"code": "1", "versions": "2", "sinks": "3", "maxRecordBytes": "4"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code": "9"}, "different are the job's code (the bytes of spec.job.file or module)"),
        ({"sinks": "9", "maxRecordBytes": "9"}, "different are spec.maxRecordBytes, spec.sinks"),
        ({"outputMode": "9"}, "different are spec.job.outputMode"),
        ({"parallelism": "9"}, "different are spec.spark.parallelism"),
    ],
)
def test_what_differs_between_two_jobs_is_named(change: dict[str, str], words: str) -> None:
    assert difference(identity_of(PARTS), identity_of(PARTS | change)) == words


def test_the_identity_does_not_depend_on_the_order_of_its_parts() -> None:
    assert identity_of(PARTS) == identity_of(dict(reversed(PARTS.items())))


def test_an_identity_that_cannot_be_read_is_of_another_version() -> None:
    assert "another version" in difference(identity_of(PARTS), "c0ffee")


TRACEBACK = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/pyspark/worker.py", line 200, in main
    process()
  File "/jobs/job.py", line 12, in parse
    return int(value)
  File "STDLIB/json/decoder.py", line 3, in helper
    raise ValueError
ValueError: no number
 SQLSTATE: 38000
=== Streaming Query ===
Identifier: [id = 12693b44-d06c-49ad-be34-23f8fd252572]
""".replace("STDLIB", sysconfig.get_path("stdlib"))


def test_an_error_of_the_jobs_own_code_is_one_line_with_its_place() -> None:
    found = classified(StreamingQueryException(TRACEBACK), {})

    assert isinstance(found, JobError)
    assert str(found) == "the job raised while it ran: ValueError: no number (job.py:12)"


def test_values_that_an_expression_cannot_take_are_a_refusal_too() -> None:
    text = "[CAST_INVALID_INPUT] The value 'x' of the type\n\"STRING\" cannot be cast. SQLSTATE: 22018\n== DataFrame =="
    found = classified(StreamingQueryException(text), {})

    assert isinstance(found, JobError)
    assert str(found).endswith("[CAST_INVALID_INPUT] The value 'x' of the type \"STRING\" cannot be cast.")


def test_any_other_failure_stays_what_it_is() -> None:
    error = StreamingQueryException("[STREAM_FAILED] java.lang.OutOfMemoryError")
    assert classified(error, {}) is error


def test_state_of_another_plan_is_a_refusal_that_says_what_differs() -> None:
    text = (
        "[STREAM_FAILED] Query terminated with exception: [STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does "
        "not match existing state key schema.\nPlease check number and type of fields.\nExisting key_schema=(key,Binary) "
        "and new key_schema=(key,Binary)(partition,Integer).\nSQLSTATE: XXKST\n\tat org.apache.Some.method(Some.scala:1)"
    )
    found = classified(StreamingQueryException(text), {})
    assert isinstance(found, JobError)
    assert "new key_schema=(key,Binary)(partition,Integer)" in str(found)
    assert "Some.scala" not in str(found)


def test_a_setting_that_spark_refuses_while_it_computes_is_no_error_of_the_code() -> None:
    said = (
        "[INVALID_CONF_VALUE.X] The value 'abc' in the config \"spark.broadcast.blockSize\" is invalid. SQLSTATE: 22022"
    )

    found = classified(StreamingQueryException(said), {"spark.broadcast.blockSize": "abc"})

    assert str(found).startswith("Spark refuses spec.spark.conf[spark.broadcast.blockSize]: [INVALID_CONF_VALUE")
