"""`tandem state` shows the rows that a table has in a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import BEGINNING, Job, Record, as_json, kafka_sink
from integration.table_sources import EVENTS, RULES, rule
from tandem.checkpoint.folders import find_newest
from tandem.state import BadKeyError, StateReader, UnknownTableError, find_table, tables_of

pytestmark = pytest.mark.integration


def named(events: DataFrame, rules: DataFrame) -> DataFrame:
    return events.join(rules, "id", "left").select(F.concat_ws(" ", F.col("id"), "name").alias("value"))


def test_the_rows_of_a_table_are_read_behind_each_batch(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path / "job", [EVENTS, RULES], [kafka_sink()])
    job.start(named(job.sources["events"], job.sources["rules"]), BEGINNING)
    epochs = ([Record(as_json(id=1))], [rule(1, "a"), rule(2, "b")], [rule(1, "c"), Record(None, b"2", "rules")])
    for epoch, records in enumerate(epochs):
        job.run(epoch, records)
        job.committed(epoch)
    checkpoint = tmp_path / "job" / "checkpoint"
    newest = find_newest([checkpoint], len(epochs))
    assert newest is not None
    job.stop()

    before, after = (tables_of([EVENTS, RULES], checkpoint, batch) for batch in (newest.batch - 1, newest.batch))
    assert [(one.name, one.key, list(one.columns)) for one in after] == [("rules", ("id",), ["id", "name", "at"])]
    assert [row["value"]["name"] for row in before[0].page(spark).rows] == ["a", "b"]
    at = "2024-06-01T10:00:00Z"
    assert after[0].page(spark).rows == ({"key": {"id": 1}, "value": {"name": "c", "at": at}},)
    assert [row["key"] for row in before[0].page(spark, ["id=2"]).rows] == [{"id": 2}]
    assert before[0].page(spark, limit=1).more
    with pytest.raises(BadKeyError, match="no field name"):
        before[0].page(spark, ["name=a", "id=1"])
    with pytest.raises(UnknownTableError, match="there is no table events: there are rules"):
        find_table(after, "events")
    assert not StateReader(spark, checkpoint, newest.batch).keeps_any


def test_a_table_of_which_nothing_came_is_not_there(tmp_path: Path) -> None:
    assert tables_of([EVENTS, RULES], tmp_path, 3) == ()
