"""Iceberg tables: each epoch is one append, and the commit carries the epoch, as a table property and in its snapshot.

A commit asks the catalog that the table's snapshot is still the one that was looked at. So an owner looks for its epoch,
appends, and where somebody else has committed meanwhile, looks again: of two owners of an epoch, one commits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, TypeVar, cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tandem.replica.earlier_runs import earlier_run, is_of_other_run, written_by
from tandem.replica.iceberg_catalog import IcebergTable, existing, loaded, speaking
from tandem.replica.iceberg_fit import misfits, unfit, unfit_folders, unfit_partition
from tandem.replica.table_access import TIMEOUT_S, LaterGenerationError
from tandem.replica.table_errors import TableAheadError, TableError, TableUnreachableError
from tandem.replica.tables import ahead
from tandem.topics.declared import TABLE_PREFIX

_T = TypeVar("_T")

_COMMIT_TRIES: Final = 5
_NO_RETRIES: Final = "commit.retry.num-retries"


def newest_epochs(tables: Sequence[IcebergTable], timeout_s: float = TIMEOUT_S) -> dict[str, int]:
    """Look at each table once: sink → the last epoch of the job in it; −1: there is none.

    Raises `TableError`: the catalog's settings are wrong; `TableUnreachableError`: no answer.
    """
    return {table.name: _at_start(table, partial(_newest, table), timeout_s) for table in tables}


def check_fit(tables: Sequence[IcebergTable], rows: StructType, timeout_s: float = TIMEOUT_S) -> None:
    """Look at each table once more. Raise `TableError` with each column of the job's rows that it does not take.

    rows : of all sinks, those of a table in a column of its own; see `one_stream`.

    Raises `TableUnreachableError` too.
    """
    for table in tables:
        schema = to_arrow_schema(cast(StructType, rows[TABLE_PREFIX + table.name].dataType), timezone="UTC")
        _at_start(table, partial(_check_fit, table, schema), timeout_s)


def _at_start(table: IcebergTable, look: Callable[[], _T], timeout_s: float) -> _T:
    pool = ThreadPoolExecutor(1, f"reach-{table.name}")
    try:
        with speaking(table, at_start=True):
            return pool.submit(look).result(timeout_s)
    finally:
        pool.shutdown(wait=False)


def refuse_earlier_runs(
    tables: Sequence[IcebergTable],
    newest: Mapping[str, int],
    last_published: Callable[[], int],
    run: Callable[[], str],
) -> None:
    """Raise `TableError` if a table has epochs of a job that ran before, with the numbers of epochs to come.

    `newest` : as `newest_epochs` returns it. `last_published`, `run` : as for `refuse_tables_of_earlier_runs`.
    """
    for table in tables:
        is_other = partial(_is_other, table, newest[table.name], run)
        if why := earlier_run(newest[table.name], last_published, is_other):
            raise TableError(
                f"sink {table.name}: {table} {why}. Give the job another metadata.name, or the sink another table; or "
                f"remove the table property {table.property}, to write behind the rows of that run"
            )


def _is_other(table: IcebergTable, epoch: int, run: Callable[[], str]) -> bool:
    def kept() -> str | None:
        there = existing(table)
        return None if there is None else there.metadata.properties.get(table.run_property)

    return is_of_other_run(_at_start(table, kept, TIMEOUT_S), epoch, run())


class IcebergWriter:
    """Writes the epochs of one generation to one table. `at` : called with each step."""

    def __init__(self, table: IcebergTable, generation: int, at: Callable[[str], None] = lambda _: None) -> None:
        self._table, self._generation, self._at = table, generation, at
        self._catalog: Any = None

    def write(self, epoch: int, rows: pa.StructArray, indexes: Sequence[int]) -> Mapping[int, str]:
        """Append an epoch's rows, unless they are there. Returns those that no table can hold: index → why.

        indexes : of the rows in their epoch.

        Raises `TableError`: they do not fit the table; `TableUnreachableError`: not now; `LaterGenerationError`.
        """
        try:
            return self._write(epoch, rows, indexes)
        except TableUnreachableError:
            self._forget()
            raise

    def _forget(self) -> None:
        """Let the catalog go with its connections: one of them may be dead, or what it has cached out of date."""
        catalog, self._catalog = self._catalog, None
        if catalog is not None:
            catalog.close()

    def _write(self, epoch: int, rows: pa.StructArray, indexes: Sequence[int]) -> Mapping[int, str]:
        refused = unfit(rows, indexes)
        rows, indexes = _without(refused, rows, indexes)
        if indexes:
            with speaking(self._table):
                there = self._there()
                more = unfit_folders(rows, indexes, there)
                rows, _ = _without(more, rows, indexes)
                refused |= more
                if len(rows):
                    self._append(epoch, _as_written(rows), there)
        return refused

    def _there(self) -> Any:
        self._at(f"the catalog of {self._table}")
        self._catalog = self._table.catalog() if self._catalog is None else self._catalog
        return loaded(self._catalog, self._table)

    def _append(self, epoch: int, rows: pa.Table, there: Any) -> None:
        from pyiceberg.exceptions import CommitFailedException

        for tries_left in reversed(range(_COMMIT_TRIES)):
            # The library would append again behind whatever another owner has committed, without a look at it.
            there.metadata.properties[_NO_RETRIES] = "0"
            _check_partitions(there, self._table)
            generation, last = _last(there, self._table)
            if last > epoch:
                raise TableAheadError(ahead(str(self._table), last, epoch))
            if last == epoch:
                return
            if generation > self._generation:
                raise LaterGenerationError(f"generation {generation} writes {self._table}, this is {self._generation}")
            self._at(f"the commit of {self._table}")
            try:
                self._commit(there, epoch, rows)
            except CommitFailedException:
                if not tries_left:
                    raise
                there = self._there()
            else:
                return

    def _commit(self, there: Any, epoch: int, rows: pa.Table) -> None:
        own = {"job": self._table.job, "sink": self._table.name, "generation": self._generation, "epoch": epoch}
        transaction = there.transaction()
        run = {self._table.run_property: written_by(self._table.run, epoch)} if self._table.run else {}
        transaction.set_properties({self._table.property: f"{self._generation}:{epoch}", **run})
        transaction.append(rows, snapshot_properties={f"tandem.{name}": str(value) for name, value in own.items()})
        self._at(f"the end of the commit of {self._table}")
        transaction.commit_transaction()


def _without(
    refused: Mapping[int, str], rows: pa.StructArray, indexes: Sequence[int]
) -> tuple[pa.StructArray, Sequence[int]]:
    """The other rows, and their indexes."""
    taken = [index not in refused for index in indexes]
    return rows.filter(pa.array(taken, pa.bool_())), [index for index in indexes if index not in refused]


def _as_written(rows: pa.StructArray) -> pa.Table:
    table = pa.Table.from_struct_array(rows)
    return table.cast(pa.schema([field.with_type(_in_utc(field.type)) for field in table.schema]))


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """Iceberg knows no other time zone; the moments are the same."""
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_in_utc(kind.key_type), _in_utc(kind.item_type))
    return kind


def make(table: IcebergTable, rows: pa.Schema, timeout_s: float = TIMEOUT_S) -> bool:
    """Make the table and its namespace, unless it is there. Whether it was made. Raises as `newest_epochs`."""
    return _at_start(table, partial(_make, table, rows), timeout_s)


def check_there(table: IcebergTable, timeout_s: float = TIMEOUT_S) -> None:
    """Raise `TableError` if there is no such table; else as `newest_epochs`."""
    _at_start(table, lambda: loaded(table.catalog(), table), timeout_s)


def _make(table: IcebergTable, rows: pa.Schema) -> bool:
    from pyiceberg.exceptions import TableAlreadyExistsError

    if existing(table) is not None:
        return False
    catalog = table.catalog()
    namespace = table.table.rpartition(".")[0]
    try:
        catalog.create_namespace_if_not_exists(namespace)
    except Exception:
        if not catalog.namespace_exists(namespace):  # else another replica has just made it
            raise
    columns = [field.with_nullable(True).with_type(_in_utc(field.type)) for field in rows]
    try:
        catalog.create_table(table.table, pa.schema(columns))
    except TableAlreadyExistsError:
        return False
    return True


def _check_partitions(there: Any, table: IcebergTable) -> None:
    """Raise `TableError` if rows would be changed by how the table is partitioned."""
    if why := unfit_partition(there, find_spec("pyiceberg_core") is not None):
        raise TableError(f"sink {table.name}: {table} takes no rows of a job: {why}")


def _last(there: Any, table: IcebergTable) -> tuple[int, int]:
    """Generation and epoch of what was written last; −1: nothing was."""
    generation, _, epoch = there.metadata.properties.get(table.property, "-1:-1").partition(":")
    return int(generation), int(epoch)


def _newest(table: IcebergTable) -> int:
    if (there := existing(table)) is None:
        return -1
    _check_partitions(there, table)
    return _last(there, table)[1]


def _check_fit(table: IcebergTable, schema: pa.Schema) -> None:
    if (there := existing(table)) is not None and (found := list(misfits(there, schema))):
        raise TableError(
            f"sink {table.name}: the rows do not fit {table}: {'; '.join(found)}. Change the job's columns, the table, or "
            "give the sink another table"
        )
