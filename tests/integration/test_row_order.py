"""With several tasks, the rows of a key come in the order of its records, and the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.row_order import check_order
from tandem.engine.session import build_session
from tandem.jobapi.errors import JobError
from tandem.manifest import SparkSpec
from tandem.replica.rows import EpochRows

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

VALUES = [b"20", None, b"3", b"100"]
"""In no order of bytes; the last one counts in a compacted topic."""


def identity(events: DataFrame) -> DataFrame:
    return events.select("key", "value")


def behind_a_shuffle(events: DataFrame) -> DataFrame:
    return events.repartition(2, "key").select("key", "value")


JOBS: dict[str, Callable[[DataFrame], DataFrame]] = {"identity": identity, "shuffled": behind_a_shuffle}
UNORDERED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "coalesce": lambda events: events.coalesce(1),
    "repartitionByRange": lambda events: events.repartitionByRange(2, F.col("value")),
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of a replica with two tasks at a time."""
    spec = SparkSpec(parallelism=2)
    session = build_session("order", "replica-0", spec, file_system_jar(), tmp_path_factory.mktemp("scratch"))
    yield session
    session.stop()


def records() -> list[Record]:
    return [Record(value, key) for value in VALUES for key in (b"k", b"j", b"i", None)]


def values_of(table: pa.Table, wanted: bytes | None) -> list[bytes | None]:
    keys, values = (table[name].to_pylist() for name in ("key", "value"))
    return [value for key, value in zip(keys, values, strict=True) if key == wanted]


@pytest.mark.parametrize("name", JOBS)
def test_the_rows_of_a_key_come_in_the_order_of_its_records(two: SparkSession, tmp_path: Path, name: str) -> None:
    digests = set()
    for run in ("one", "other"):
        job = Job(two, tmp_path / run, [raw_source()], [kafka_sink()])
        job.start(JOBS[name](job.sources["events"]))
        rows = EpochRows.of(0, job.run(0, records()), ordered=False)
        job.stop()
        digests.add(rows.digest)
        assert [values_of(rows.table, key) for key in (b"i", b"j", b"k", None)] == [VALUES] * 4
    assert len(digests) == 1


@pytest.mark.parametrize("name", UNORDERED)
def test_what_has_no_order_is_refused_with_several_tasks(two: SparkSession, tmp_path: Path, name: str) -> None:
    job = Job(two, tmp_path, [raw_source()], [kafka_sink()])
    with pytest.raises(JobError, match=rf"Replace {name}\(\)"):
        check_order(UNORDERED[name](job.sources["events"]))
    check_order(job.sources["events"].repartition(2))
    check_order(job.sources["events"].join(F.broadcast(two.range(3).coalesce(1)), F.col("offset") == F.col("id")))
