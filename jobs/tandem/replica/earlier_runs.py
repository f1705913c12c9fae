"""Tables that an earlier run of a job has written: it had the same epochs' numbers, and other rows in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from tandem.replica import table_access
from tandem.replica.table_errors import TableError
from tandem.replica.tables import RUN_METADATA, TableSink, application_of, file_name, run_applications

_PARQUET = re.compile(r"epoch-(\d+)\.parquet")


def written_by(run: str, epoch: int) -> str:
    """What a table keeps beside its newest epoch: an older Tandem writes the epoch, and leaves this as it was."""
    return f"{epoch}:{run}"


def is_of_other_run(kept: str | None, epoch: int, run: str) -> bool:
    """Whether a table says that another run than `run` has written `epoch`. `kept`: see `written_by`; None: nothing is."""
    of, _, by = (kept or "").partition(":")
    return of == str(epoch) and bool(by and run) and by != run


def earlier_run(newest: int, last_published: Callable[[], int], is_other: Callable[[], bool]) -> str:
    """What to say of a table whose `newest` epoch this run cannot have written; "": it can have. −1: there is none.

    An epoch is written when the one before it is published: so one more than these may be there, of an owner that ended.

    `last_published` : the last epoch whose marker is in the log; −1: there is none. What other replicas have published
    meanwhile counts: so it is asked after the table was looked at. `is_other` : whether the table says that the newest epoch
    is of another run; tables that an older Tandem has written do not say.
    """
    if newest < 0 or newest <= (last := last_published()) or (newest == last + 1 and not is_other()):
        return ""
    goes_on = (
        "the job begins again with epoch 0" if last < 0 else f"epoch {last} is the last one that this run has published"
    )
    return f"has epochs up to {newest} of an earlier run, and {goes_on}: rows would be lost"


def refuse_tables_of_earlier_runs(
    job: str, sinks: Sequence[TableSink], last_published: Callable[[], int], run: Callable[[], str]
) -> None:
    """Raise `TableError` if a table has epochs of a job that ran before, with the numbers of epochs to come.

    Delta would leave those out, and as Parquet they would replace the table's.

    `last_published` : as for `earlier_run`. `run` : this one, see `run_of`. It is asked after the table was looked at: who
    wrote it had begun before.
    """
    for sink in sinks:
        newest = newest_epoch(sink, job)
        if sink.kind == "delta":
            is_other = partial(_is_other_delta, sink, newest, job, run)
        else:
            is_other = partial(_is_other_parquet, sink, newest, run)
        if why := earlier_run(newest, last_published, is_other):
            raise TableError(
                f"sink {sink.name}: the {sink.kind} table {sink.path} {why}. {_remedy(sink, last_published())}"
            )


def _remedy(sink: TableSink, last: int) -> str:
    """How a job goes on whose `last` epoch is published: a table that it has written must not be removed."""
    if last < 0:
        return "Give the sink another path, or remove the old table"
    elsewhere = "the sink another path, and start the job with --accept-changes: it goes on as its next generation"
    if sink.kind == "delta":
        return f"Give {elsewhere}"
    return f"Move the files after {file_name(last)} out of that folder, and start the job again; or give {elsewhere}"


def newest_epoch(sink: TableSink, job: str) -> int:
    """The newest epoch of `job` in a table; −1: there is none. Raises as `table_access.reach`."""
    look = partial(_newest_delta, sink, job) if sink.kind == "delta" else partial(_newest_parquet, sink)
    return table_access.asked(sink, look, -1)


def _newest_delta(sink: TableSink, job: str) -> int:
    """The newest epoch of `job` in a Delta table; −1: there is none."""
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(sink.path):
        return -1
    version = DeltaTable(sink.path).transaction_version(application_of(job, sink))
    return -1 if version is None else int(version)


def _is_other_delta(sink: TableSink, newest: int, job: str, run: Callable[[], str]) -> bool:
    from deltalake import DeltaTable

    table = table_access.asked(sink, lambda: DeltaTable(sink.path), None)
    if table is None or not (mine := run()):
        return False
    names = run_applications(job, replace(sink, run=mine))
    nothing: list[int | None] = [None, None]
    of_any, of_mine = table_access.asked(sink, lambda: [table.transaction_version(name) for name in names], nothing)
    return of_any == newest and of_mine != newest


def _is_other_parquet(sink: TableSink, newest: int, run: Callable[[], str]) -> bool:
    kept = table_access.asked(sink, partial(_kept_parquet, sink, newest), "")
    return is_of_other_run(kept, newest, run())


def _kept_parquet(sink: TableSink, epoch: int) -> str:
    """What an epoch's file says of its run; "": nothing, or it is none of Tandem's, or torn, and will be replaced."""
    files, root = fsspec.core.url_to_fs(sink.path)
    try:
        with files.open(f"{root}/{file_name(epoch)}", "rb") as file:
            kept = (pq.read_schema(file).metadata or {}).get(RUN_METADATA, b"")
    except pa.ArrowException:
        return ""
    return str(kept, errors="replace")


def _newest_parquet(sink: TableSink) -> int:
    """The newest epoch in a folder of Parquet files, of whichever job; −1: there is none."""
    files, root = fsspec.core.url_to_fs(sink.path)
    if not files.isdir(root):
        return -1
    names = (_PARQUET.fullmatch(path.rpartition("/")[2]) for path in files.ls(root, detail=False))
    return max((int(name[1]) for name in names if name is not None), default=-1)
