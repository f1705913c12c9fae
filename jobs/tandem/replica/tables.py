"""Table sinks: an epoch's rows as Parquet files or a Delta commit, written once per epoch, no matter which replica writes.

The owner writes tables before the epoch's transaction. Who takes over writes them again, with the same rows: a Parquet
file is named after its epoch and replaced, and a Delta commit carries the epoch as its application transaction version,
which Delta accepts only once (Delta protocol, "Transaction Identifiers").
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tandem.manifest import Manifest
from tandem.replica.delta_fit import closed, misfits
from tandem.replica.on_disk import sync_file, sync_folder
from tandem.replica.rows import EpochRows
from tandem.replica.table_errors import TableAheadError, TableUnreachableError
from tandem.replica.table_errors import TableError as TableError
from tandem.replica.table_rows import unfit_for_delta
from tandem.replica.table_trouble import writing
from tandem.topics.declared import TABLE_PREFIX


@dataclass(frozen=True, slots=True)
class TableSink:
    """One table sink: its name in the manifest, its kind, and where the table is (a path or a URI). `run`: see `run_of`.

    `replica` : whose epochs these are, where each replica has epochs of its own; "": the job's.
    """

    name: str
    kind: str
    path: str
    run: str = ""
    replica: str = ""


def table_sinks(manifest: Manifest, replica: str = "") -> tuple[TableSink, ...]:
    """The table sinks of a job, or of a lane, whose files are in a partition `lane=` of the table.

    `replica` : its name. Without ordering, each has epochs of its own, and more replicas may come: Parquet files are in
    a partition `replica=`, and in Delta each is an application of its own.

    Raises `TableError` if a Delta sink is asked for and `deltalake` is not installed.
    """
    alone = replica if manifest.spec.ordering.mode == "none" else ""
    sinks = []
    for sink in manifest.spec.sinks:
        if sink.files is not None:
            path = sink.files.path
            folder = path if "://" in path else str(manifest.resolve(path))
            own = "" if manifest.lane is None else f"/lane={manifest.lane}"
            if alone and sink.kind == "parquet":
                own += f"/replica={alone}"
            sinks.append(TableSink(sink.name, sink.kind, folder + own, replica=alone))
    if any(sink.kind == "delta" for sink in sinks):
        try:
            import deltalake  # noqa: F401
        except ImportError as error:
            raise TableError("a delta sink needs the package deltalake: pip install 'tandem-stream[delta]'") from error
    return tuple(sinks)


class TableWriter:
    """Writes the rows of epochs to table sinks.

    `job` : names the application in Delta's transaction identifiers.
    `at` : called with each step.
    `partitions` : Delta sink → the columns that its table is partitioned by, as they are in `SinkTopics`.
    """

    def __init__(
        self,
        job: str,
        sinks: Sequence[TableSink],
        at: Callable[[str], None] = lambda _: None,
        partitions: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._partitions = partitions or {}
        self._at = at
        self._job = job
        self._sinks = sinks

    def write(self, rows: EpochRows) -> None:
        """Write an epoch's rows to every table; again, if they were written before. Empty epochs write nothing.

        Rows that a table cannot hold are left out: they are dead letters, see `records_of`.
        """
        for sink in self._sinks:
            column = TABLE_PREFIX + sink.name
            if column not in rows.table.column_names:
                continue
            chosen = pc.equal(rows.table["sink"], sink.name)
            if sink.kind == "delta" and (unfit := unfit_for_delta(rows.table, self._of(sink))):
                chosen = pc.and_(chosen, pa.array([index not in unfit for index in range(rows.table.num_rows)]))
            mine = rows.table.filter(chosen)[column].combine_chunks()
            if len(mine) == 0:
                continue
            table = pa.Table.from_struct_array(mine)
            self._at(f"the {sink.kind} table {sink.path} of sink {sink.name}, which is written")
            with writing(sink.name, sink.kind, sink.path):
                if sink.kind == "delta":
                    self._write_delta(sink, rows.epoch, table)
                else:
                    _write_parquet(sink, rows.epoch, table)

    def _of(self, sink: TableSink) -> dict[str, Sequence[str]]:
        return {sink.name: self._partitions.get(sink.name, ())}

    def _write_delta(self, sink: TableSink, epoch: int, table: pa.Table) -> None:
        from deltalake import CommitProperties, Transaction, write_deltalake
        from deltalake.exceptions import CommitFailedError, SchemaMismatchError

        application = application_of(self._job, sink)
        names = [application, *(run_applications(self._job, sink) if sink.run else ())]
        properties = CommitProperties(app_transactions=[Transaction(name, epoch) for name in names])
        for tries_left in reversed(range(_COMMIT_TRIES)):
            # Looked at and written with one snapshot: whatever another writer commits meanwhile is then a conflict.
            snapshot = _delta_table(sink)
            _check_partitions(sink, snapshot, self._of(sink)[sink.name])
            version = snapshot.transaction_version(application)
            if version is not None and version > epoch:
                raise TableAheadError(ahead(f"the delta table {sink.path} of sink {sink.name}", version, epoch))
            if version == epoch:
                return
            check_delta(sink, snapshot, table.schema)
            try:
                write_deltalake(snapshot, table, mode="append", commit_properties=properties)
            except SchemaMismatchError as error:
                raise TableError(
                    f"sink {sink.name}: the rows do not fit the Delta table {sink.path}: {error}. Change the job's "
                    "columns, or give the sink another path"
                ) from error
            except CommitFailedError as error:
                if not tries_left:
                    raise TableUnreachableError(
                        f"the delta table {sink.path} of sink {sink.name} cannot be written: others have committed "
                        f"{_COMMIT_TRIES} times meanwhile. It is tried again"
                    ) from error
            else:
                return


def _check_partitions(sink: TableSink, snapshot: Any, known: Sequence[str]) -> None:
    """Raise `TableError` if the table is partitioned otherwise than at the start: that says which rows it cannot hold."""
    now = snapshot.metadata().partition_columns
    if list(now) != list(known):
        raise TableError(
            f"sink {sink.name}: the Delta table {sink.path} is partitioned by ({', '.join(now)}), but was by "
            f"({', '.join(known)}) when the replica started. Start the job again: it goes on with the table as it is"
        )


def check_delta(sink: TableSink, snapshot: Any, rows: pa.Schema) -> None:
    """Raise `TableError` if the Delta table would change the rows, or refuse some."""
    if why := closed(snapshot):
        raise TableError(f"sink {sink.name}: the Delta table {sink.path} takes no rows of a job: {why}")
    if found := list(misfits(snapshot, rows)):
        raise TableError(
            f"sink {sink.name}: the rows do not fit the Delta table {sink.path}: {'; '.join(found)}. Cast the job's columns "
            "to the table's types, change the table, or give the sink another path"
        )


RUN_METADATA = b"tandem.run"
"""In a Parquet file: epoch and run."""

_COMMIT_TRIES = 5
_WITH_FOLDERS = ("file", "local", "hdfs")


def application_of(job: str, sink: TableSink) -> str:
    """Who writes, as Delta's transaction identifiers have it."""
    return f"{job}/{sink.replica}/{sink.name}" if sink.replica else f"{job}/{sink.name}"


