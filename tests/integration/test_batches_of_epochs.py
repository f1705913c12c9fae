"""Spark, where the state behind a batch is not that of the epoch before, and where batches are not numbered like epochs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Record, epoch_time_us, fetched
from integration.failing_job import Failing
from tandem.checkpoint.folders import copy_up_to, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.trial import Offered, TrialError
from tandem.intake.batch import to_batch
from tandem.state.operators import all_parts
from tandem.state.reader import StateReader

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Plan = Callable[[DataFrame], DataFrame]
GOOD, BAD = b"good", b"bad"


def first_of_each_key(events: DataFrame) -> DataFrame:
    """Of each key the first record; a bad one that is one makes the job fail."""
    first = events.dropDuplicates(["key"])
    text = F.col("value").cast("string")
    return first.select(F.when(text == "bad", F.raise_error(F.lit("a bad record"))).otherwise(text).alias("value"))


def counts(events: DataFrame) -> DataFrame:
    counted = events.groupBy("key").count()
    return counted.select("key", F.col("count").cast("string").alias("value"))


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[Plan], Failing]]:
    """Makes jobs, which are stopped at the end."""
    made: list[Failing] = []

    def make(plan: Plan) -> Failing:
        made.append(Failing(spark, tmp_path / f"job-{len(made)}", plan))
        return made[-1]

    yield make
    for one in made:
        one._query.stop()


def offered(epoch: int, records: Sequence[Record]) -> Offered:
    return Offered(EnginePosition(epoch, 10 * epoch), to_batch(fetched(epoch, records)), epoch_time_us(epoch) // 1_000)


def test_parts_of_an_epoch_are_tried_on_what_the_epochs_since_the_barrier_left(
    job: Callable[[Plan], Failing], tmp_path: Path
) -> None:
    failing = job(first_of_each_key)
    epochs = [[Record(GOOD, key=b"a")], [Record(GOOD, key=b"b")], [Record(GOOD, key=b"c")]]
    for number, records in enumerate(epochs):
        assert failing.run(number, records) is None
    failing.committed(0)
    barrier = find_newest([failing._checkpoint], 0)
    assert barrier is not None
    copy_up_to(barrier, tmp_path / "barrier")
    last = offered(3, [Record(BAD, key=b"c"), Record(BAD, key=b"d"), Record(GOOD, key=b"e")])
    earlier = [offered(number, records) for number, records in enumerate(epochs)]

    def trial(given: Sequence[Offered]) -> Callable[[Sequence[int]], BaseException | None]:
        return failing._trials.of(tmp_path / "barrier", last.position, last.batch, last.time_ms, lambda: "", given)

    attempt = trial(earlier)
    assert attempt([0, 2]) is None, "epoch 2 has had a record of that key"
    assert isinstance(attempt([1]), StreamingQueryException)
    with pytest.raises(TrialError, match="stands at epoch 0"):
        trial(earlier[:2])


def test_the_micro_batch_engine_goes_on_from_batches_that_are_not_numbered_like_epochs(
    spark: SparkSession, job: Callable[[Plan], Failing], tmp_path: Path
) -> None:
    first = job(counts)
    for number in range(6):
        assert first.run(number, [Record(GOOD, key=b"k")]) is None
    first.committed(5)
    first._query.stop()
    barriers = tmp_path / "barriers"
    newest = find_newest([first._checkpoint], 5)
    assert newest is not None
    copy_up_to(newest, barriers)
    for batch in range(6):  # as if they had ended behind barriers
        entry = barriers / "offsets" / str(batch)
        content = entry.read_text().replace(f'"epoch":{batch},', f'"epoch":{batch + 700},')
        entry.unlink()  # it is a link
        entry.write_text(content)
    found = find_newest([barriers], 705)
    assert found is not None
    assert (found.batch, found.position.epoch) == (5, 705)
    reader = StateReader(spark, barriers, found.batch)
    (operator,) = reader.operators()
    rows = reader.page(operator, all_parts(operator)[0]).rows
    assert [row["value"]["count"] for row in rows] == [6]

    again = job(counts)
    again._query.stop()
    shutil.rmtree(again._checkpoint)
    shutil.copytree(barriers, again._checkpoint)
    again._query.begin(again._checkpoint, found.position)
    one = offered(706, [Record(GOOD, key=b"k")])
    table = again._query.compute(one.position, one.batch, one.time_ms, lambda: "")
    assert table.num_rows == 1
    assert "7" in str(table.to_pylist()), "the seventh record of that key"
    again._query.commit()
    again.committed(6)
    newest = find_newest([again._checkpoint], 1_000)
    assert newest is not None
    assert (newest.batch, newest.position.epoch) == (6, 706)
