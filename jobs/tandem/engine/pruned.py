"""A job's plan as a query is started with it: without columns that nobody reads; and by what it keeps its state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from tandem.engine.kept_state import KeptState
from tandem.engine.key_expressions import FORM
from tandem.engine.state_keys import kept_states
from tandem.logs import get_logger

_log = get_logger(__name__)

_MOST_PASSES = 20
"""Over a plan, whose depth bounds how many are needed; fewer only leave columns in it."""
_CATALYST = "org.apache.spark.sql.catalyst.optimizer"


def singleton(spark: SparkSession, name: str) -> Any:
    """A Scala object."""
    return getattr(reduce(getattr, f"{name}$".split("."), spark._jvm), "MODULE$")


def java_type(spark: SparkSession, schema: Any) -> Any:
    """A schema in the JVM."""
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())


def pruned(frame: DataFrame) -> Any:
    """The analysed plan without columns that nobody reads: Spark would compute an epoch's first, and then drop them."""
    spark = frame.sparkSession
    plan = frame._jdf.queryExecution().analyzed()
    rules = [singleton(spark, f"{_CATALYST}.{name}") for name in ("ColumnPruning", "CollapseProject")]
    for _ in range(_MOST_PASSES):
        before = plan
        for rule in rules:
            plan = rule.apply(plan)
        if plan.fastEquals(before):
            break
    return plan


def as_run(frame: DataFrame) -> Any:
    """The Dataset that a query is started with, in the JVM: of the pruned plan, or of the whole one if Spark refuses that.

    Its rules are made for optimised plans, in which nobody checks again that what is selected is what is grouped by.
    """
    spark = frame.sparkSession
    try:
        return dataset(spark, pruned(frame))
    except AnalysisException as error:
        _log.info("plan_not_pruned", reason=str(error).partition("\n")[0])
        return dataset(spark, frame._jdf.queryExecution().analyzed())


def inlined(spark: SparkSession, plan: Any) -> Any:
    """The plan with each WITH clause where it is used."""
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, False, False).apply(plan)


def dataset(spark: SparkSession, plan: Any) -> Any:
    """A Dataset of the plan, in the JVM."""
    return singleton(spark, "org.apache.spark.sql.classic.Dataset").ofRows(spark._jsparkSession, plan)


def operators_of(frame: DataFrame, topics: str) -> tuple[list[KeptState], frozenset[str]]:
    """By what a plan keeps its state, and the names of all its nodes. `topics` : see `kept_states`."""
    spark, plan = frame.sparkSession, frame._jdf.queryExecution().analyzed()
    names = frozenset(str(node["class"]).rpartition(".")[2] for node in json.loads(plan.toJSON()))
    return described(spark, plan, topics), names


def states_of(spark: SparkSession, plan: Any) -> list[KeptState] | None:
    """By what an analysed plan keeps its state; None if it cannot be read: that alone refuses no job."""
    try:
        return described(spark, plan)
    except Exception as error:
        _log.warning("state_not_described", reason=f"{type(error).__name__}: {error}")
        return None


def described(spark: SparkSession, plan: Any, topics: str = "") -> list[KeptState]:
    """By what an analysed plan keeps its state. Raises what reading the plan raises."""
    plan = inlined(spark, plan)
    simplified = plan
    for name in ("ReplaceExpressions", "RewriteWithExpression", "ConstantFolding", "SimplifyCasts"):
        simplified = singleton(spark, f"{_CATALYST}.{name}").apply(simplified)
    form = f"{FORM} of {spark.version}"
    return kept_states(nodes_of(plan), nodes_of(simplified), form, topics)


def nodes_of(plan: Any) -> list[dict[str, Any]]:
    """A plan as Spark's `toJSON` gives it, with the rows of each `Expand`: of an `unpivot` it leaves them out."""
    nodes: list[dict[str, Any]] = json.loads(plan.toJSON())
    if any(node.get("projections", ()) is None for node in nodes):
        for fields, node in zip(nodes, _from_the_sink_on(plan), strict=True):
            if fields.get("projections", ()) is None:
                rows = elements(node.projections())
                fields["projections"] = [[json.loads(one.toJSON()) for one in elements(row)] for row in rows]
    return nodes


def _from_the_sink_on(node: Any) -> Iterator[Any]:
    """A plan's nodes in the order of `toJSON`; in the JVM."""
    yield node
    for child in elements(node.children()):
        yield from _from_the_sink_on(child)


def elements(sequence: Any) -> Iterator[Any]:
    """Those of a sequence of Scala."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()