def run_applications(job: str, sink: TableSink) -> tuple[str, str]:
    """Further applications with the epoch: of a Tandem that says of which run an epoch is, and of this run."""
    return f"{application_of(job, sink)}@", f"{application_of(job, sink)}@{sink.run}"


def file_name(epoch: int) -> str:
    """The name of an epoch's Parquet file."""
    return f"epoch-{epoch:012d}.parquet"


def _delta_table(sink: TableSink) -> Any:
    """The Delta table as it is now. Raises `TableError` if there is none: it was made when the generation began."""
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(sink.path):
        raise TableError(gone(sink.name, f"Delta table {sink.path}"))
    return DeltaTable(sink.path)


def make(sink: TableSink, rows: pa.Schema) -> bool:
    """Make the table, unless it is there. Whether it was made; of a folder in an object store, which has none, False."""
    if sink.kind == "delta":
        return _make_delta(sink.path, rows)
    files, root = fsspec.core.url_to_fs(sink.path)
    if _is_folder(files, root):
        return False
    files.makedirs(root, exist_ok=True)
    return _keeps_folders(files)


def check_there(sink: TableSink) -> None:
    """Raise `TableError` if there is no such table. A folder in an object store is there while a file is in it."""
    if sink.kind == "delta":
        _delta_table(sink)
    else:
        _parquet_folder(sink)


def gone(sink: str, table: str) -> str:
    """What to say of a table that is not there, though the job has begun to write it."""
    return (
        f"sink {sink}: there is no {table}. It was removed or renamed, or the folder or volume with it is not here: the job "
        "had it when its generation began. It is not made again, since that one would have neither the rows nor the "
        "partitions of the one before. Put it back, or create one as it shall be; then start the job again. It goes on "
        "with the first epoch that is not published"
    )


def ahead(table: str, newest: int, epoch: int) -> str:
    """What to say of a table that has later epochs than the one to be written."""
    return (
        f"{table} has epochs up to {newest}, and epoch {epoch} is to be written. It was published by another replica, which "
        "the log will show; or those are of another run of the job"
    )


def _make_delta(path: str, schema: pa.Schema) -> bool:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if DeltaTable.is_deltatable(path):
        return False
    try:
        # Whether a column is never null, other code may see otherwise.
        nullable = pa.schema([field.with_nullable(True) for field in schema])
        DeltaTable.create(path, nullable, mode="error")
    except (DeltaError, OSError):
        if not DeltaTable.is_deltatable(path):  # else somebody else has just made it
            raise
        return False
    return True


def _keeps_folders(files: Any) -> bool:
    """Whether a folder without files stays: in an object store there is no such thing."""
    protocols = {files.protocol} if isinstance(files.protocol, str) else {*files.protocol}
    return not protocols.isdisjoint(_WITH_FOLDERS)


def _is_folder(files: Any, root: str) -> bool:
    """Raises `OSError` where nobody answers; `isdir` would say that there is none."""
    try:
        return bool(files.info(root)["type"] == "directory")
    except (FileNotFoundError, NotADirectoryError):
        return False


def _parquet_folder(sink: TableSink) -> tuple[Any, str]:
    """The file system and the folder in it. Raises `TableError` if it was removed."""
    files, root = fsspec.core.url_to_fs(sink.path)
    if _keeps_folders(files) and not _is_folder(files, root):
        raise TableError(gone(sink.name, f"folder {sink.path} for its Parquet files"))
    return files, root


def _write_parquet(sink: TableSink, epoch: int, table: pa.Table) -> None:
    files, root = _parquet_folder(sink)
    files.makedirs(root, exist_ok=True)
    # Readers of a folder of Parquet files pass over names that begin with a dot.
    temporary = f"{root}/.{epoch:012d}-{uuid.uuid4().hex}"
    if sink.run:
        kept = {**(table.schema.metadata or {}), RUN_METADATA: f"{epoch}:{sink.run}".encode()}
        table = table.replace_schema_metadata(kept)
    try:
        with files.open(temporary, "wb") as file:
            pq.write_table(table, file)
            sync_file(files, file)
        files.mv(temporary, f"{root}/{file_name(epoch)}")
    except BaseException:
        with suppress(Exception):
            files.rm(temporary)
        raise
    sync_folder(files, root)
