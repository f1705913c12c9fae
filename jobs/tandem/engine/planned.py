"""Facts of a job's plan that say which engine can run it, as Spark's optimiser and planner find them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tandem.engine.described import Facts
from tandem.engine.jvm_plans import children, class_of, elements, nodes_of, walked
from tandem.engine.output_mode import refusal
from tandem.engine.plan_leaves import leaves, roots_of
from tandem.engine.pruned import with_cached
from tandem.engine.real_time_limits import NOT_IN, PlanFacts
from tandem.jobapi.errors import JobError
from tandem.jobapi.job import in_a_line

_BROADCAST: Final = "BroadcastHashJoinExec"
_JOINS: Final = {
    "SortMergeJoinExec": "sorting both sides",
    "ShuffledHashJoinExec": "a hash table of each epoch",
    "BroadcastNestedLoopJoinExec": "comparing all rows with all",
    "CartesianProductExec": "comparing all rows with all",
}
"""Spark's ways to join, in words."""
_SESSION: Final = "spark.sessionWindow"


def plan_facts(frame: DataFrame, mode: str) -> PlanFacts:
    """The facts of a streaming plan; `mode`: its output mode. Raises `JobError` if Spark cannot optimise the plan."""
    state: Any = frame.sparkSession._jsparkSession.sessionState()
    try:
        plan = state.optimizer().execute(frame._jdf.queryExecution().analyzed())
    except PySparkException as error:
        raise JobError(f"Spark refuses the job's plan: {in_a_line(error)}") from error
    joins = [_way(join, state.planner()) for join in _joins(plan)]
    refused = refusal(frame, "Update")
    said = "" if refused is None else in_a_line(refused).rstrip(".")
    return PlanFacts(nodes_of(plan), joins, mode, said, frozenset(_sessions(plan)))


def how_joined(frame: DataFrame) -> Facts:
    """That a plan in micro-batches sends its tables to the stream's rows, or sorts both, in every epoch: those of a key keep
    their order.

    Earlier versions of Tandem chose a way for each epoch, by its size; then one that sent the stream's rows to all but small
    tables, which gave those of a key in reverse order; and one for a cached table that depended on what was in the cache.
    """
    plan = with_cached(frame)
    if not any(_joins(plan)):
        return {}
    is_cached = any(class_of(node) == "InMemoryRelation" for node in walked(plan))
    return {
        "the way in which tables are joined (see the release of Tandem)": "sent, cached or not" if is_cached else "sent"
    }


def how_ordered(frame: DataFrame) -> Facts:
    """That the files of a static table are read in the order of their names, and that equal rows keep their order.

    Earlier versions of Tandem read files in the order in which the disk lists them, and with several tasks the first rows
    of a table (`orderBy().limit()`) were any of those that are equal.
    """
    facts = {}
    if any(_files(leaf) > 1 for leaf in leaves(frame)):
        facts["the order of a table's files (see the release of Tandem)"] = "by name"
    has_tasks = frame.sparkSession.conf.get("spark.sql.shuffle.partitions") != "1"
    if has_tasks and any(class_of(node) == "Sort" for node in walked(frame._jdf.queryExecution().analyzed())):
        facts["the order of a table's equal rows (see the release of Tandem)"] = "theirs"
    return facts


def _files(leaf: Any) -> int:
    """Of a static table; 0: the leaf is none."""
    return len(leaf.relation().location().inputFiles()) if any(roots_of(leaf)) else 0


def _sessions(plan: Any) -> Iterator[int]:
    """The ids of columns that rows are grouped by and that are sessions; the JSON of a plan leaves their mark out."""
    if plan.nodeName() == "Aggregate":
        for column in elements(plan.groupingExpressions()):
            if column.getClass().getSimpleName() == "AttributeReference" and column.metadata().contains(_SESSION):
                yield int(column.exprId().id())
    for child in children(plan):
        yield from _sessions(child)


def _joins(plan: Any) -> Iterator[Any]:
    """Those of the stream with a table, from the sink on."""
    below = children(plan)
    if plan.nodeName() == "Join" and len({bool(child.isStreaming()) for child in below}) > 1:
        yield plan
    for child in below:
        yield from _joins(child)


def _way(join: Any, planner: Any) -> str:
    """How Spark would carry it out, in words; "": by sending the table to where the stream's rows are; or `NOT_IN`."""
    for made in elements(planner.JoinSelection().apply(join)):
        name = str(made.getClass().getSimpleName())
        table = join.right() if made.getClass().getSimpleName() == _BROADCAST and _builds_right(made) else join.left()
        if name == _BROADCAST and not table.isStreaming():
            return NOT_IN if made.isNullAwareAntiJoin() else ""
        return _JOINS.get(name, name)
    return "an unknown way"


def _builds_right(made: Any) -> bool:
    return str(made.buildSide()) == "BuildRight"
