"""A job's plan as a query is started with it: without columns that nobody reads; and by what it keeps its state."""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from tandem.engine.jvm_plans import dataset, inlined, nodes_of, singleton
from tandem.engine.kept_state import KeptState
from tandem.engine.key_expressions import FORM
from tandem.engine.lanes import INITIAL_STATE
from tandem.engine.state_keys import kept_states
from tandem.logs import get_logger

_log = get_logger(__name__)

_MOST_PASSES = 20
"""Over a plan, whose depth bounds how many are needed; fewer only leave columns in it."""
_CATALYST = "org.apache.spark.sql.catalyst.optimizer"


def pruned(frame: DataFrame) -> Any:
    """The analysed plan without columns that nobody reads: Spark would compute an epoch's first, and then drop them.

    What the job has cached (`table.cache()`) is put in first: Spark knows it by its whole plan.

    The whole plan, if Spark refuses the other: the rules are made for optimised plans, in which nobody checks again that
    what is selected is what is grouped by.
    """
    return without_unused(frame.sparkSession, with_cached(frame))


def with_cached(frame: DataFrame) -> Any:
    """The analysed plan, with what is cached instead of what makes it; see `UnmeasuredCache.java`."""
    spark, plan = frame.sparkSession, frame._jdf.queryExecution().normalized()
    caches: Any = spark._jsparkSession.sharedState().cacheManager()
    ours: Any = spark._jvm.tandem  # type: ignore[union-attr]
    return ours.UnmeasuredCache.within(caches.useCachedData(plan, getattr(caches, "useCachedData$default$2")()))


def without_unused(spark: SparkSession, whole: Any) -> Any:
    """A plan without columns that nobody reads; the whole one, if Spark refuses the other."""
    plan = whole
    rules = [singleton(spark, f"{_CATALYST}.{name}") for name in ("ColumnPruning", "CollapseProject")]
    for _ in range(_MOST_PASSES):
        before = plan
        for rule in rules:
            plan = rule.apply(plan)
        if plan.fastEquals(before):
            break
    try:
        dataset(spark, plan)
    except AnalysisException as error:
        _log.info("plan_not_pruned", reason=str(error).partition("\n")[0])
        return whole
    return plan


def operators_of(frame: DataFrame, topics: str) -> tuple[list[KeptState], frozenset[str]]:
    """By what a plan keeps its state, and what is in it, see `check_lanes`. `topics` : see `kept_states`."""
    spark, plan = frame.sparkSession, frame._jdf.queryExecution().analyzed()
    nodes = nodes_of(plan)
    names = frozenset(str(node["class"]).rpartition(".")[2] for node in nodes)
    if any(node.get("hasInitialState") in (True, "true") for node in nodes):
        names |= {INITIAL_STATE}
    return described(spark, plan, topics), names


def states_of(frame: DataFrame) -> list[KeptState] | None:
    """By what the query of a plan keeps its state, whatever is cached.

    None if the plan cannot be read, which by itself refuses no job.
    """
    spark = frame.sparkSession
    try:
        return described(spark, without_unused(spark, frame._jdf.queryExecution().analyzed()))
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
