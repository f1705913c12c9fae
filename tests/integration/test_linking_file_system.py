"""Tables of state get into a checkpoint and out of it without a copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration


@pytest.fixture
def into(spark: SparkSession, tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """Spark's way to bring a file of that name into a checkpoint, and back: the original, and what became of it."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path
    files = path(tmp_path.as_uri()).getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def copied(name: str) -> tuple[Path, Path]:
        original, back = tmp_path / name, tmp_path / f"back-{name}"
        original.write_bytes(b"rows")
        (tmp_path / "checkpoint").mkdir(exist_ok=True)
        there = path(str(tmp_path / "checkpoint" / name))
        files.copyFromLocalFile(path(str(original)), there)
        files.copyToLocalFile(there, path(str(back)))
        return original, back

    return copied


def test_a_table_is_linked(into: Callable[[str], tuple[Path, Path]]) -> None:
    original, back = into("000012.sst")
    assert back.samefile(original)


def test_a_table_that_is_there_already_takes_no_harm(into: Callable[[str], tuple[Path, Path]]) -> None:
    into("000012.sst")
    original, back = into("000012.sst")
    assert original.read_bytes() == back.read_bytes() == b"rows"


def test_any_other_file_is_copied(into: Callable[[str], tuple[Path, Path]]) -> None:
    original, back = into("7.zip")
    assert back.read_bytes() == b"rows"
    assert not back.samefile(original)
