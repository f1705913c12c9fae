"""The state of a job is divided among lanes and put together again: its lanes go on exactly as the job would have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.engine import Job
from integration.remembering_job import KEYS, records, started
from tandem.checkpoint.folders import Checkpoint, copy_up_to, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.checkpoint.relocation import relocate
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.kept_state import noted_states
from tandem.engine.session import build_session
from tandem.kafka.partitioners import PARTITIONERS
from tandem.manifest import SparkSpec
from tandem.snapshots.local import pin
from tandem.state import StateReader, all_parts
from tandem.state.divide import Belongs, divide, key_width, misplaced, operators_of

pytestmark = pytest.mark.integration

FIELDS = {0: 0, 1: 0, 2: 0}
MURMUR2 = PARTITIONERS["murmur2"]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    session = build_session("tests", "replica-0", SparkSpec(), file_system_jar(), folder)
    yield session
    session.stop()


Rows = list[tuple[str, bytes, bytes]]


class Lane:
    """A job that is fed with the records of the keys of one lane."""

    def __init__(
        self, spark: SparkSession, folder: Path, lane: int, lanes: int, after: EnginePosition | None = None
    ) -> None:
        self.lane, self.lanes, self._folder = lane, lanes, folder
        self._job: Job = started(spark, folder) if after is None else started(spark, folder, after)

    def run(self, epoch: int, given: int) -> Rows:
        """Compute `epoch` of the records of the epoch `given` of the whole job."""
        mine = [one for one in records(given) if MURMUR2.partition(one.key or b"", self.lanes) == self.lane]
        table = self._job.run(epoch, mine)
        columns = [table[name].to_pylist() for name in ("sink", "key", "value")] if table.num_rows else [[], [], []]
        return sorted(zip(*columns, strict=True))

    def end(self, epoch: int) -> Checkpoint:
        """Its state after `epoch`, as a replica's that was stopped."""
        self._job.committed(epoch)
        kept = pin(self._folder / "checkpoint", epoch, self._folder.with_name(f"{self._folder.name}-kept"))
        self._job.stop()
        relocate(kept.folder)
        return kept


def keys_in(spark: SparkSession, checkpoint: Checkpoint) -> dict[str, list[str]]:
    """All of a state, by operator and part."""
    reader = StateReader(spark, checkpoint.folder, checkpoint.batch)
    return {
        f"{operator.kind} {part.label}": sorted(
            json.dumps(row) for row in reader.page(operator, part, limit=9_999).rows
        )
        for operator in reader.operators()
        for part in all_parts(operator)
    }


def divided(
    spark: SparkSession, folder: Path, sources: Sequence[Checkpoint], epoch: int, lane: int, lanes: int, filtered: bool
) -> Checkpoint:
    target = folder / f"lane-{lane}-of-{lanes}" / "checkpoint"
    belongs = Belongs(MURMUR2, FIELDS, lane, lanes) if filtered else None
    divide(spark, sources, target, EnginePosition(epoch, epoch * 10), belongs)
    found = find_newest([target], epoch)
    assert found == Checkpoint(target, EnginePosition(epoch, epoch * 10), epoch)
    return found


@pytest.mark.thorough
def test_lanes_go_on_from_divided_and_merged_states_as_the_job_would_have(spark: SparkSession, tmp_path: Path) -> None:
    whole = Lane(spark, tmp_path / "whole", 0, 1)
    for epoch in range(4):
        whole.run(epoch, epoch)
    kept = whole.end(3)
    expected = [sorted(rows) for rows in _on(spark, tmp_path / "expected", kept, range(4, 10))]
    state = keys_in(spark, kept)
    assert set(map(len, state.values())) >= {KEYS}
    noted = [one.operator for one in noted_states(kept.folder) or []]
    assert noted == [operator.kind for operator in operators_of(spark, kept)]
    assert {key_width(spark, kept, operator) for operator in operators_of(spark, kept)} == {1}

    # One lane becomes three. They go on to epochs of their own.
    parts = [divided(spark, tmp_path, [kept], 9, lane, 3, filtered=True) for lane in range(3)]
    kept_by_lanes = [keys_in(spark, part) for part in parts]
    for name, rows in state.items():
        assert sorted(row for part in kept_by_lanes for row in part[name]) == rows
    assert all(any(part.values()) for part in kept_by_lanes)
    for part, lane in zip(parts, range(3), strict=True):
        assert misplaced(spark, part, Belongs(MURMUR2, FIELDS, lane, 3)) is None
        assert "operator 0" in (misplaced(spark, part, Belongs(MURMUR2, FIELDS, (lane + 1) % 3, 3)) or "")
    lanes = [Lane(spark, part.folder.parent, lane, 3, part.position) for lane, part in enumerate(parts)]
    for given in (4, 5):
        assert sorted(row for lane in lanes for row in lane.run(6 + given, given)) == expected[given - 4]
    ends = [lane.end(11) for lane in lanes]

    # Three become two: each has keys of all three. Then two become one.
    two = [divided(spark, tmp_path / "two", ends, 20, lane, 2, filtered=True) for lane in range(2)]
    lanes = [Lane(spark, part.folder.parent, lane, 2, part.position) for lane, part in enumerate(two)]
    assert sorted(row for lane in lanes for row in lane.run(21, 6)) == expected[2]
    assert sorted(row for row in lanes[1].run(22, 7)) == [row for row in expected[3] if _lane_of(row, 2) == 1]
    assert sorted(row for row in lanes[0].run(22, 7)) == [row for row in expected[3] if _lane_of(row, 2) == 0]
    one = divided(spark, tmp_path / "one", [lane.end(22) for lane in lanes], 30, 0, 1, filtered=False)
    last = Lane(spark, one.folder.parent, 0, 1, one.position)
    assert [last.run(31, 8), last.run(32, 9)] == expected[4:]
    last.end(32)


def _lane_of(row: tuple[str, bytes, bytes], lanes: int) -> int:
    return MURMUR2.partition(row[1], lanes)


def _on(spark: SparkSession, folder: Path, kept: Checkpoint, epochs: range) -> list[Rows]:
    """What the undivided job computes."""
    copy_up_to(kept, folder / "checkpoint")
    relocate(folder / "checkpoint")
    job = Lane(spark, folder, 0, 1, kept.position)
    rows = [job.run(epoch, epoch) for epoch in epochs]
    job.end(epochs[-1])
    return rows
