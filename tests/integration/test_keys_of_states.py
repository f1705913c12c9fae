"""What is looked at before the states of lanes are divided or merged: keys as the state has them, and in two states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source
from tandem.checkpoint.folders import Checkpoint
from tandem.checkpoint.relocation import relocate
from tandem.snapshots.local import pin
from tandem.state.divide import shared_key, without_any, written_otherwise

pytestmark = pytest.mark.integration

FIELDS = {0: 0}


def counted(spark: SparkSession, folder: Path, keys: Sequence[bytes], kind: str) -> Checkpoint:
    """The state of a count of these keys, kept as `kind`."""
    job = Job(spark, folder / "job", [raw_source()], [kafka_sink()])
    counts = job.sources["events"].groupBy(F.col("key").cast("string").cast(kind).alias("key")).count()
    job.start(counts.select(F.col("count").cast("string").alias("value")))
    job.run(0, [Record(b"1", key) for key in keys])
    job.committed(0)
    kept = pin(folder / "job" / "checkpoint", 0, folder / "kept")
    job.stop()
    relocate(kept.folder)
    return kept


def test_keys_are_found_as_the_state_has_them_and_those_that_it_writes_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    numbers = counted(spark, tmp_path / "numbers", [b"007", b"142"], "int")
    assert without_any(spark, numbers, FIELDS, [b"142", b"9"]) is None
    assert without_any(spark, numbers, FIELDS, [b"007", b"9"]) == "operator 0 (aggregation)"
    assert "b'007'" in (written_otherwise(spark, numbers, FIELDS, [b"142", b"007"]) or "")
    assert written_otherwise(spark, numbers, FIELDS, [b"142", b"7", b"no number"]) is None

    texts = counted(spark, tmp_path / "texts", [b"007"], "string")
    assert without_any(spark, texts, FIELDS, [b"007"]) is None
    assert written_otherwise(spark, texts, FIELDS, [b"007", b"7"]) is None


def test_a_key_of_two_states_is_found(spark: SparkSession, tmp_path: Path) -> None:
    one, another, third = (
        counted(spark, tmp_path / name, keys, "string")
        for name, keys in {"one": [b"a", b"b"], "another": [b"c", b"d"], "third": [b"d"]}.items()
    )
    assert shared_key(spark, [one, another]) is None
    assert '"d"} of operator 0' in (shared_key(spark, [one, another, third]) or "")
