"""Versions of a table in a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tandem.checkpoint.folders import TABLES, belongs, files_of
from tandem.engine.tables.content import columns_of, content_schema, empty, fold
from tandem.engine.tables.versions import TableVersions
from tandem.jobapi.errors import JobError
from tandem.jobapi.table_frames import KEY, RECORD_KEY
from tandem.manifest.spark_settings import RETAINED_BATCHES
from tandem.shipping.files import stores_in
from tandem.snapshots.selection import select
from unit.engine.test_table_content import COLUMNS, table


def written(folder: Path, batches: int) -> list[pa.Table]:
    """A checkpoint with so many batches, of which every third changes the table; its contents."""
    versions, content = TableVersions(folder, "rules", COLUMNS), empty(COLUMNS)
    versions.restore(-1)
    contents = []
    for batch in range(batches):
        changes = None
        if batch % 3 == 0:
            folded = fold(content, table([(batch % 7, None), (None, b"x")], batch), 1_000)
            content, changes = folded.content, folded.changes
        versions.write(batch, changes, content)
        contents.append(content)
    return contents


def restored(folder: Path, batch: int) -> pa.Table:
    return TableVersions(folder, "rules", COLUMNS).restore(batch)


def test_every_version_that_spark_retains_can_be_restored(tmp_path: Path) -> None:
    contents = written(tmp_path, 400)
    for batch in range(400 - RETAINED_BATCHES, 400):
        assert restored(tmp_path, batch).equals(contents[batch])


def test_older_versions_are_removed(tmp_path: Path) -> None:
    written(tmp_path, 400)
    numbers = [int(path.stem) for path in (tmp_path / TABLES / "rules").iterdir()]
    assert min(numbers) > 400 - RETAINED_BATCHES - 60
    assert len(numbers) < RETAINED_BATCHES + 70


def test_a_table_goes_on_from_what_was_restored(tmp_path: Path) -> None:
    contents = written(tmp_path, 120)
    versions = TableVersions(tmp_path, "rules", COLUMNS)
    content = versions.restore(119)
    for batch in range(120, 260):
        folded = fold(content, table([(batch % 7, None)], batch), 1_000)
        content = folded.content
        versions.write(batch, folded.changes, content)
    assert restored(tmp_path, 259).equals(content)
    assert not content.equals(contents[-1])


def test_a_snapshot_has_what_a_version_needs_and_no_more(tmp_path: Path) -> None:
    contents = written(tmp_path, 120)
    paths = [path.relative_to(tmp_path) for path in files_of(tmp_path)]
    chosen = select(paths, 110).files
    assert len(chosen) < 60
    copy = tmp_path / "copy"
    for path in chosen:
        assert belongs(path, 110)
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes((tmp_path / path).read_bytes())
    assert restored(copy, 110).equals(contents[110])


def test_whoever_ships_a_checkpoint_sees_a_state_store(tmp_path: Path) -> None:
    written(tmp_path, 3)
    assert [str(store) for store in stores_in(tmp_path)] == [f"{TABLES}/rules"]


def test_other_columns_than_those_that_were_kept_are_refused(tmp_path: Path) -> None:
    written(tmp_path, 60)
    other = TableVersions(tmp_path, "rules", pa.schema([("id", pa.int64()), ("name", pa.string())]))
    with pytest.raises(JobError, match="source rules: its table was kept with the columns id int32, name string"):
        other.restore(59)
    with pytest.raises(JobError, match="source rules: its table was kept"):
        other.restore(10)


ABC = pa.schema([(name, pa.string()) for name in "abc"])


@pytest.mark.parametrize("batch", [59, 10], ids=["from a whole one", "from changes only"])
def test_columns_in_another_order_keep_their_values_and_one_that_is_gone_is_refused(tmp_path: Path, batch: int) -> None:
    versions, content = TableVersions(tmp_path, "rules", ABC), empty(ABC)
    versions.restore(-1)
    for number in range(60):
        row = {"a": f"a{number}", "b": f"b{number}", "c": f"c{number}", KEY: f'{{"a":"a{number}"}}', RECORD_KEY: None}
        folded = fold(content, pa.Table.from_pylist([row], schema=content_schema(ABC)), 1_000)
        content = folded.content
        versions.write(number, folded.changes, content)

    turned = pa.schema([ABC.field(name) for name in "acb"])
    found = columns_of(TableVersions(tmp_path, "rules", turned).restore(batch))
    assert found.schema.equals(turned)
    assert found.to_pylist() == [{name: f"{name}{number}" for name in "acb"} for number in range(batch + 1)]

    with pytest.raises(
        JobError, match=r"kept with the columns a string, b string, c string, .* now has a string, c string"
    ):
        TableVersions(tmp_path, "rules", pa.schema([ABC.field("a"), ABC.field("c")])).restore(batch)
    with pytest.raises(JobError, match="source rules: its table was kept"):
        TableVersions(tmp_path, "rules", ABC.append(pa.field("d", pa.string()))).restore(batch)


def test_a_stream_that_was_read_does_not_become_a_table(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="A source that the job has read as a stream does not become a table"):
        restored(tmp_path, 4)
