"""With several tasks, where the order of rows is that of their partitions, what fills these otherwise in each replica."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame

from tandem.engine.jvm_plans import inlined, nodes_of
from tandem.engine.plan_tree import Node, expressions, tree
from tandem.jobapi.errors import JobError

_BY_RANGE: Final = (
    "repartitionByRange(): Spark draws a sample for the ranges, another one after a restart. Use repartition() with the "
    "column"
)
_TOGETHER: Final = "coalesce(): it puts partitions together by where they lie. Use repartition() with the same number"
_OF_PARTITIONS: Final = {
    "MonotonicallyIncreasingID": "monotonically_increasing_id()",
    "SparkPartitionID": "spark_partition_id()",
    "Rand": "rand()",
    "Randn": "randn()",
    "RandStr": "randstr()",
    "Uuid": "uuid()",
    "Shuffle": "shuffle()",
    "Sample": "sample()",
    "MapInPandas": "mapInPandas()",
    "MapInArrow": "mapInArrow()",
    "PythonMapInArrow": "mapInArrow()",
}
"""What goes by the partition in which a row is: name in Spark's plan → as a user calls it."""
_OF_SORTED: Final = (
    "{call} of a table that orderBy() or repartitionByRange() has put into partitions: Spark draws a sample for their "
    "bounds, another one after a restart. Use row_number() over a window with the same order, or a column of the table"
)
_ROUNDED: Final = (
    "a sum or average of floats of a table that orderBy() or repartitionByRange() has put into partitions, each of which "
    "is summed up by itself: Spark draws a sample for their bounds, another one after a restart. Sort behind it, or use "
    "decimals"
)
_ROUNDING: Final = frozenset(
    {"Sum", "Average", "StddevPop", "StddevSamp", "VariancePop", "VarianceSamp", "CovPopulation", "CovSample", "Corr"}
    | {"Skewness", "Kurtosis", "ApproximatePercentile", "HistogramNumeric", "RegrSlope", "RegrIntercept", "RegrR2"}
    | {"RegrSXX", "RegrSXY", "RegrSYY", "RegrAvgX", "RegrAvgY"}
)
_ENDS_BOUNDS: Final = frozenset({"GlobalLimit", "Aggregate", "Distinct", "Window"})
"""Behind these, rows are in one partition, or in those that their values say."""


def check_order(frame: DataFrame) -> None:
    """Raise `JobError` if rows come in another order in each replica, or are others, as Spark computes the plan with several
    tasks."""
    is_one = frame.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1"
    plan = tree(iter(nodes_of(inlined(frame.sparkSession, frame._jdf.queryExecution().analyzed()))))
    found = list(dict.fromkeys((*(() if is_one else shuffling(plan)), *by_range(plan, is_one))))
    if found:
        raise JobError(
            f"the rows of the job's replicas would not be the same, or not in one order. Replace {'; '.join(found)}"
        )


def shuffling(plan: Node) -> Iterator[str]:
    """What puts a stream's rows into partitions in an order of its own, or goes by such partitions of a table; and what to
    use instead."""
    if plan.name == "Repartition" and plan.fields.get("shuffle") in (False, "false") and _streams(plan):
        yield _TOGETHER
    if not _streams(plan) and any(_has_bounds(child) for child in plan.children):
        yield from _by_bounds(plan)
    for child in plan.children:
        yield from shuffling(child)


def by_range(plan: Node, is_one: bool, is_sorted: bool = False) -> Iterator[str]:
    """What puts rows into ranges that a sample bounds, and so into the order of these ranges.

    `is_one` : where the plan does not say how many, it is one range. `is_sorted` : a sort above puts all rows in its order.
    """
    if plan.name == "RepartitionByExpression" and not is_sorted and _has_bounds(plan):
        number = str(plan.fields.get("optNumPartitions") or ("1" if is_one else ""))
        if number != "1":
            yield _BY_RANGE
    is_sorted = is_sorted or _sorts_all(plan)
    for child in plan.children:
        yield from by_range(child, is_one, is_sorted)


def _by_bounds(plan: Node) -> Iterator[str]:
    """What an operator makes of the partitions of its rows."""
    names = {plan.name, *(str(one.get("class", "")).rpartition(".")[2] for one in _written(plan.fields))}
    yield from (_OF_SORTED.format(call=call) for name, call in _OF_PARTITIONS.items() if name in names)
    if plan.name == "Aggregate" and any(map(_rounds, expressions(plan.fields.get("aggregateExpressions")))):
        yield _ROUNDED


def _rounds(expression: Node) -> bool:
    """Whether it adds up floats."""
    return (expression.name in _ROUNDING and _has_floats(expression)) or any(map(_rounds, expression.children))


def _has_floats(expression: Node) -> bool:
    return expression.fields.get("dataType") in ("double", "float") or any(map(_has_floats, expression.children))


def _has_bounds(plan: Node) -> bool:
    """Whether a sample of its rows says in which partition each of them is."""
    if plan.name == "Sort":
        return _sorts_all(plan)
    if plan.name == "RepartitionByExpression":
        return any(one.name == "SortOrder" for one in expressions(plan.fields.get("partitionExpressions")))
    is_one = plan.name == "Repartition" and str(plan.fields.get("numPartitions")) == "1"
    return not is_one and plan.name not in _ENDS_BOUNDS and any(_has_bounds(child) for child in plan.children)


def _sorts_all(plan: Node) -> bool:
    return plan.name == "Sort" and plan.fields.get("global") in (True, "true")


def _written(fields: object) -> Iterator[Mapping[str, Any]]:
    """All that is written of an operator, and of the expressions in it."""
    if isinstance(fields, Mapping):
        yield fields
    values = fields.values() if isinstance(fields, Mapping) else fields if isinstance(fields, list) else ()
    for value in values:
        yield from _written(value)


def _streams(plan: Node) -> bool:
    is_stream = plan.name.startswith("Streaming") or plan.fields.get("isStreaming") in (True, "true")
    return is_stream or any(_streams(child) for child in plan.children)
