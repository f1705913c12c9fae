"""What hinders an epoch from being written to files, and may pass, is waited for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tandem.replica import tables
from tandem.replica.rows import EpochRows
from tandem.replica.table_errors import TableUnreachableError
from tandem.replica.tables import TableSink
from unit.replica.making import MakingTableWriter


def rows(epoch: int) -> EpochRows:
    numbers = pa.array([{"n": n} for n in range(2)], pa.struct([("n", pa.int64())]))
    columns = {"sink": ["archive"] * 2, "key": pa.nulls(2, pa.binary()), "value": pa.nulls(2, pa.binary())}
    return EpochRows.of(epoch, pa.table({**columns, "table_archive": numbers}), ordered=True)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (
            OSError(28, "No space left on device"),
            TableUnreachableError,
            r"of sink archive.*no space is left there \(.*MiB",
        ),
        (OSError(116, "Stale file handle"), TableUnreachableError, "Stale file handle. It is tried again"),
        (
            PermissionError(13, "Permission denied"),
            TableUnreachableError,
            "Permission denied. Give the account.*tried again",
        ),
        (PermissionError("ExpiredToken"), TableUnreachableError, "ExpiredToken. Give the account.*tried again"),
    ],
)
def test_what_may_pass_is_waited_for_and_leaves_no_file(
    error: OSError, kind: type[Exception], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = MakingTableWriter("job", [TableSink("archive", "parquet", str(tmp_path))])
    with monkeypatch.context() as broken:
        broken.setattr(tables, "sync_file", lambda *_: (_ for _ in ()).throw(error))
        with pytest.raises(kind, match=words):
            mine.write(rows(0))
    assert not list(tmp_path.iterdir())

    mine.write(rows(0))
    assert pq.read_table(tmp_path)["n"].to_pylist() == [0, 1]
