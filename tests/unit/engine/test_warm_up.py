"""What a replica warms up with: epochs of the past, and in real-time mode the last one again and again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message

from tandem.checkpoint.position import EnginePosition
from tandem.engine.warm_up import WarmUp
from tandem.intake.fetch import Fetched
from tandem.intake.parsing import Intake
from tandem.manifest import SourceSpec
from tandem.manifest.streams import TableSpec
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

SOURCES = (
    SourceSpec(name="events", topics=("in",)),
    SourceSpec(name="rules", topics=("rules",), table=TableSpec(key=("key",))),
)


def epoch(number: int, *topics: str) -> Fetched:
    """With a record of each of the topics."""
    groups = [(TopicPartition(topic, 0), [Message(topic=topic, partition=0, offset=number)]) for topic in topics]
    return Fetched(EpochRange(number, Offsets(), Offsets(), 1_000 + number, 0, number), tuple(groups))


class Past:
    """Gives epochs that were computed before."""

    cuts = None

    def __init__(self, *epochs: Fetched) -> None:
        self._epochs = {one.range.epoch: one for one in epochs}
        self._left = [one.range for one in epochs]

    def next_cut(self, _timeout_s: float) -> EpochRange | None:
        return self._left.pop(0) if self._left else None

    def fetch(self, cut: EpochRange, _timeout_s: float) -> Fetched:
        return self._epochs[cut.epoch]

    def close(self) -> None: ...


class Query:
    """Keeps the topics of the records that it is given."""

    def __init__(self) -> None:
        self.given: list[list[str]] = []

    def begin(self, _checkpoint: Path, _after: EnginePosition) -> None: ...

    def compute(self, _position: EnginePosition, batch: pa.RecordBatch, *_: Any) -> None:
        self.given.append(batch["topic"].to_pylist())

    def commit(self) -> None: ...

    def stop(self) -> None: ...


def warmed(folder: Path, *epochs: Fetched, real_time: bool = True) -> list[list[str]]:
    """The topics of the records of all that the query was given."""
    query, causal = Query(), SimpleNamespace(answered=lambda fetched, _: fetched)
    job: Any = SimpleNamespace(spare=query, intake=Intake(SOURCES, 1_000_000), real_time=real_time, causal=causal)
    past: Any = Past(*epochs)
    WarmUp(job, folder / "warm-up").run(lambda: past)
    return query.given


def test_the_last_epoch_is_repeated_without_what_changes_a_table(tmp_path: Path) -> None:
    """Each change of a table ends Spark's batch, which takes tenths of a second."""
    given = warmed(tmp_path, epoch(0, "in", "rules"), epoch(1, "in", "rules"))

    assert given[:2] == [["in", "rules"], ["in", "rules"]]
    assert given[2:] == [["in"]] * 98


def test_only_a_few_of_many_epochs_change_a_table(tmp_path: Path) -> None:
    given = warmed(tmp_path, *(epoch(number, "rules", "in") for number in range(120)))

    assert len(given) == 100
    assert [topics for topics in given if "rules" in topics] == [["rules", "in"]] * 4


@pytest.mark.parametrize("real_time", [True, False])
def test_epochs_without_a_table_are_given_as_they_are(tmp_path: Path, real_time: bool) -> None:
    given = warmed(tmp_path, epoch(0, "in"), epoch(1, "rules"), epoch(2, "in"), real_time=real_time)

    assert given == [["in"], ["rules"], ["in"], *([["in"]] * 97 if real_time else [])]
