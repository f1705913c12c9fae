"""Sinks `foreachBatch`: functions of the user that are called with each epoch's rows, as by Spark's own foreachBatch."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Final, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tandem.engine.by_value import sent_whole
from tandem.engine.guard import Taken, guarded
from tandem.jobapi.errors import JobError
from tandem.jobapi.job import no_arguments, raised
from tandem.logs import get_logger
from tandem.manifest import Manifest
from tandem.topics.declared import TABLE_PREFIX

_log = get_logger(__name__)

MOST_TRIES: Final = 3
"""So often a function may raise about one epoch before the replica ends: what it writes to may be away for a moment."""

Function = Callable[[DataFrame, int], object]


class TryAgainError(Exception):
    """A function raised, and is called again."""


class BatchFunctions:
    """The functions of a job's sinks.

    session : which they share. As in Spark it is a copy of the one that the query was made in; see `Plan.batches`.
    functions : by sink. schema : the rows of the job, those of a sink in a column of its own; see `one_stream`.
    command : by which the user lets the job go on with changed code.
    """

    def __init__(
        self, session: SparkSession, functions: Mapping[str, Function], schema: StructType, command: str = ""
    ) -> None:
        self._session, self._functions, self._schema, self._command = session, functions, schema, command
        self._tried: dict[str, tuple[int, int]] = {}

    @property
    def sinks(self) -> tuple[str, ...]:
        """The sinks that have a function."""
        return tuple(self._functions)

    def call(self, sink: str, epoch: int, rows: pa.StructArray) -> None:
        """Call the function of `sink` with the rows of `epoch`; also if there are none, as Spark does.

        Raises `TryAgainError`: it raised; `JobError`: again and again.
        """
        function = self._functions[sink]
        kind = cast(StructType, self._schema[TABLE_PREFIX + sink].dataType)
        frame = self._session.createDataFrame(pa.Table.from_struct_array(rows), schema=kind)
        try:
            with no_arguments(sink):
                function(frame, epoch)
        except (Exception, SystemExit) as error:
            self._failed(sink, epoch, raised(error, function), error)
        self._tried.pop(sink, None)

    def _failed(self, sink: str, epoch: int, what: str, error: BaseException) -> None:
        before, count = self._tried.get(sink, (epoch, 0))
        count = count + 1 if before == epoch else 1
        self._tried[sink] = (epoch, count)
        words = f"sink {sink}: its function raised in epoch {epoch}: {what.rstrip('.')}"
        _log.warning("foreach_batch_raised", sink=sink, epoch=epoch, tries=count, reason=what, exc_info=error)
        if count < MOST_TRIES:
            raise TryAgainError(f"{words}. It is called again") from error
        raise JobError(
            f"{words}. It was called {count} times. Nothing is lost: the epoch is not published, and the function is given "
            "it again when the job goes on. Fix the function, or what it writes to, and start the job again; if the "
            f"function is in the job's own file, with `{self._command}`, or on Kubernetes with a manifest that names the "
            "changed code"
        ) from error


def load_functions(session: SparkSession, manifest: Manifest) -> dict[str, Function]:
    """The functions that the sinks of a job name. Raises `JobError`: one cannot be imported, or is not there."""
    return {
        sink.name: _loaded(session, sink.name, sink.foreach_batch)
        for sink in manifest.spec.sinks
        if sink.foreach_batch is not None
    }


def _loaded(session: SparkSession, sink: str, where: str) -> Function:
    name, _, attribute = where.partition(":")
    try:
        with no_arguments(name), guarded(Taken()), sent_whole(session):
            module = importlib.import_module(name)
    except JobError:
        raise
    except (Exception, SystemExit) as error:
        raise JobError(
            f"sink {sink}: the module {name} could not be imported: {type(error).__name__}: {error}. Put it beside the "
            "job's file or the manifest, or install it where the replicas run"
        ) from error
    function: Function | None = getattr(module, attribute, None)
    if not callable(function):
        raise JobError(
            f"sink {sink}: {name} has no function {attribute}. Define it as `def {attribute}(df, batch_id)`, or name "
            "another one in foreachBatch"
        )
    return function
