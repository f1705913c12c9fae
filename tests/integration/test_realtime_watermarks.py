"""State behind a watermark in the real-time engine: it moves at barriers only, and who restores one goes on with it.

`TANDEM_EXAMPLES=100` tries more plans and inputs than CI has time for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from integration.engine import BEGINNING, Job, kafka_sink, values
from integration.restored_plans import Plan
from integration.tiers import variants
from integration.timed_inputs import Epoch, inputs, records
from tandem.checkpoint.compared import restore
from tandem.checkpoint.position import EnginePosition
from tandem.engine.session import LASTING_TASKS
from tandem.replica.rows import EpochRows

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

EXAMPLES = int(os.environ.get("TANDEM_EXAMPLES", "2"))
SLOTS = LASTING_TASKS
"""Of the session, as a replica of a job with `engine: realTime` has it."""

OPERATORS = (
    "windows",
    "windows of the other input",
    "windows of both inputs",
    "dropDuplicates",
    "distinct",
    "watermark of a later column",
    "windows of a table joined",
    "lists",
)
"""Those of `restored_plans` that the real-time engine runs."""

SOME_LATE: tuple[Epoch, ...] = (
    (("l", "a", 5), ("r", "a", 30), ("l", "b", 400)),
    (("l", "a", 15), ("r", "a", 40), ("r", "b", 900)),
    (("l", "a", 25), ("l", "b", 800), ("r", "a", 50), ("r", "a", 30)),
    (("l", "a", 35), ("l", "b", 410), ("r", "b", 900), ("r", "a", 60)),
    (("l", "b", 420), ("l", "b", 810), ("r", "b", 910), ("r", "a", 30)),
    (("l", "a", 45), ("l", "b", 1600), ("r", "b", 1700), ("r", "a", 30)),
    (("l", "b", 820), ("l", "b", 1610), ("r", "b", 920), ("r", "b", 1700)),
    (("l", "b", 830), ("r", "b", 930), ("r", "b", 900)),
)
"""Records of one minute come in all epochs; the watermark passes it at the first barrier or at a later one."""
RIGHT_FALLS_SILENT: tuple[Epoch, ...] = (
    (("l", "a", 5), ("r", "a", 30)),
    (("l", "a", 300),),
    (("l", "a", 10), ("l", "a", 900)),
    (("l", "a", 20), ("l", "a", 310)),
    (("l", "a", 30), ("l", "a", 1500)),
    (("l", "a", 40), ("l", "a", 910), ("r", "a", 1600)),
    (("l", "a", 50), ("l", "a", 920), ("r", "a", 40)),
)


class Runs:
    """One query after another over the same epochs, with the same barriers, by either engine."""

    def __init__(
        self,
        spark: SparkSession,
        folders: Iterator[Path],
        plan: Plan,
        epochs: tuple[Epoch, ...],
        barriers: frozenset[int],
        real_time: bool = True,
    ) -> None:
        self._spark = spark
        self._folders = folders
        self._plan = plan
        self._epochs = epochs
        self._barriers = barriers
        self._real_time = real_time
        self.late_rows = 0
        """Of the last run, as far as they are known."""

    def through(self) -> tuple[Path, list[EpochRows]]:
        """Of a query that runs through: its folder, and the rows of each epoch."""
        folder = next(self._folders)
        return folder, self._rows(folder, BEGINNING)

    def restored(self, earlier: Path, barrier: int) -> list[EpochRows]:
        """Of a query that goes on from a barrier of an earlier one: the rows of each later epoch."""
        folder, position = next(self._folders), EnginePosition(barrier, barrier * 10)
        assert restore([earlier / "checkpoint"], barrier, folder / "checkpoint") == position
        return self._rows(folder, position)

    def _rows(self, folder: Path, after: EnginePosition) -> list[EpochRows]:
        sinks = [kafka_sink(f"out_{number}") for number in range(len(self._plan.operators))]
        job = Job(self._spark, folder, self._plan.sources, sinks, real_time=self._real_time)
        job.start(self._plan.result(job.sources), after, "update")
        self.late_rows = 0
        found: list[EpochRows] = []
        try:
            for number in range(after.epoch + 1, len(self._epochs)):
                barrier = number in self._barriers
                table = job.run(number, records(self._epochs[number]), barrier=barrier)
                self.late_rows += job.late_rows
                found.append(EpochRows.of(number, table, ordered=True))
            job.stands_at(max((n for n in self._barriers if n < len(self._epochs)), default=after.epoch))
        finally:
            job.stop()
        return found


def plain(rows: list[EpochRows]) -> list[tuple[list[dict[str, object]], str]]:
    """Rows to compare, and their digests."""
    return [(one.table.to_pylist(), one.digest) for one in rows]


def check_restored(runs: Runs, barriers: frozenset[int], last: int) -> None:
    """A query that is restored at any barrier computes what one that ran through computes in every later epoch."""
    folder, through = runs.through()
    for barrier in sorted(barriers):
        if barrier < last:
            assert plain(runs.restored(folder, barrier)) == plain(through[barrier + 1 :]), f"after {barrier}"


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="TANDEM_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@example(Plan(("windows",)), SOME_LATE, frozenset({1, 3, 5}))
@example(Plan(("dropDuplicates",)), SOME_LATE, frozenset({1, 3, 5}))
@example(Plan(("windows", "dropDuplicates"), right_idle_s=2), RIGHT_FALLS_SILENT, frozenset({1, 3}))
@example(Plan(("windows of both inputs",)), RIGHT_FALLS_SILENT, frozenset({1, 3}))
@given(
    plan=st.builds(
        Plan,
        st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=3, unique=True).map(tuple),
        st.sampled_from([0, 10, 120]),
        st.sampled_from([0, 10, 120]),
        st.sampled_from([None, 2]),
    ),
    epochs=inputs(),
    barriers=st.frozensets(st.integers(0, 5), min_size=1),
)
def test_a_query_that_restores_a_barrier_computes_what_one_that_ran_through_computes(
    spark: SparkSession, folders: Iterator[Path], plan: Plan, epochs: tuple[Epoch, ...], barriers: frozenset[int]
) -> None:
    check_restored(Runs(spark, folders, plan, epochs, barriers), barriers, len(epochs) - 1)


MINUTES: tuple[Epoch, ...] = (
    (("l", "a", 5), ("l", "a", 400)),
    (("l", "a", 10),),
    (("l", "a", 20), ("l", "a", 500)),
    (("l", "a", 30), ("l", "a", 410), ("l", "a", 510)),
    (("l", "a", 800),),
)


def counts(rows: list[EpochRows]) -> list[list[tuple[int, int]]]:
    """Of each epoch: a window's minute, and how many came in it so far."""
    found = [[json.loads(row["value"]) for row in one.table.to_pylist()] for one in rows]
    return [[(_minute(row["window"]["start"]), row["n"]) for row in some] for some in found]


