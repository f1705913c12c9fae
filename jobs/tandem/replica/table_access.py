"""Whether the file systems of a job's tables can be reached, asked once at the start."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar, cast

import fsspec
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tandem.replica import tables
from tandem.replica.delta_fit import closed
from tandem.replica.table_errors import LaterGenerationError as LaterGenerationError
from tandem.replica.table_errors import TableError
from tandem.replica.table_errors import TableUnreachableError as TableUnreachableError
from tandem.replica.tables import TableSink, check_delta
from tandem.topics.declared import TABLE_PREFIX

_T = TypeVar("_T")

TIMEOUT_S: Final = 20.0
_LONGEST: Final = 500
_FOR_GOOD: Final = (ImportError, ValueError, TypeError, PermissionError, NotADirectoryError, NotImplementedError)
_LOGIN: Final = (
    *("NoCredentialsError", "PartialCredentialsError", "ParamValidationError", "DefaultCredentialsError"),
    *("ClientAuthenticationError", "RefreshError", "InvalidRegionError"),
)
"""Errors of the libraries of stores that a restart does not cure, by name: none of them has to be installed."""
_WORDS: Final = (
    "Unable to load lib",
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "Unauthorized",
    "403",
)
"""What errors without a class of their own say."""


def reach(sinks: Sequence[TableSink], timeout_s: float = TIMEOUT_S) -> dict[str, tuple[str, ...]]:
    """Look at the place of each table once. Returns each Delta sink, with the columns that its table is partitioned by.

    Raises
    ------
    TableError
        It is wrong for good: no such file system, no library or login for it, or a table that takes no rows of a job.
    TableUnreachableError
        It did not answer in time, or the network failed.
    """
    deltas: dict[str, tuple[str, ...]] = {}
    for sink in sinks:
        if sink.kind == "delta":
            deltas[sink.name] = ()
        _ask(sink, partial(_note, sink, deltas), timeout_s)
    return deltas


def check_fit(sinks: Sequence[TableSink], rows: StructType, timeout_s: float = TIMEOUT_S) -> None:
    """Raise `TableError` with each column of the job's rows that a Delta table which is there would change or refuse.

    rows : of all sinks, those of a table in a column of its own; see `one_stream`.

    Raises `TableUnreachableError` too.
    """
    for sink in sinks:
        if sink.kind == "delta":
            schema = to_arrow_schema(cast(StructType, rows[TABLE_PREFIX + sink.name].dataType), timezone="UTC")
            _ask(sink, partial(_compare, sink, schema), timeout_s)


def make(sink: TableSink, rows: pa.Schema, timeout_s: float = TIMEOUT_S) -> bool:
    """Make a table, unless it is there: see `tables.make`. Raises as `reach`."""
    made: list[bool] = []
    _ask(sink, lambda: made.append(tables.make(sink, rows)), timeout_s, may_miss=False)
    return any(made)


def check_there(sink: TableSink, timeout_s: float = TIMEOUT_S) -> None:
    """Raise `TableError` if there is no such table, as `tables.check_there`; else as `reach`."""
    _ask(sink, partial(tables.check_there, sink), timeout_s, may_miss=False)


def asked(sink: TableSink, look: Callable[[], _T], otherwise: _T, timeout_s: float = TIMEOUT_S) -> _T:
    """What `look` finds in a table; `otherwise`, if it is not there. Raises as `reach`."""
    found: list[_T] = []
    _ask(sink, lambda: found.append(look()), timeout_s)
    return found[0] if found else otherwise


def _ask(sink: TableSink, look: Callable[[], None], timeout_s: float, may_miss: bool = True) -> None:
    """`may_miss` : that it is not there is no error, it will be made."""
    error = _error_of(sink, look, timeout_s)
    if error is None or (may_miss and isinstance(error, FileNotFoundError)):
        return
    if isinstance(error, TableError):
        raise error
    said = f"sink {sink.name}: the {sink.kind} table {sink.path} cannot be reached: {_text(error)}"
    if _is_for_good(error):
        raise TableError(f"{said}. {REMEDY}") from error
    raise TableUnreachableError(
        f"{said}. It is tried again; check that {sink.path} can be reached from here"
    ) from error


REMEDY: Final = (
    "Keys and endpoint of a table come from the environment, as its library names them "
    "(docs/reference/limits/validation.md), e.g. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL for s3"
)


def _error_of(sink: TableSink, look: Callable[[], None], timeout_s: float) -> BaseException | None:
    found: list[BaseException | None] = []

    def run() -> None:
        try:
            look()
        except BaseException as error:
            found.append(error)
        else:
            found.append(None)

    thread = threading.Thread(target=run, name=f"reach-{sink.name}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    return found[0] if found else TimeoutError(f"no answer within {timeout_s:.0f} s")


def _note(sink: TableSink, deltas: dict[str, tuple[str, ...]]) -> None:
    if partitions := _look(sink):
        deltas[sink.name] = partitions


def _compare(sink: TableSink, rows: pa.Schema) -> None:
    from deltalake import DeltaTable

    if DeltaTable.is_deltatable(sink.path):
        check_delta(sink, DeltaTable(sink.path), rows)


def _look(sink: TableSink) -> tuple[str, ...]:
    """Look at a table; the columns that a Delta table is partitioned by."""
    if sink.kind == "delta":
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(sink.path):
            return ()
        if why := closed(table := DeltaTable(sink.path)):
            raise TableError(f"sink {sink.name}: the Delta table {sink.path} takes no rows of a job: {why}")
        return tuple(table.metadata().partition_columns)
    files, root = fsspec.core.url_to_fs(sink.path)
    made: Any = files
    made.ls(root, detail=False)
    return ()


def _is_for_good(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, _FOR_GOOD) or not names.isdisjoint(_LOGIN) or any(word in str(error) for word in _WORDS)


def _text(error: BaseException) -> str:
    """What an error says, in a line: deltalake draws a tree in colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).replace("↳", "-")
    return " ".join(plain.split())[:_LONGEST].rstrip(". ") or type(error).__name__
