"""While the job's code runs: what Tandem does itself is refused there, and what the code takes from outside is noted.

A job that is brought along often still starts its query, opens its stream or stops the session. Each of these would run
beside Tandem's query, or wait for ever, in silence. So Spark's own methods raise while the code runs, with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pyspark.sql.udf
import pyspark.sql.udtf
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.merge import MergeIntoWriter
from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2
from pyspark.sql.streaming.query import StreamingQuery, StreamingQueryManager
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from tandem.engine.kept_settings import set_too_late
from tandem.engine.sql_writes import writes_rows
from tandem.engine.static_tables import StaticTables
from tandem.engine.stop_signals import handlers_ignored
from tandem.engine.users_code import calls_from_users, replaced, users_line
from tandem.jobapi.errors import JobError

_START: Final = (
    "starts a query of its own. Tandem starts the query: return the DataFrame, and name where its rows go in spec.sinks. "
    "To look at rows meanwhile, read the sink's topic"
)
_WAIT: Final = "waits for a query. Tandem starts the query and runs it: remove the line, and return the DataFrame"
_READ: Final = (
    "opens a stream of its own, which replicas would cut each in its own way. Name its topic in spec.sources, and take the "
    "source as a parameter of the function"
)
_STOP: Final = "stops Spark, which Tandem still needs. Remove the line: Tandem starts and stops the session"
_HAND: Final = (
    "hands rows to a function of its own. Return the DataFrame, and name the function in spec.sinks, as "
    "{name: calls, foreachBatch: module:function}, or where its rows go"
)
_WRITE: Final = (
    "writes a table of its own, which each replica would write, each time that it calls the function. Return a stream, and "
    "name where its rows go in spec.sinks; a table that the job reads is made before it"
)
_FILES: Final = (
    "reads files past Tandem, which keeps what a static table held when the job's generation began. Read them with "
    "ctx.spark.read, e.g. ctx.spark.read.text(...)"
)
_CUT: Final = (
    "cuts off a DataFrame's plan and keeps its rows, which are then compared with nothing: replicas could compute with "
    "others. Remove it: Tandem keeps what a static table held when the job's generation began"
)

_REFUSED: Final[tuple[tuple[type, tuple[str, ...], str], ...]] = (
    (DataStreamWriter, ("start", "toTable"), _START),
    (DataStreamWriter, ("foreach", "foreachBatch"), _HAND),
    (DataFrameWriter, ("save", "saveAsTable", "insertInto", "json", "parquet", "text", "csv", "xml", "orc", "jdbc"), _WRITE),
    (
        DataFrameWriterV2,
        ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions"),
        _WRITE,
    ),
    (MergeIntoWriter, ("merge",), _WRITE),
    (DataFrame, ("checkpoint", "localCheckpoint"), _CUT),
    (StreamingQuery, ("awaitTermination", "processAllAvailable"), _WAIT),
    (StreamingQueryManager, ("awaitAnyTermination",), _WAIT),
    (DataStreamReader, ("load", "table", "changes", "json", "orc", "parquet", "text", "csv", "xml"), _READ),
    (SparkSession, ("stop",), _STOP),
    (SparkContext, ("stop",), _STOP),
    (
        SparkContext,
        ("textFile", "wholeTextFiles", "binaryFiles", "binaryRecords", "sequenceFile", "pickleFile", "hadoopFile",
         "hadoopRDD", "newAPIHadoopFile", "newAPIHadoopRDD"),
        _FILES,
    ),
)  # fmt: skip


@dataclass(slots=True)
class Taken:
    """What the job's code gave to Spark while it ran: place in the code → values, in their order.

    `functions` : Python functions that Spark will call. `data` : of DataFrames made from Python values. `constants` : those
    of `F.lit`.
    """

    functions: list[tuple[str, Any]] = field(default_factory=list)
    data: list[tuple[str, Any]] = field(default_factory=list)
    constants: list[tuple[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def copy(self) -> Taken:
        """What is noted from now on is not noted here."""
        return Taken(list(self.functions), list(self.data), list(self.constants))


@contextmanager
def guarded(taken: Taken, tables: StaticTables | None = None) -> Iterator[None]:
    """Run the job's own code in the block.

    `tables` : what reads static tables for it; None: they are read where they are.

    Raises `JobError`: the code has started, awaited or stopped what is Tandem's, also where it caught the error itself.
    """
    with ExitStack() as stack:
        for owner, names, why in _REFUSED:
            for name in names:
                stack.enter_context(replaced(owner, name, _refusing(f"{owner.__name__}.{name}()", why, taken)))
        for owner, name, note in _noted(taken):
            stack.enter_context(replaced(owner, name, _noting(getattr(owner, name), note)))
        stack.enter_context(replaced(SparkSession.Builder, "getOrCreate", _telling(taken)))
        stack.enter_context(replaced(SparkSession, "sql", _without_writes(taken)))
        stack.enter_context(handlers_ignored())
        if tables is not None:
            stack.enter_context(tables.reading())
        yield
    if taken.refused:
        raise JobError(taken.refused[0])


def _refusing(call: str, why: str, taken: Taken) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        line = users_line()
        text = f"the job's code {why} ({call} in {line})" if line else f"the job's code {why} ({call})"
        taken.refused.append(text)
        raise JobError(text)

    return refuse


def _without_writes(taken: Taken) -> Callable[..., Any]:
    """`sql`, which refuses what would write rows."""
    original, refuse = SparkSession.sql, _refusing("SparkSession.sql()", _WRITE, taken)

    def sql(session: Any, sqlQuery: str, args: Any = None, **named: Any) -> Any:  # noqa: N803 - Spark's names
        if writes_rows(session, sqlQuery, named):
            refuse()
        return original(session, sqlQuery, args, **named)

    return sql


def _telling(taken: Taken) -> Callable[..., SparkSession]:
    """`getOrCreate`, which reports what Spark ignores because the session is there.

    A `SparkConf()` of the code holds all that the JVM was started with, too, which is not the code's.
    """
    original = SparkSession.Builder.getOrCreate

    def get(builder: Any) -> SparkSession:
        session = original(builder)
        for name, value in builder._options.items():
            if taken.refused or value in (session.conf.get(name, None), SparkConf().get(name)):
                continue
            taken.refused.append(str(set_too_late(name, value, users_line())))
        return session

    return get


_Note = Callable[[tuple[Any, ...], Mapping[str, Any]], None]


def _noted(taken: Taken) -> Iterator[tuple[Any, str, _Note]]:
    def function(given: tuple[Any, ...], _: Mapping[str, Any]) -> None:
        taken.functions.append((users_line(), given[1]))

    def data(given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        values = [*given[1:], *named.values()]
        if values and calls_from_users():
            taken.data.append((users_line(), values[0]))

    def constant(given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        taken.constants.extend((users_line(), value) for value in (*given, *named.values()))

    yield pyspark.sql.udf, "_wrap_function", function
    yield pyspark.sql.udtf, "_wrap_function", function
    yield SparkSession, "createDataFrame", data
    yield SparkContext, "parallelize", data
    yield F, "lit", constant


def _noting(original: Callable[..., Any], note: _Note) -> Callable[..., Any]:
    def noted(*given: Any, **named: Any) -> Any:
        note(given, named)
        return original(*given, **named)

    noted.__name__, noted.__doc__ = original.__name__, original.__doc__
    return noted
