"""Flink as a peer of the bench: it computes what is expected of it, also around a kill of its TaskManager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from bench.analysis import Faults
from bench.plan import CONFIGURATIONS, Run
from bench.progress import must_wait
from bench.stage import Servers, Stage, servers, stage

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(600)]

PATIENCE_S = 120.0
SEED = 1

Staged = Callable[[str], AbstractContextManager[Stage]]


@pytest.fixture
def around(tmp_path: Path) -> Iterator[Servers]:
    with servers(tmp_path) as made:
        yield made


@pytest.fixture
def staged(around: Servers) -> Staged:
    def of(job: str) -> AbstractContextManager[Stage]:
        run = Run(CONFIGURATIONS["flink-tuned"], job, 0, checkpoint_interval_ms=200)
        return stage(run, around, SEED, f"flink-{job}", lambda _text: None)

    return of


def rows_come(made: Stage, more: int) -> None:
    """Wait until so many more rows have come out."""
    goal = made.reader.count + more
    must_wait(made, lambda: made.reader.count >= goal, PATIENCE_S, f"{goal} rows")


def test_a_kill_of_the_taskmanager_loses_and_repeats_no_count(staged: Staged) -> None:
    with staged("count") as made:
        made.wait_until_up()
        made.feeder.rate(200)
        rows_come(made, 500)
        before = made.system.leaders()["flink"]
        made.system.kill(made.system.actives()[0])
        must_wait(made, lambda: made.system.leaders()["flink"] != before, PATIENCE_S, "another TaskManager")
        assert made.system.leaders()["flink"][0] == before[0]
        rows_come(made, 2_000)
        assert made.drain() == Faults(0, 0, 0)
        assert made.sent > 2_500


def test_the_filter_lets_views_through_and_nothing_else(staged: Staged) -> None:
    with staged("filter") as made:
        made.wait_until_up()
        made.feeder.rate(200)
        rows_come(made, 300)
        assert made.drain() == Faults(0, 0, 0)
        assert set(made.reader.arrivals()["number"] % 3) == {0}
