"""What a replica with executors finds out at its start, on a session without any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration.engine import Job, kafka_sink, raw_source
from tandem.engine.executors import Executors
from tandem.engine.registering import await_executors
from tandem.engine.shared_state import stateful_operators
from tandem.process.info import RefusedError

pytestmark = pytest.mark.integration


def test_executors_that_do_not_come_are_told_about(spark: SparkSession) -> None:
    with pytest.raises(RefusedError, match=r"none of the 2 executors.*spec\.executors"):
        await_executors(spark, Executors("local", 2, {}), 0.1)


STATEFUL: dict[str, tuple[Callable[[DataFrame], DataFrame], list[str]]] = {
    "a filter": (lambda d: d.filter("value = 'x'"), []),
    "a union": (lambda d: d.select("key").union(d.select("value")), []),
    "a join with a table": (lambda d: d.crossJoin(d.sparkSession.range(3)), []),
    "a count": (lambda d: d.groupBy("key").count(), ["Aggregate"]),
    "distinct rows": (lambda d: d.select("key").distinct(), ["Deduplicate"]),
    "rows without duplicates": (lambda d: d.dropDuplicates(["key"]), ["Deduplicate"]),
    "the first rows": (lambda d: d.limit(3), ["GlobalLimit"]),
    "a join of streams": (lambda d: d.select("key").join(d.select("key", "value"), "key"), ["Join"]),
    "groups with a state": (
        lambda d: d.groupBy("key").applyInPandasWithState(
            lambda *_: iter(()), "a STRING", "n INT", "append", "NoTimeout"
        ),
        ["FlatMapGroupsInPandasWithState"],
    ),
}


@pytest.mark.parametrize("name", STATEFUL)
def test_operators_with_state_are_known(spark: SparkSession, tmp_path: Path, name: str) -> None:
    build, expected = STATEFUL[name]
    events = Job(spark, tmp_path / "job", [raw_source()], [kafka_sink()]).sources["events"]
    assert stateful_operators(build(events.drop("metadata"))) == expected
