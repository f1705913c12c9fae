"""A query that restores computes what one that ran through computes, whatever its plan, its inputs, and where it restores.

`TANDEM_EXAMPLES=300` tries more plans than CI has time for.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from integration.engine import BEGINNING, Job, kafka_sink
from integration.restored_plans import SOURCES, Epoch, Plan, inputs, plans, records
from tandem.engine.checkpoint import restore
from tandem.engine.interface import EnginePosition
from tandem.replica.rows import EpochRows

pytestmark = pytest.mark.integration

EXAMPLES = int(os.environ.get("TANDEM_EXAMPLES", "4"))

ONE_INPUT_FALLS_SILENT: tuple[Epoch, ...] = (
    (("l", "a", 5), ("r", "a", 30)),
    (("l", "b", 300),),
    (("l", "c", 600),),
    (("r", "z", 1200),),
    (("r", "z", 1260),),
    (("r", "z", 1320),),
)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """A new folder each time that it is asked."""
    return (tmp_path / str(number) for number in itertools.count())


class Runs:
    """One query after another over the same epochs."""

    def __init__(self, spark: SparkSession, folders: Iterator[Path], plan: Plan, epochs: tuple[Epoch, ...]) -> None:
        self._spark = spark
        self._folders = folders
        self._plan = plan
        self._epochs = epochs

    def digests(self, restored_before: frozenset[int]) -> list[str]:
        """Of each epoch's rows, by a query that is stopped and restored before the epochs given."""
        found: list[str] = []
        folder, job = self._started(BEGINNING, None)
        for number, epoch in enumerate(self._epochs):
            if number in restored_before:
                job.committed(number - 1)
                job.stop()
                folder, job = self._started(EnginePosition(number - 1, (number - 1) * 10), folder)
            found.append(EpochRows.of(number, job.run(number, records(epoch)), ordered=True).digest)
        job.stop()
        return found

    def _started(self, after: EnginePosition, earlier: Path | None) -> tuple[Path, Job]:
        folder = next(self._folders)
        job = Job(self._spark, folder, SOURCES, [kafka_sink(f"out_{n}") for n in range(len(self._plan.operators))])
        if earlier is not None:
            assert restore([earlier / "checkpoint"], after.epoch, folder / "checkpoint") == after
        job.start(self._plan.result(job.sources), after)
        return folder, job


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="TANDEM_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@example(Plan(("left outer join",)), ONE_INPUT_FALLS_SILENT, frozenset({3}))
@example(Plan(("windows", "windows of the other input", "sessions")), ONE_INPUT_FALLS_SILENT, frozenset({1, 3, 5}))
@given(plan=plans, epochs=inputs(), cuts=st.frozensets(st.integers(1, 6), min_size=1))
def test_a_query_that_restores_computes_what_one_that_ran_through_computes(
    spark: SparkSession, folders: Iterator[Path], plan: Plan, epochs: tuple[Epoch, ...], cuts: frozenset[int]
) -> None:
    runs = Runs(spark, folders, plan, epochs)
    assert runs.digests(cuts) == runs.digests(frozenset())
