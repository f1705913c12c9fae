"""Partitions whose bounds Spark takes from a sample, in a job with a `parallelism` of 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, kafka_sink, raw_source
from tandem.engine.row_order import check_order
from tandem.jobapi.errors import JobError

pytestmark = pytest.mark.integration


def test_ranges_of_a_sample_are_refused_unless_a_sort_puts_them_in_order(spark: SparkSession, tmp_path: Path) -> None:
    """A plan may ask for several partitions where a job has a `parallelism` of 1."""
    events, table = Job(spark, tmp_path, [raw_source()], [kafka_sink()]).sources["events"], spark.range(9)
    beside = F.col("offset") == F.col("id")
    for several in (
        events.repartitionByRange(4, "value"),
        events.hint("REPARTITION_BY_RANGE", 4, "value"),
        events.join(F.broadcast(table.repartitionByRange(4, "id")), beside),
    ):
        with pytest.raises(JobError, match=r"Replace repartitionByRange\(\)"):
            check_order(several)
    for one in (
        events.repartitionByRange("value"),
        events.repartitionByRange(1, "value"),
        events.join(F.broadcast(table.repartitionByRange(4, "id").orderBy("id")), beside),
        events.repartition(4, "value"),
    ):
        check_order(one)
