"""`tandem validate --deep`: the job's session and plan are made once, as a replica makes them; nothing is run or written."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from tandem.engine.choice import Choice
from tandem.engine.jvm.errors import JarsError, JavaMissingError
from tandem.formats.registry import RegistryTroubleError
from tandem.jobapi.errors import JobError
from tandem.manifest import CodeNotFoundError, Manifest, SecretError, find_code
from tandem.process.info import RefusedError
from tandem.replica import iceberg, table_access
from tandem.replica.formats import formats_of
from tandem.replica.iceberg_catalog import iceberg_tables
from tandem.replica.postgres import check_fit, postgres_tables
from tandem.replica.spark_runtime import SparkRuntime
from tandem.replica.table_access import TableUnreachableError
from tandem.replica.tables import TableError, table_sinks
from tandem.snapshots import SnapshotStore, SnapshotStoreError

_Tables = TypeVar("_Tables")

REFUSED = (
    JobError,
    RefusedError,
    CodeNotFoundError,
    JavaMissingError,
    JarsError,
    TableError,
    TableUnreachableError,
    SnapshotStoreError,
    RegistryTroubleError,
)


def look_deep(manifest: Manifest) -> Choice:
    """Do what a replica does before its first epoch, but for Kafka and ZooKeeper; without executors. Takes some seconds.

    The file systems of tables, their catalogs and databases, and the place of snapshots are looked at, Spark is started
    with the job's settings, the job's function is called, and its plan is checked: types of the sinks, tables that are
    there, output mode, undetermined expressions, and what another process would make otherwise. Returns the engine that
    the job would run with.

    Raises one of `REFUSED`, with what a replica would say.
    """
    files = table_sinks(manifest)
    table_access.reach(files)
    lake = _reachable(iceberg_tables, manifest)
    iceberg.newest_epochs(lake)
    _reach_store(manifest)
    code = find_code(manifest)
    with tempfile.TemporaryDirectory(prefix=f"tandem-validate-{manifest.name}-") as folder:
        computing = SparkRuntime(manifest, "validate", f"{manifest.name}.validate", Path(folder, "replica"), {})
        try:
            formats = formats_of(manifest, {})
            engine = computing.prepare(code, _unused, _untimed, _unused, None, lambda _: None, formats)
            rows = engine.job.query.frame.schema
            iceberg.check_fit(lake, rows)
            table_access.check_fit(files, rows)
            check_fit(_reachable(postgres_tables, manifest), rows)
            return engine.job.choice
        finally:
            computing.close()


def _reachable(
    found: Callable[[Manifest, Mapping[str, str], str], tuple[_Tables, ...]], manifest: Manifest
) -> tuple[_Tables, ...]:
    """The tables of one kind, if their secrets are on this machine."""
    try:
        return found(manifest, os.environ, "validate")
    except TableError as error:
        if isinstance(error.__cause__, SecretError):
            return ()
        raise


def _reach_store(manifest: Manifest) -> None:
    """List the snapshots, if the store's secrets are on this machine."""
    spec = manifest.spec.snapshots
    if spec is None:
        return
    with suppress(SecretError):
        SnapshotStore(spec.url(manifest.name, manifest.base), spec.options(os.environ, manifest.base)).list()


def _unused(*_: object) -> Any:
    raise AssertionError("nothing is read while a job is looked at")


def _untimed(_phase: str) -> Any:
    return nullcontext()
