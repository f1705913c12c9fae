"""A full disk is told as what it is, however deep in Spark's errors it is."""

from __future__ import annotations

import errno
from pathlib import Path

from tandem.engine.memory import no_room

COMMIT = (
    "[CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing state store files. SQLSTATE: 58030\n=== Streaming Query ==="
)


def from_the_jvm() -> RuntimeError:
    """As PySpark raises it: the trace of Java is beside the message."""
    error = RuntimeError(COMMIT)
    vars(error)["_stackTrace"] = "Caused by: java.io.IOException: No space left on device\n\tat x.Y"
    return error


def test_a_commit_that_spark_cannot_write_names_the_place_and_what_helps(tmp_path: Path) -> None:
    said = str(no_room(from_the_jvm(), tmp_path / "flights" / "checkpoint"))
    assert said.startswith("there was no room left for a file: [CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing")
    assert f"The checkpoint is in {tmp_path}/flights/checkpoint, whose file system has" in said
    assert "sizeLimit" in said
    assert "\n" not in said


def test_so_does_a_file_of_our_own_that_is_behind_another_error(tmp_path: Path) -> None:
    error = RuntimeError("cannot ship")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device", "x")

    assert "no room left for a file: cannot ship" in str(no_room(error, tmp_path))


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    assert no_room(RuntimeError("something else"), tmp_path) is None
