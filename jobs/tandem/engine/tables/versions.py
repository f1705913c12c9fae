"""The versions of a table in a checkpoint, named as Spark names those of its state stores.

So whatever copies, ships or snapshots a checkpoint takes a table's files as it takes a store's: version v is the table
behind batch v - 1; `v.delta` has the changes since the version before (nothing, if there are none), and now and then
`v.snapshot` has the whole table, from which versions are read on.
"""

from pathlib import Path
from typing import Final

import pyarrow as pa

from tandem.checkpoint.folders import TABLES, link
from tandem.engine.tables.content import LIVE, changed, content_schema, empty
from tandem.jobapi.errors import JobError
from tandem.manifest.spark_settings import RETAINED_BATCHES

_CHAIN: Final = 50
"""So many versions at most are read to restore one."""
_DELTA: Final = ".delta"
_FULL: Final = ".snapshot"
_OWN: Final = "_tandem_"
"""Columns that the job does not see begin so."""


def columns_kept(checkpoint: Path, name: str) -> pa.Schema | None:
    """The columns that the job sees of a table in a checkpoint; None if nothing is kept of it."""
    folder = checkpoint / TABLES / name
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix in (_DELTA, _FULL) and path.stem.isdigit() and path.stat().st_size:
            with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
                return pa.schema([field for field in reader.schema if not field.name.startswith(_OWN)])
    return None


class TableVersions:
    """Of one table in one checkpoint; not thread-safe.

    `columns` : those that the job sees, in order. A version that was kept in another order is read in this one.
    """

    def __init__(self, checkpoint: Path, name: str, columns: pa.Schema) -> None:
        self._name = name
        self._columns = columns
        self._folder = checkpoint / TABLES / name
        self._last_full = 0  # 0: the empty table, of which there is no file
        self._has_changed = False  # since the last full one

    def restore(self, batch: int) -> pa.Table:
        """The content behind `batch`; behind −1 it is empty. Raises `JobError` if it is not there."""
        content, base, self._has_changed = empty(self._columns), 0, False
        version = batch + 1
        full = self._numbers(_FULL)
        if version and (found := [number for number in full if number <= version]):
            base = max(found)
            content = self._read(self._folder / f"{base}{_FULL}")
        for number in range(base + 1, version + 1):
            if (changes := self._changes(number)) is not None:
                content, self._has_changed = changed(content, changes), True
        self._last_full = base
        return content

    def write(self, batch: int, changes: pa.Table | None, content: pa.Table) -> None:
        """Keep what `batch` has changed, and what the table holds behind it. To be called for each batch."""
        self._folder.mkdir(parents=True, exist_ok=True)
        version = batch + 1
        self._put(f"{version}{_DELTA}", changes)
        self._has_changed = self._has_changed or changes is not None
        if version - self._last_full < _CHAIN:
            return
        if self._has_changed or not self._last_full:
            self._put(f"{version}{_FULL}", content)
        else:
            link(self._folder / f"{self._last_full}{_FULL}", self._folder / f"{version}{_FULL}")
        self._last_full, self._has_changed = version, False
        self._forget_before(version - RETAINED_BATCHES)

    def _changes(self, version: int) -> pa.Table | None:
        path = self._folder / f"{version}{_DELTA}"
        if not path.exists():
            raise JobError(
                f"source {self._name}: the job's state has no table of version {version}. A source that the job has read as "
                "a stream does not become a table: give the job another metadata.name, so that it reads the topic from its "
                "beginning; or remove spec.sources[].table"
            )
        return self._read(path) if path.stat().st_size else None

    def _read(self, path: Path) -> pa.Table:
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
            found = reader.read_all()
        wanted, live = content_schema(self._columns), [name for name in found.column_names if name == LIVE]
        if {field for field in found.schema if field.name != LIVE} != set(wanted):
            raise JobError(
                f"source {self._name}: its table was kept with the columns {_told(found.schema)}, and the manifest now has "
                f"{_told(wanted)}. Change spec.sources[].schema back, or give the job another metadata.name, so that it "
                "reads the topic from its beginning"
            )
        return found.select([*wanted.names, *live])

    def _put(self, name: str, table: pa.Table | None) -> None:
        part = self._folder / f".{name}.tmp"
        with pa.OSFile(str(part), "wb") as file:
            if table is not None:
                with pa.ipc.new_stream(file, table.schema) as writer:
                    writer.write_table(table)
        part.replace(self._folder / name)

    def _numbers(self, suffix: str) -> list[int]:
        if not self._folder.is_dir():
            return []
        return [int(path.stem) for path in self._folder.iterdir() if path.suffix == suffix and path.stem.isdigit()]

    def _forget_before(self, version: int) -> None:
        needed = max((number for number in self._numbers(_FULL) if number <= version), default=0)
        for suffix in (_DELTA, _FULL):
            for number in self._numbers(suffix):
                if number < needed:
                    (self._folder / f"{number}{suffix}").unlink(missing_ok=True)


def _told(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema if not field.name.startswith(_OWN))
