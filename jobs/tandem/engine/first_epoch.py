"""Refusing plans that Spark takes, and whose first epoch fails whatever it has: replicas would restart for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from tandem.engine.jvm_plans import children, class_of, elements, inlined
from tandem.jobapi.errors import JobError
from tandem.jobapi.job import in_a_line
from tandem.logs import get_logger

_log = get_logger(__name__)

_EVENT_TIME: Final = "spark.watermarkDelayMs"
"""In the metadata of a column that has a watermark."""
_WORDS: Final = {
    "Aggregate": "groupBy",
    "Distinct": "distinct",
    "Deduplicate": "dropDuplicates",
    "DeduplicateWithinWatermark": "dropDuplicatesWithinWatermark",
    "TransformWithStateInPySpark": "transformWithState",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "Join": "join",
}
"""Operators that keep state by keys, as a job calls them."""
_SEVERAL: Final = "spark.sql.streaming.statefulOperator.allowMultiple"


def check_first_epoch(frame: DataFrame) -> None:
    """Raise `JobError` if Spark would fail at the first epoch of a streaming plan: it names the operator, the columns and
    what to do.
    """
    spark = frame.sparkSession
    jvm: Any = spark._jvm
    is_stable = jvm.org.apache.spark.sql.catalyst.util.UnsafeRowUtils.isBinaryStable
    plan = inlined(spark, frame._jdf.queryExecution().analyzed())
    operators = list(_operators(plan))
    _refuse_collations([one for one in operators if class_of(one) != "Join"], is_stable)
    if any((class_of(one) == "Join" and _collated(one, is_stable)) or len(_event_times(one)) > 1 for one in operators):
        # Spark's optimiser makes some columns of joins comparable, and drops columns that nobody reads.
        state: Any = spark._jsparkSession.sessionState()
        operators = list(_operators(state.optimizer().execute(plan)))
        _refuse_collations(operators, is_stable)
        if spark.conf.get(_SEVERAL, "true") == "true":  # else Spark takes one of several watermarks
            _refuse_event_times(operators)


def check_planned(frame: DataFrame, mode: str) -> None:
    """Raise `JobError` if Spark refuses a streaming plan when it plans an epoch of it; `mode`: its output mode."""
    spark = frame.sparkSession
    jvm: Any = spark._jvm
    try:
        given = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, mode)()
        jvm.tandem.FirstEpoch.plan(spark._jsparkSession, frame._jdf.queryExecution().analyzed(), given)
    except AnalysisException as error:
        raise JobError(f"Spark refuses the job's plan: {in_a_line(error)}") from error
    except Exception as error:
        _log.warning("first_epoch_not_planned", reason=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")


def _operators(node: Any) -> Iterator[Any]:
    """The nodes that keep state by keys, from the sink on."""
    below = children(node)
    takes = below[:1] if class_of(node) == "TransformWithStateInPySpark" else below  # behind it: the initial state
    if class_of(node) in _WORDS and node.isStreaming() and all(one.isStreaming() for one in takes):
        yield node
    for child in below:
        yield from _operators(child)


def _refuse_collations(operators: Iterable[Any], is_stable: Callable[[Any], bool]) -> None:
    for node in operators:
        for key in _collated(node, is_stable):
            raise JobError(
                f"{_WORDS[class_of(node)]} keeps its state by {_said(key)} of the type {key.dataType().sql()}. Spark keeps "
                "state by bytes, and cannot do so where a collation takes different bytes for the same text. Use "
                f'F.collate(F.lower({_said(key)}), "UTF8_BINARY") instead, or a cast to "string collate UTF8_BINARY" if '
                "case matters; in a struct or an array, for the text in it"
            )


def _collated(node: Any, is_stable: Callable[[Any], bool]) -> list[Any]:
    return [key for key in _keys(node) if not is_stable(key.dataType())]


def _refuse_event_times(operators: Iterable[Any]) -> None:
    for node in operators:
        found = _event_times(node)
        if len(found) > 1:
            raise JobError(
                f"{_WORDS[class_of(node)]} has rows with several columns that have a watermark ({', '.join(found)}). Spark "
                "refuses that at the first epoch. Drop all but one of them before it, or keep the others as plain values: "
                f'withColumn("{found[-1]}", F.expr("{found[-1]} + INTERVAL 0 SECONDS"))'
            )


def _keys(node: Any) -> list[Any]:
    name = class_of(node)
    if name == "Aggregate":
        return elements(node.groupingExpressions())
    if name == "Distinct":
        return elements(node.output())
    if name == "FlatMapGroupsInPandasWithState":
        return elements(node.groupingAttributes())
    if name == "TransformWithStateInPySpark":
        return elements(children(node)[0].output())[: int(node.groupingAttributesLen())]
    if name == "Join":
        return _equal(node.condition().get()) if node.condition().isDefined() else []
    return elements(node.keys())


def _equal(condition: Any) -> list[Any]:
    """What a join needs to be equal: both sides of each comparison."""
    name, below = class_of(condition), children(condition)
    if name == "And":
        return [one for part in below for one in _equal(part)]
    return below if name in ("EqualTo", "EqualNullSafe") else []


def _event_times(node: Any) -> list[str]:
    """The columns with a watermark in what an operator takes in; of one that aggregates, among its keys."""
    if class_of(node) == "Join":
        return []
    taken = _keys(node) if class_of(node) == "Aggregate" else elements(children(node)[0].output())
    found = {int(one.exprId().id()): str(one.name()) for one in taken if _is_event_time(one)}
    return list(found.values())


def _is_event_time(column: Any) -> bool:
    return _is_column(column) and bool(column.metadata().contains(_EVENT_TIME))


def _said(expression: Any) -> str:
    return str(expression.name() if _is_column(expression) else expression.sql())


def _is_column(expression: Any) -> bool:
    return class_of(expression) == "AttributeReference"
