"""A table that has later epochs than its owner's: once the log is read again, and then the replica ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from tandem.engine.foreach_batch import BatchFunctions
from tandem.replica.rows import EpochRows
from tandem.replica.sinks import SinkWriters
from tandem.replica.table_errors import TableAheadError, TableError
from tandem.replica.tables import TableSink
from tandem.waits import Waits
from unit.replica.making import MakingTableWriter


class NoFunctions:
    """A job without functions as sinks."""

    sinks = ()


def rows(epoch: int) -> EpochRows:
    numbers = pa.array([{"n": epoch}], pa.struct([("n", pa.int64())]))
    columns: dict[str, Any] = {"sink": ["archive"], "key": pa.nulls(1, pa.binary()), "value": pa.nulls(1, pa.binary())}
    return EpochRows.of(epoch, pa.table({**columns, "table_archive": numbers}), ordered=True)


def owner(folder: Path) -> SinkWriters:
    files = MakingTableWriter("job", [TableSink("archive", "delta", str(folder))])
    return SinkWriters(files, {}, cast(BatchFunctions, NoFunctions()), Waits().task())


def test_an_owner_whose_table_is_ahead_reads_the_log_and_ends_if_the_epoch_is_still_its_own(tmp_path: Path) -> None:
    owner(tmp_path).write(rows(50))
    mine = owner(tmp_path)

    with pytest.raises(TableAheadError, match="has epochs up to 50, and epoch 10 is to be written"):
        mine.write(rows(10))
    with pytest.raises(
        TableError, match="Nobody has published epoch 10: its rows, and those up to there, would be lost"
    ):
        mine.write(rows(10))


def test_an_owner_that_was_deposed_meanwhile_goes_on_with_the_next_epoch(tmp_path: Path) -> None:
    mine, successor = owner(tmp_path), owner(tmp_path)
    successor.write(rows(1))
    with pytest.raises(TableAheadError):
        mine.write(rows(0))

    mine.write(rows(2))

    with pytest.raises(TableAheadError):
        mine.write(rows(1))
