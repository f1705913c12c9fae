"""The jobs that the bench kills compute what it expects of them, epoch by epoch on the engine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from bench import jobs
from bench.analysis import Faults
from bench.measured import WORKLOADS
from bench.records import ARRIVAL, decode

from integration.engine import Job, Record

pytestmark = [pytest.mark.integration]

SEED, EPOCHS, EVENTS = 1, 12, 1_000


def fed(name: str, epoch: int) -> list[Record]:
    """What the feeder sends, all of an epoch's records in the order of their partitions, as in a replica."""
    make, first = WORKLOADS[name].feed(SEED), epoch * EVENTS
    sent = [make(number, number) for number in range(first + EVENTS)][first:]
    return sorted((Record(one.value, one.key, partition=one.partition) for one in sent), key=lambda of: of.partition)


def arrived(outputs: list[pa.Table]) -> np.ndarray:
    rows = [decode(row["key"], row["value"]) for table in outputs for row in table.to_pylist()]
    return np.array([(number, created, at, key, 0) for at, (number, created, key) in enumerate(rows)], ARRIVAL)


@pytest.mark.parametrize("name", ["filter", "count", "fixwindow", "q3", "q8"])
def test_a_workload_yields_what_is_expected_of_it(job: Job, name: str) -> None:
    job.start(getattr(jobs, name)(job.sources["events"]))
    arrivals = arrived([job.run(epoch, fed(name, epoch)) for epoch in range(EPOCHS)])

    assert len(arrivals) > 50
    assert arrivals["created_ns"].max() < EPOCHS * EVENTS
    assert WORKLOADS[name].faults(arrivals, SEED, EPOCHS * EVENTS) == Faults(0, 0, 0)
    assert WORKLOADS[name].faults(arrivals[:-1], SEED, EPOCHS * EVENTS).lost > 0