def _minute(text: str) -> int:
    return datetime.fromisoformat(text).minute


def test_a_watermark_moves_behind_a_barrier_and_nowhere_else(spark: SparkSession, folders: Iterator[Path]) -> None:
    """Spark drops in a batch what was late in the batch before: so the minute 0 is late two barriers after it was passed."""
    without = Runs(spark, folders, Plan(("windows",)), MINUTES, frozenset())
    counted = [[(0, 5), (6, 400)], [(0, 15)], [(0, 35), (8, 500)], [(0, 65), (6, 810), (8, 1010)], [(13, 800)]]
    assert counts(without.through()[1]) == counted
    assert without.late_rows == 0

    runs = Runs(spark, folders, Plan(("windows",)), MINUTES, frozenset({0, 2, 3}))
    folder, through = runs.through()
    assert counts(through) == [*counted[:3], [(6, 810), (8, 1010)], counted[4]]
    assert runs.late_rows == 1
    assert counts(runs.restored(folder, 2)) == counts(through)[3:]
    assert runs.late_rows == 1


def test_rest_moves_no_watermark(spark: SparkSession, folders: Iterator[Path]) -> None:
    plan = Plan(("windows",))
    job = Job(spark, next(folders), plan.sources, [kafka_sink("out_0")], real_time=True)
    job.start(plan.result(job.sources), BEGINNING)
    try:
        sums = []
        for number, epoch in enumerate(MINUTES):
            table = job.run(number, records(epoch))
            sums += [json.loads(value)["n"] for value in values(table)]
            job.rest()
        assert sums == [5, 400, 15, 35, 500, 65, 810, 1010, 800]
        assert job.position is None, "state was committed behind an epoch that is no barrier"
    finally:
        job.stop()


def last_of_groups(rows: list[EpochRows]) -> list[set[tuple[object, ...]]]:
    """Of each epoch: the last row of each group, which is what a micro-batch publishes."""
    found = []
    for one in rows:
        values = [{**json.loads(row["value"]), "sink": row["sink"]} for row in one.table.to_pylist()]
        groups = {
            json.dumps({name: value[name] for name in sorted(value) if name not in COUNTED}): value for value in values
        }
        found.append({(group, *(value.get(name) for name in COUNTED)) for group, value in groups.items()})
    return found


COUNTED = ("n", "count")


@pytest.mark.parametrize("name", variants(["windows", "windows of both inputs", "dropDuplicates"], in_ci=["windows"]))
def test_either_engine_goes_on_from_the_state_of_the_other(
    spark: SparkSession, folders: Iterator[Path], name: str
) -> None:
    """Where every epoch is a barrier, watermarks move alike; else a batch is not numbered like its epoch."""
    plan, every = Plan((name,)), frozenset(range(len(SOME_LATE)))
    real_time, micro_batch = (Runs(spark, folders, plan, SOME_LATE, every, real_time=real) for real in (True, False))
    (real_folder, real_rows), (micro_folder, micro_rows) = real_time.through(), micro_batch.through()
    assert last_of_groups(real_rows) == last_of_groups(micro_rows)
    assert plain(real_time.restored(micro_folder, 3)) == plain(real_rows[4:])
    assert plain(micro_batch.restored(real_folder, 3)) == plain(micro_rows[4:])

    fewer = Runs(spark, folders, plan, SOME_LATE, every - {0, 2})
    folder, rows = fewer.through()
    assert last_of_groups(micro_batch.restored(folder, 3)) == last_of_groups(rows[4:])
