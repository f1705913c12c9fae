"""Does a job make exactly one row of each record of its inputs? Said only where its plan shows it, and held to then."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame

from tandem.engine.jvm_plans import children
from tandem.manifest import SinkSpec, SourceSpec

_ROW_FOR_ROW: Final = frozenset(
    {"CollectMetrics", "EventTimeWatermark", "Project", "RebalancePartitions", "Repartition", "RepartitionByExpression"}
    | {"ResolvedHint", "SubqueryAlias", "UnresolvedHint", "View"}
)
"""Operators that give as many rows as they take."""


def makes_one_row(
    result: object, given: Mapping[str, DataFrame], sources: Sequence[SourceSpec], sinks: Sequence[SinkSpec]
) -> bool:
    """Whether each record of each source is one row in one of the topics, unless it is a dead letter.

    False where that is not certain: with filters, joins, state, functions over many rows, and tables.

    `result` : what the job's function returned: a frame, or one for each sink.
    `given` : the frames that the function got.
    """
    topics = [topic for source in sources for topic in source.topics]
    if len(set(topics)) < len(topics) or any(sink.topic is None for sink in sinks):
        return False
    frames: list[Any] = list(result.values()) if isinstance(result, Mapping) else [result]
    try:
        beginnings = {name: frame._jdf.queryExecution().analyzed() for name, frame in given.items()}
        read = Counter(name for frame in frames for name in _read(frame._jdf.queryExecution().analyzed(), beginnings))
    except _UnclearError:
        return False
    return read == Counter(given.keys())


class LostRowsError(RuntimeError):
    """An epoch of a job that makes one row of each record has more rows or fewer: a fault of Tandem, or of Spark."""


def check_one_row(epoch: int, records: int, rows: int) -> None:
    """An epoch's rows, with its dead letters, are as many as its records. Raises `LostRowsError`."""
    if rows != records:
        raise LostRowsError(
            f"epoch {epoch} has {records:,} records, of each of which the job makes one row, but {rows:,} rows came out. "
            "It is not published. Please report this"
        )


class _UnclearError(Exception):
    """A plan does other things than rows for rows."""


def _read(plan: Any, beginnings: Mapping[str, Any]) -> Iterator[str]:
    """The sources that a plan makes its rows of, each as often as it is read."""
    found = next((name for name, beginning in beginnings.items() if plan.fastEquals(beginning)), None)
    if found is not None:
        yield found
    elif str(plan.nodeName()) in (*_ROW_FOR_ROW, "Union"):
        for child in children(plan):
            yield from _read(child, beginnings)
    else:
        raise _UnclearError
