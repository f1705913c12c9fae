"""The key columns by which the rows of a table are kept must stay those of the manifest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition
from tandem.engine.tables.content import content_schema, empty, fold
from tandem.engine.tables.kept import KeptTables
from tandem.engine.tables.versions import TableVersions
from tandem.jobapi.errors import JobError
from tandem.jobapi.table_frames import KEY, RECORD_KEY
from tandem.manifest import SourceSpec
from tandem.manifest.streams import TableSpec

COLUMNS = pa.schema([("a", pa.string()), ("b", pa.string())])
AFTER = EnginePosition(0, 0)


def kept(folder: Path, *keys: str) -> None:
    """A checkpoint of one batch, which has put rows with these identities into the table."""
    rows = [{"a": "1", "b": "2", KEY: key, RECORD_KEY: None} for key in keys]
    folded = fold(empty(COLUMNS), pa.Table.from_pylist(rows, schema=content_schema(COLUMNS)), 1_000)
    begin_after(folder, AFTER)
    TableVersions(folder, "rules", COLUMNS).write(0, folded.changes if rows else None, folded.content)


def restored(folder: Path, *key: str) -> pa.Table:
    """What a job with that `table.key` goes on with."""
    shown: list[pa.Table] = []
    source = SourceSpec(
        name="rules", topics=("rules",), format="json", schema="a STRING, b STRING", table=TableSpec(key=key)
    )
    frames: Any = SimpleNamespace(source=source, columns=COLUMNS, show=shown.append)
    KeptTables([frames]).restore(folder, AFTER)
    return shown[0]


def test_rows_are_restored_by_the_key_that_they_were_kept_by(tmp_path: Path) -> None:
    kept(tmp_path, '{"a":"1","b":null}', '{"a":"2","b":"{\\"c\\":1}"}')
    assert restored(tmp_path, "a", "b").num_rows == 2


@pytest.mark.parametrize(
    ("before", "key"), [('{"a":"1"}', ("b",)), ('{"a":"1"}', ("a", "b")), ('{"a":"1","b":"2"}', ("b", "a"))]
)
def test_another_key_is_refused_since_no_row_would_replace_those_that_are_kept(
    tmp_path: Path, before: str, key: tuple[str, ...]
) -> None:
    kept(tmp_path, before)
    with pytest.raises(JobError, match=f"source rules: the rows of its table .* now has {', '.join(key)}") as refused:
        restored(tmp_path, *key)
    assert "Change spec.sources[].table.key back, in that order" in str(refused.value)


def test_a_table_without_rows_may_get_another_key(tmp_path: Path) -> None:
    kept(tmp_path)
    assert restored(tmp_path, "b").num_rows == 0
