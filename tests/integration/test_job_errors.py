"""An error that the job's code raises about a row names the record, whatever kind of error it is."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StatefulProcessor

from integration.engine import Record, fetched
from integration.failing_job import IN, Failing, Plan
from integration.failing_plans import in_a_processor, in_pandas, is_bad, raising, selecting, text
from tandem.checkpoint.position import EnginePosition
from tandem.engine import blame
from tandem.engine.blame import Failed, explained
from tandem.engine.isolation import isolated
from tandem.intake.batch import to_batch
from tandem.jobapi.errors import JobError
from tandem.protocol.values import EpochRange, Offsets

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _time_to_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a dozen trials with Python workers of their own take longer than a report waits on a machine that does more."""
    monkeypatch.setattr(blame, "SEARCH_S", 200.0)


@pytest.fixture
def failing(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[Plan], Failing]]:
    made: list[Failing] = []

    def make(plan: Plan) -> Failing:
        made.append(Failing(spark, tmp_path / str(len(made)), plan))
        return made[-1]

    yield make
    for one in made:
        one._query.stop()


SQL = "try_cast"
PYTHON = "catch the error in the function"

KINDS: dict[str, tuple[Plan, str, str]] = {
    "a cast": (selecting(lambda: text().cast("int")), "The value 'bad' of the type \"STRING\" cannot be cast", SQL),
    "a division by zero": (selecting(lambda: F.lit(1) / F.when(is_bad(), 0).otherwise(1)), "[DIVIDE_BY_ZERO]", SQL),
    "an overflow": (selecting(lambda: F.when(is_bad(), F.lit(2**31 - 1)).otherwise(1) + F.lit(1)), "OVERFLOW", SQL),
    "an index": (selecting(lambda: F.array(F.lit(1))[F.when(is_bad(), 7).otherwise(0)]), "[INVALID_ARRAY_INDEX]", SQL),
    "a key that is null": (
        selecting(lambda: F.to_json(F.create_map(F.when(~is_bad(), text()), F.lit(1)))),
        "[NULL_MAP_KEY]",
        SQL,
    ),
    "a key twice": (
        selecting(lambda: F.to_json(F.create_map(text(), F.lit(1), F.lit("bad"), F.lit(1)))),
        "DUPLICATED",
        SQL,
    ),
    "raise_error": (selecting(lambda: F.when(is_bad(), F.raise_error(F.lit("not I"))).otherwise(text())), "not I", SQL),
    "a Python function": (
        raising(lambda: int("bad")),
        "ValueError: invalid literal for int() with base 10: 'bad' (test_job_errors.py:",
        PYTHON,
    ),
    "a recursion": (
        raising(lambda: (lambda f: f(f))(lambda f: f(f))),
        "RecursionError: maximum recursion depth exceeded (test_job_errors.py:",
        PYTHON,
    ),
    "another type": (raising(object), "with type object: did not recognize Python value", PYTHON),
    "a crash": (raising(lambda: ctypes.string_at(0)), "Python worker exited unexpectedly (crashed)", PYTHON),
    "an exit": (raising(lambda: os._exit(3)), "Python worker exited unexpectedly (crashed)", PYTHON),
    "a DataFrame of pandas": (in_pandas, "KeyError: 'gone' (failing_plans.py:", PYTHON),
    "a processor": (in_a_processor, "RuntimeError: the processor cannot (failing_plans.py:", PYTHON),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_about_a_row_names_its_record(failing: Callable[[Plan], Failing], kind: str) -> None:
    plan, said, remedy = KINDS[kind]
    bad = Record(b"bad", key=b"k")
    epoch = [Record(b"2"), Record(b"3"), bad, Record(b"4"), Record(b"5"), bad]

    report = failing(plan).says([Record(b"1")], epoch)

    assert said in report
    assert "the record in/0, offset 2 (key 'k', value 'bad'), in epoch 1, in/0 offsets 0 to 5" in report
    assert remedy in report


def long_if_bad() -> Column:
    return F.repeat(F.when(is_bad(), F.lit("x")).otherwise(F.lit("")), 200_000)


OF_JAVA: dict[str, tuple[Plan, str]] = {
    "a sequence": (
        selecting(lambda: F.sequence(F.lit(5), F.when(is_bad(), 3).otherwise(7), F.lit(1))),
        "IllegalArgumentException: Illegal sequence boundaries: 5 to 3 by 1",
    ),
    "a map of unequal arrays": (
        selecting(lambda: F.to_json(F.map_from_arrays(F.array(F.lit("a")), F.split(text(), "a")))),
        "SparkRuntimeException: The key array and value array of MapData must have the same length.",
    ),
    "a deep expression": (
        selecting(lambda: F.regexp_extract(long_if_bad(), '^((?:[^"]|"")*)', 1)),
        "StackOverflowError",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", OF_JAVA)
def test_an_error_without_an_sqlstate_names_its_record_which_can_be_a_dead_letter(
    failing: Callable[[Plan], Failing], kind: str
) -> None:
    plan, said = OF_JAVA[kind]
    job = failing(plan)
    assert job.run(0, [Record(b"1")]) is None
    failed, begin = job.fails(1, [Record(b"2"), Record(b"bad"), Record(b"4")])

    report = str(explained(failed, begin, lambda: False, "tandem run it"))
    found = isolated(failed, begin(lambda: ""), "tandem run it")

    assert f"the job raised while it ran: {said.rstrip('.')}" in report
    assert "the record in/0, offset 1 (key null, value 'bad')" in report
    assert "filter such records out" in report
    assert "onError: deadLetter" in report
    assert found == {("in", 0, 1): f"the job raised: {said}"}


def test_an_error_that_needs_several_rows_is_reported_as_such(failing: Callable[[Plan], Failing]) -> None:
    def total(events: DataFrame) -> DataFrame:
        number = F.when(is_bad(), F.lit(2**63 - 2)).otherwise(F.lit(1))
        grouped = events.select("key", number.alias("number")).groupBy("key").agg(F.sum("number").alias("sum"))
        return grouped.select(F.col("sum").cast("string").alias("value"))

    report = failing(total).says(
        [Record(b"1")],
        [Record(b"2"), Record(b"bad", key=b"other"), Record(b"3", key=b"other"), Record(b"4", key=b"other")],
    )
    assert "ARITHMETIC_OVERFLOW" in report
    assert "in/0, offset 3 (key 'other', value '4'), together with those before it, in epoch 1" in report


def begun_wrongly(events: DataFrame, raises: Callable[[], object]) -> DataFrame:
    class Processor(StatefulProcessor):
        def init(self, _handle: Any) -> None:
            raises()

        def handleInputRows(self, _key: Any, _rows: Any, _timers: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
            yield pd.DataFrame({"value": ["1"]})

        def close(self) -> None: ...

    keyed = events.select(F.lit(1).alias("k"), "value").groupBy("k")
    return keyed.transformWithStateInPandas(Processor(), "value STRING", "append", "None")


@pytest.mark.parametrize(
    ("raises", "said"),
    [
        (lambda: int("bad"), "ValueError: invalid literal for int() with base 10: 'bad' (test_job_errors.py:"),
        (lambda: os._exit(3), "driver worker exited unexpectedly (crashed). It was"),
    ],
    ids=["raises", "crashes"],
)
def test_an_error_of_a_processor_s_init_is_the_code_s_and_no_record_s(
    failing: Callable[[Plan], Failing], raises: Callable[[], object], said: str
) -> None:
    failed, begin = failing(lambda events: begun_wrongly(events, raises)).fails(0, [Record(b"1")])

    report = explained(failed, begin, lambda: False, "tandem run it")

    assert isinstance(report, JobError), report
    assert said in str(report)
    assert "epoch 0, in/0 offset 0 (none of its records alone). Nothing is lost. Fix the code (Spark calls" in str(
        report
    )
    assert "onError" not in str(report)


def failing_timers(events: DataFrame) -> DataFrame:
    class Processor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._handle = handle

        def handleInputRows(self, _key: Any, _rows: Any, timers: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
            self._handle.registerTimer(timers.getCurrentProcessingTimeInMs() + 500)
            yield pd.DataFrame({"value": ["1"]})

        def handleExpiredTimer(self, key: Any, **_: Any) -> Iterator[Any]:  # noqa: N802
            raise RuntimeError(f"the timer of {key[0]} cannot")

        def close(self) -> None: ...

    keyed = events.select(F.lit(1).alias("k"), "value").groupBy("k")
    return keyed.transformWithStateInPandas(Processor(), "value STRING", "append", "ProcessingTime")


@pytest.mark.parametrize("letters", [pytest.param(False, marks=pytest.mark.thorough), True], ids=["stop", "deadLetter"])
def test_an_error_of_a_timer_stops_the_job_whatever_becomes_of_records(
    failing: Callable[[Plan], Failing], letters: bool
) -> None:
    job = failing(failing_timers)
    assert job.run(0, [Record(b"1")]) is None
    failed, begin = job.fails(1, [Record(b"2")])

    if letters:
        with pytest.raises(JobError) as refused:
            isolated(failed, begin(lambda: ""), "tandem run it")
        report: Exception = refused.value
    else:
        report = explained(failed, begin, lambda: False, "tandem run it")

    assert isinstance(report, JobError), report
    assert "RuntimeError: the timer of 1 cannot (test_job_errors.py:" in str(report)
    assert "epoch 1, in/0 offset 0 (none of its records alone)" in str(report)
    assert "onError" not in str(report)


def newest(events: DataFrame, number: Column) -> DataFrame:
    grouped = events.select("key", number.alias("number")).groupBy("key").agg(F.max("number").alias("max"))
    return grouped.select(F.col("max").cast("string").alias("value"))


CHANGED: dict[str, tuple[Plan, Plan]] = {
    "other operators": (
        lambda events: events.dropDuplicates(["value"]).select("value"),
        lambda events: events.groupBy("key").count().select(F.col("count").cast("string").alias("value")),
    ),
    "other types": (
        lambda events: newest(events, F.col("offset")),
        lambda events: newest(events, F.col("offset").cast("double")),
    ),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_code_that_does_not_fit_its_state_is_refused_with_what_to_do(
    failing: Callable[[Plan], Failing], kind: str
) -> None:
    before, after = CHANGED[kind]
    first = failing(before)
    assert first.run(0, [Record(b"1", key=b"k")]) is None
    first.committed(0)
    first._query.stop()
    again = failing(after)
    again._query.stop()
    shutil.rmtree(again._checkpoint)
    shutil.copytree(first._checkpoint, again._checkpoint)
    again._query.begin(again._checkpoint, EnginePosition(0, 0))

    error = again.run(1, [Record(b"2", key=b"k")])

    assert error is not None
    epoch = EpochRange(1, Offsets({IN: 0}), Offsets({IN: 1}), 1_700_000_001_000, 1, 1)
    failed = Failed(epoch, to_batch(fetched(1, [Record(b"2")])), error)
    report = explained(failed, lambda _: pytest.fail("no record is looked for"), lambda: False, "tandem run it")
    assert isinstance(report, JobError), report
    assert "cannot go on from the state that the code before it left: [ST" in str(report)
    assert str(report).endswith("begins with no state, at the first records of its inputs")
    assert "\n" not in str(report)


def test_an_error_that_does_not_come_again_says_so(failing: Callable[[Plan], Failing], tmp_path: Path) -> None:
    once = str(tmp_path / "once")

    def function(value: bytes) -> int:
        if bytes(value) == b"bad" and not os.path.exists(once):  # noqa: PTH110
            os.close(os.open(once, os.O_CREAT))
            raise OSError("away")
        return 1

    report = failing(selecting(lambda: F.udf(function, "int")("value"))).says(
        [Record(b"1")], [Record(b"2"), Record(b"bad")]
    )

    assert "OSError: away" in report
    assert "in/0 offsets 0 to 1 (it did not fail when it was computed once more" in report
