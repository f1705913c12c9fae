"""`tandem validate --deep`: the job's session and plan are made once, as a replica makes them; nothing is run or written."""

import os
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from tandem.engine.choice import Choice
from tandem.engine.jvm.errors import JarsError, JavaMissingError
from tandem.formats.registry import RegistryTroubleError
from tandem.jobapi.errors import JobError
from tandem.manifest import CodeNotFoundError, Manifest, SecretError, find_code
from tandem.process.info import RefusedError
from tandem.replica.formats import formats_of
from tandem.replica.postgres import check_fit, postgres_tables
from tandem.replica.spark_runtime import SparkRuntime
from tandem.replica.table_access import TableUnreachableError, reach
from tandem.replica.tables import TableError, table_sinks
from tandem.snapshots import SnapshotStore, SnapshotStoreError

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

    The file systems of tables and of snapshots are looked at, Spark is started with the job's settings, the job's function
    is called, and its plan is checked: types of the sinks, output mode, undetermined expressions, and
    what another process would make otherwise. Returns the engine that the job would run with.

    Raises one of `REFUSED`, with what a replica would say.
    """
    reach(table_sinks(manifest))
    _reach_store(manifest)
    code = find_code(manifest)
    with tempfile.TemporaryDirectory(prefix=f"tandem-validate-{manifest.name}-") as folder:
        computing = SparkRuntime(manifest, "validate", f"{manifest.name}.validate", Path(folder, "replica"), {})
        try:
            formats = formats_of(manifest, {})
            engine = computing.prepare(code, _unused, _untimed, _unused, None, lambda _: None, formats)
            with suppress(SecretError):
                check_fit(postgres_tables(manifest, os.environ, "validate"), engine.job.query.frame.schema)
            return engine.job.choice
        finally:
            computing.close()


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
