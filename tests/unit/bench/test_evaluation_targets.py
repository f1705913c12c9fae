"""What an evaluation has to reach, by results that were made up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from bench.analysis import Latency
from bench.evaluation.models import Case, Scenario
from bench.evaluation.plan import RunSpec, planned
from bench.evaluation.record import Delivery, RunRecord, Usage, Wire
from bench.evaluation.results import KillResult, RunResult, Series, growths
from bench.evaluation.targets import targets
from bench.measures import Target

from unit.bench.test_evaluation_plan import CASE, SCALE

NONE = np.zeros(0)


def spec(configuration: str, fault: str = "none", round_of: int = 0, **more: Any) -> RunSpec:
    case = {**CASE, "configurations": [configuration], "faults": [fault], **more}
    scenario = Scenario(name="one", about="What?", cases=(Case.model_validate(case),))
    return next(one for one in planned([scenario], "smoke", SCALE) if one.round == round_of)


def result(
    of: RunSpec, p50: float = 20, p99: float = 40, gap: float = 30, outages: Iterable[float] = (), lost: int = 0
) -> RunResult:
    record = RunRecord(
        spec=of,
        command="",
        started="",
        took_s=1,
        start_ns=0,
        end_ns=1,
        kills=(),
        trouble="",
        delivery=Delivery(sent=1, lost=lost, duplicated=0, reordered=0),
        usage=Usage(),
        wire=Wire(input=0, output=0, other=0, loopback=0),
        machine={},
        versions={},
    )
    latency = Latency(records=1, p1=1, p25=2, p50=p50, p75=30, p99=p99, max=p99)
    kills = tuple(KillResult(outage, 10, outage, 1, 10, 5) for outage in outages)
    return RunResult(record, latency, gap, 1.0, kills, None, None, None, None, Series(NONE, NONE, NONE, ()))


def one(results: Sequence[RunResult], words: str) -> Target:
    (found,) = [target for target in targets(results) if words in target.name]
    return found


def test_the_worst_kill_is_compared_with_the_run_without() -> None:
    runs = [result(spec("leader"), gap=40), result(spec("leader", "kill"), outages=(20, 61, 30))]
    found = one(runs, "longest gap around a kill")
    assert (found.limit, found.value, found.reached) == ("≤ 1.5", pytest.approx(61 / 40), False)


def test_of_what_nobody_takes_over_from_no_masked_kill_is_asked() -> None:
    runs = [result(spec("no-replication")), result(spec("no-replication", "kill"), outages=(9_000,))]
    assert not [target for target in targets(runs) if "kill" in target.name]


def test_a_slow_replica_is_compared_with_none() -> None:
    found = one([result(spec("leader"), p99=40), result(spec("leader", "slow"), p99=44)], "slow")
    assert (found.value, found.reached) == (pytest.approx(1.1), True)


def test_ordering_is_compared_within_its_engine_and_without_transactions() -> None:
    real_time = {"engines": ["realTime"]}
    runs = [
        result(spec("leader", **real_time), p50=30),
        result(spec("at-least-once", **real_time), p50=12),
        result(spec("no-ordering", **real_time), p50=10),
        result(spec("no-ordering"), p50=1),
    ]
    assert one(runs, "ordering and claims").value == pytest.approx(1.2)


def test_flink_is_taken_at_its_best_exactly_once_interval_for_each_percentile() -> None:
    runs = [
        result(spec("leader"), p50=20, p99=40),
        result(spec("flink-tuned"), p50=40, p99=50),
        result(spec("flink-tuned", checkpointMs=20), p50=25, p99=80),
        result(spec("flink-tuned-at-least-once"), p50=1, p99=2),
    ]
    assert one(runs, "p50 / Flink").value == pytest.approx(20 / 25)
    assert one(runs, "p99 / Flink").value == pytest.approx(40 / 50)


def test_each_round_is_compared_with_its_own() -> None:
    runs = [
        *(result(spec("leader", round_of=number), p50=p50) for number, p50 in enumerate((10, 40))),
        *(result(spec("flink-tuned", round_of=number), p50=p50) for number, p50 in enumerate((10, 20))),
    ]
    assert one(runs, "p50 / Flink").value == pytest.approx(1.5)


def test_what_has_nothing_beside_it_is_no_target() -> None:
    assert [target.name for target in targets([result(spec("leader", "kill"), outages=(1,))])] == [
        "lost, duplicated or reordered by Tandem, exactly once, in 1 runs"
    ]


def test_a_lost_row_counts_where_exactly_once_was_asked() -> None:
    assert one([result(spec("leader"), lost=1)], "lost").reached is False
    assert not targets([result(spec("at-least-once"), lost=1), result(spec("spark-tuned"), lost=1)])


def test_memory_that_grows_has_a_slope_and_a_restart_does_not_bend_it() -> None:
    seconds = np.arange(0.0, 3_600, 10)
    grown = 500 + seconds / 360
    restarted = np.where(np.abs(seconds - 1_000) < 30, 0, 700)
    usage = Usage(at_s=tuple(seconds), parts={"replica-0": tuple(grown), "replica-1": tuple(restarted)})
    record = result(spec("leader")).record.model_copy(update={"usage": usage})
    first, second = growths(record)
    assert (first.part, first.slope) == ("replica-0", pytest.approx(10, rel=0.01))
    assert first.last - first.first == pytest.approx(9, abs=0.5)
    assert (second.slope, second.first, second.last) == (0, 700, 700)


def test_without_moments_there_is_no_slope() -> None:
    assert growths(result(spec("leader")).record) == []
