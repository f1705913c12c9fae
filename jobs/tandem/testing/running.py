"""A test's epochs through a job, by the engine that a replica has: planned, checked, taken in, asked about and computed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import Message
from pyspark.sql import SparkSession

from tandem.checkpoint.position import EnginePosition
from tandem.engine.bridge import unload_state
from tandem.engine.causal import Causal
from tandem.engine.interface import StoppedError
from tandem.engine.prepared import PreparedJob, prepare_job
from tandem.engine.spark import SparkEngine
from tandem.engine.static_tables import StaticTables
from tandem.engine.table_files import TableFiles
from tandem.formats.pins import wanted
from tandem.formats.sinks import outputs
from tandem.intake.fetch import Fetched
from tandem.intake.parsing import Counts
from tandem.jobapi.errors import JobError
from tandem.manifest import Manifest
from tandem.protocol.values import EpochRange, Offsets, TopicPartition
from tandem.replica.rows import EpochRows
from tandem.testing.answers import Answered
from tandem.testing.epochs import Epoch
from tandem.testing.importing import imported
from tandem.testing.records import Placed
from tandem.testing.session import memory_folder


@dataclass(frozen=True, slots=True)
class Computed:
    """What an engine has computed: the rows of each epoch, and how many of its rows came too late for a watermark."""

    epochs: tuple[EpochRows, ...]
    late_rows: tuple[int, ...]


@contextmanager
def prepared(
    session: SparkSession, manifest: Manifest, archives: Path, around: Callable[[], Any] = nullcontext
) -> Iterator[tuple[PreparedJob, Path]]:
    """In the block, a job that is ready to compute, and a folder for its state. Raises `JobError`, `CodeNotFoundError`.

    `archives` : a folder for archives of code, which outlasts the session's Python workers.
    `around` : a context for the making of the plan.
    """
    if any(wanted(manifest)) or any(outputs(manifest)):
        raise JobError(
            "a test asks no schema registry, which this manifest's formats need. Give run_epochs the job's function, and "
            "its sources' columns as schemas={…}; docs/how-to/formats.md has more"
        )
    folder = memory_folder()
    try:
        with imported(session, manifest, archives) as kept:
            tables = StaticTables(TableFiles(session, folder / "tables"), {})
            with around():
                job = prepare_job(session, manifest, kept, folder / "near", tables)
            yield job, folder
    finally:
        unload_state(session)  # else Spark's maintenance of state would write into the folder that goes
        shutil.rmtree(folder, ignore_errors=True)


def compute(
    job: PreparedJob,
    folder: Path,
    epochs: Sequence[Epoch],
    causal: Causal,
    answered: Answered,
    ordered: bool,
    timeout_s: float,
) -> Computed:
    """The rows of `epochs`, on no earlier state.

    `folder` : for its state; it may be used again. `ordered`: one task computes the rows.
    `timeout_s` : for all epochs.

    Raises `JobError`, `TimeoutError`, and what the query failed with.
    """
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    found: list[EpochRows] = []
    late: list[int] = []
    failures: list[BaseException] = []
    chosen = ChosenEpochs(_fetched(epochs, job.real_time), answered)

    def count(_: Mapping[str, Counts], late_rows: int) -> None:
        late.append(late_rows)

    def on_epoch(epoch: int, table: pa.Table, inputs: str) -> None:
        found.append(EpochRows.of(epoch, table, ordered, inputs))

    engine = SparkEngine(replace(job, causal=causal), folder, _nobody, lambda _: nullcontext(), count)
    try:
        engine.start(EnginePosition(), chosen, on_epoch, failures.append)
        is_done = chosen.closed.wait(timeout_s)
    finally:
        engine.stop()
    if failures:
        raise failures[0]
    if not is_done:
        raise TimeoutError(
            f"epoch {len(found)} of {len(epochs)} was not computed within {timeout_s:g} s for all of them"
        )
    return Computed(tuple(found), tuple(late))


class ChosenEpochs:
    """Epochs of a test, in the place of those that are fetched from Kafka; see `intake.fetch.Epochs`."""

    def __init__(self, epochs: Sequence[Fetched], cuts: Answered) -> None:
        self.cuts = cuts
        self.closed = threading.Event()
        """All epochs were computed, or one has failed."""
        self._left = list(epochs)

    def next_cut(self, timeout_s: float) -> EpochRange | None:  # noqa: ARG002 - all are there
        """The next one. Raises `StoppedError` after the last."""
        if not self._left:
            raise StoppedError
        return self._left[0].range

    def fetch(self, epoch: EpochRange) -> Fetched:  # noqa: ARG002 - the one of `next_cut`
        """Its records."""
        return self._left.pop(0)

    def close(self) -> None:
        """No other epoch is wanted."""
        self.closed.set()


def _fetched(epochs: Sequence[Epoch], barriers: bool) -> list[Fetched]:
    """Epochs as an engine gets them. `barriers`: each of them ends a batch, so that its watermark counts in the next one."""
    ends = [Offsets(), *accumulate(map(_ends, epochs), _later)]
    return [
        Fetched(
            EpochRange(one.number, ends[n], ends[n + 1], one.time_ms, one.seed, one.number, barrier=barriers),
            tuple((tp, [_message(record) for record in of_tp]) for tp, of_tp in _by_partition(one)),
        )
        for n, one in enumerate(epochs)
    ]


def _by_partition(epoch: Epoch) -> list[tuple[TopicPartition, list[Placed]]]:
    groups: dict[TopicPartition, list[Placed]] = {}
    for record in epoch.records:
        groups.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
    return sorted(groups.items())


def _ends(epoch: Epoch) -> Offsets:
    return Offsets((tp, records[-1].offset + 1) for tp, records in _by_partition(epoch))


def _later(earlier: Offsets, ends: Offsets) -> Offsets:
    return Offsets({**earlier, **ends})


def _message(record: Placed) -> Message:
    return Message(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        value=record.value,
        headers=None if record.headers is None else list(record.headers),
        timestamp=(1, record.timestamp_ms),
    )


def _nobody(_: EnginePosition) -> Any:
    raise AssertionError("a test's engine neither warms up nor rehearses")
