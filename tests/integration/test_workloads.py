"""The workloads of the literature compute what their references say, epoch by epoch, on the engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from bench.workloads import LITERATURE, Engine, Epochs, Record, Row, Workload, merged
from bench.workloads.compare import Differences, differences
from bench.workloads.manifests import SINK, Place, manifest, write

from tandem import testing
from tandem.testing import run_epochs, stop_session

pytestmark = [pytest.mark.integration]

ROOT = Path(__file__).parents[2]
SEED, EPOCHS = 7, 4
RECORDS = {"closed-windows": 60_000, "fixwindow": 4_000, "sequences": 12_000, "count": 3_000}
USUAL_RECORDS = 2_000
OFTEN = {("fixwindow", "microBatch"), ("grouping", "realTime")}
"""One of each engine, one with state. The rest is thorough."""

CASES = [
    pytest.param(name, engine, id=f"{name}-{engine}", marks=[] if (name, engine) in OFTEN else [pytest.mark.thorough])
    for engine in ("realTime", "microBatch")
    for name, workload in LITERATURE.items()
    if engine in workload.engines
]


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    """No session of Spark outlives these tests."""
    yield
    stop_session()


def cut(workload: Workload, count: int) -> list[dict[str, list[Record]]]:
    """The records of each source, in epochs that are cut at other places of each source and partition."""
    records = {feed.source: list[Record]() for feed in workload.feeds}
    for record in workload.records(SEED, count):
        records[record.source].append(record)
    epochs: list[dict[str, list[Record]]] = [{} for _ in range(EPOCHS)]
    for place, (source, own) in enumerate(records.items()):
        ends = [0, *(len(own) * (2 * number + place) // (2 * EPOCHS) for number in range(1, EPOCHS)), len(own)]
        for epoch, (start, end) in enumerate(pairwise(ends)):
            epochs[epoch][source] = own[start:end]
    return epochs


def in_order(epochs: list[dict[str, list[Record]]]) -> Epochs:
    """As a replica takes them in: round robin over the partitions."""
    return [
        merged(
            [
                [record for record in own if record.partition == partition]
                for _, own in sorted(epoch.items())
                for partition in sorted({record.partition for record in own})
            ]
        )
        for epoch in epochs
    ]


def computed(
    workload: Workload, engine: Engine, epochs: list[dict[str, list[Record]]], folder: Path
) -> list[list[Row]]:
    (folder / "bench").symlink_to(
        ROOT / "bench"
    )  # so the workers of Python find it, wherever their session was started
    path = write(folder / "job.yaml", manifest(workload, engine, Place("tested", memory=folder)))
    inputs = {
        feed.source: [
            [testing.Record(r.value, r.key, r.timestamp_ms, r.partition) for r in epoch[feed.source]]
            for epoch in epochs
        ]
        for feed in workload.feeds
    }
    result = run_epochs(path, inputs)
    return [
        [Row(row.raw_key, row.raw_value, row.headers) for row in result.rows(SINK, epoch)]
        for epoch in range(len(epochs))
    ]


@pytest.mark.parametrize(("name", "engine"), CASES)
def test_a_workload_computes_what_its_reference_says(name: str, engine: Engine, tmp_path: Path) -> None:
    workload = LITERATURE[name]
    epochs = cut(workload, RECORDS.get(name, USUAL_RECORDS))
    expected = workload.reference(in_order(epochs), engine)

    assert sum(map(len, expected)) > 50
    assert differences(expected, computed(workload, engine, epochs, tmp_path)) == Differences()
