"""A Spark session for a command that looks at state: nothing of what the JVM says goes to the terminal."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.session import build_session
from tandem.manifest import Manifest
from tandem.process.errors import StateError

_STDERR = 2
_TOLD_BYTES = 2_000


@contextmanager
def state_session(manifest: Manifest, scratch: Path) -> Iterator[SparkSession]:
    """A session with the settings of the job, so that what it writes can be read; `scratch` is for temporary files.

    Raises `StateError` if Spark does not start, what `file_system_jar` raises.
    """
    jars = file_system_jar()
    with tempfile.TemporaryFile() as said:
        try:
            with _stderr_to(said.fileno()):
                spark = build_session(manifest.name, "state", manifest.spark, jars, scratch)
        except (PySparkException, OSError) as error:
            said.seek(max(0, said.seek(0, os.SEEK_END) - _TOLD_BYTES))
            raise StateError(f"Spark does not start: {error}\n{said.read().decode(errors='replace')}") from error
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def _stderr_to(file: int) -> Iterator[None]:
    """The JVM keeps the error stream that it is started with."""
    kept = os.dup(_STDERR)
    os.dup2(file, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
