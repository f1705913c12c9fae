"""A sink that is an Iceberg table: its catalog, and what that says."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from concurrent.futures import TimeoutError as LateError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tandem.manifest import Manifest, SecretError
from tandem.replica.iceberg_bounds import bound_texts
from tandem.replica.iceberg_nulls import keep_nulls
from tandem.replica.table_access import TIMEOUT_S, LaterGenerationError, TableUnreachableError
from tandem.replica.tables import TableError, gone

CONNECT_TIMEOUT_S: Final = 10.0
READ_TIMEOUT_S: Final = 60.0
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """A sink that is an Iceberg table, and how its catalog is reached. `job`: who writes. `run`: see `run_of`.

    timeouts : of requests to a REST catalog, s: until there is a connection, and between two pieces of an answer.
    """

    name: str
    table: str
    options: Mapping[str, str]
    job: str
    run: str = ""
    timeouts: tuple[float, float] = (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)

    def __repr__(self) -> str:
        return f"the iceberg table {self.table} of sink {self.name}"  # without secrets

    @property
    def run_property(self) -> str:
        """The table property with the epoch that was written last and its run, as `written_by` has it."""
        return f"tandem.run.{self.job}.{self.name}"

    @property
    def property(self) -> str:
        """The table property with generation and epoch of what was written last."""
        return f"tandem.epoch.{self.job}.{self.name}"

    def catalog(self) -> Any:
        """The catalog; one of the type `rest` is asked for its settings at once, others connect when they are asked."""
        from pyiceberg.catalog import load_catalog

        from tandem.replica.iceberg_requests import bounded

        keep_nulls()
        bound_texts()
        options = dict(self.options)
        with bounded(*self.timeouts):
            return load_catalog(options.pop("name", f"tandem-{self.name}"), **options)


def iceberg_tables(manifest: Manifest, environ: Mapping[str, str], replica: str) -> tuple[IcebergTable, ...]:
    """The sinks of a job that are Iceberg tables. Raises `TableError`: no pyiceberg, or a secret is missing.

    replica : its name; without ordering each replica has epochs of its own.
    """
    found = [(sink.name, sink.iceberg) for sink in manifest.spec.sinks if sink.iceberg is not None]
    if not found:
        return ()
    try:
        import pyiceberg  # noqa: F401
    except ImportError as error:
        raise TableError("an iceberg sink needs the package pyiceberg: pip install 'tandem-stream[iceberg]'") from error
    job = f"{manifest.name}.{replica}" if manifest.spec.ordering.mode == "none" else manifest.name
    try:
        return tuple(IcebergTable(name, s.table, s.options(environ, manifest.base, name), job) for name, s in found)
    except SecretError as error:
        raise TableError(str(error)) from error


def loaded(catalog: Any, table: IcebergTable) -> Any:
    """The table as it is now. Raises `TableError` if there is none: it was made when the generation began."""
    from pyiceberg.exceptions import NoSuchTableError

    try:
        return catalog.load_table(table.table)
    except NoSuchTableError as error:
        # A proxy that says 404 of everything says it of this, too: that is tried again.
        catalog.list_tables(table.table.rpartition(".")[0])
        raise TableError(gone(table.name, f"iceberg table {table.table}")) from error


def existing(table: IcebergTable) -> Any:
    """The table; None: there is none, and it will be made."""
    from pyiceberg.exceptions import NoSuchTableError

    try:
        return table.catalog().load_table(table.table)
    except NoSuchTableError:
        return None


@contextmanager
def speaking(table: IcebergTable, at_start: bool = False) -> Iterator[None]:
    """Errors of the library as `TableError`, if nothing but a change helps, and else as `TableUnreachableError`."""
    from pyiceberg import exceptions

    wrong: tuple[type[Exception], ...] = (
        *(ValueError, TypeError, ArithmeticError, ImportError),
        exceptions.NotInstalledError,
    )
    if at_start:
        wrong = (*wrong, exceptions.UnauthorizedError, exceptions.ForbiddenError, exceptions.OAuthError)
    try:
        yield
    except (TableError, TableUnreachableError, LaterGenerationError):
        raise
    except LateError as error:
        raise TableUnreachableError(f"{table}: no answer within {TIMEOUT_S:.0f} s. It is tried again") from error
    except wrong as error:
        raise TableError(
            f"sink {table.name}: {table} cannot be written: {_said(error)}. Change the job's columns, the "
            "table, or the sink's properties"
        ) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            raise TableError(
                f"sink {table.name}: {table} cannot be written: {_said(error)}. A value of a column that the table is "
                "partitioned by is too long for the name of a folder: partition the table by another column"
            ) from error
        raise TableUnreachableError(f"{table} cannot be written: {_said(error)}. It is tried again") from error


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST].rstrip(". ")
