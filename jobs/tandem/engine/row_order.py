"""With several tasks, where the order of rows is that of their partitions, what fills these otherwise in each replica."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark.sql import DataFrame

from tandem.engine.jvm_plans import nodes_of
from tandem.engine.plan_tree import Node, expressions, tree
from tandem.jobapi.errors import JobError

_BY_RANGE: Final = (
    "repartitionByRange(): Spark draws a sample for the ranges, another one after a restart. Use repartition() with the "
    "column"
)
_TOGETHER: Final = "coalesce(): it puts partitions together by where they lie. Use repartition() with the same number"


def check_order(frame: DataFrame) -> None:
    """Raise `JobError` if rows come in another order in each replica, as Spark computes the plan with several tasks."""
    if frame.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1":
        return
    found = list(dict.fromkeys(shuffling(tree(iter(nodes_of(frame._jdf.queryExecution().analyzed()))))))
    if found:
        raise JobError(f"the rows of the job's replicas would not be in one order. Replace {'; '.join(found)}")


def shuffling(plan: Node) -> Iterator[str]:
    """What puts a stream's rows into partitions in an order of its own, and what to use instead."""
    if plan.name == "Repartition" and plan.fields.get("shuffle") in (False, "false") and _streams(plan):
        yield _TOGETHER
    if plan.name == "RepartitionByExpression" and _streams(plan):
        by = expressions(plan.fields.get("partitionExpressions"))
        if any(one.name == "SortOrder" for one in by):
            yield _BY_RANGE
    for child in plan.children:
        yield from shuffling(child)


def _streams(plan: Node) -> bool:
    is_stream = plan.name.startswith("Streaming") or plan.fields.get("isStreaming") in (True, "true")
    return is_stream or any(_streams(child) for child in plan.children)
