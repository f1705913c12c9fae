"""Whether the rows of a job may depend on where its epochs end, as its plan shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

from tandem.engine.jvm_plans import children, nodes_of
from tandem.engine.plan_tree import expressions, tree
from tandem.engine.shared_state import stateful_operators
from tandem.topics.declared import DEAD_LETTER_SINK

_OF_AN_EPOCH: Final = ("epoch", "seq", "epoch_time", "epoch_seed", "answers")
"""Columns of an input that follow from the epoch of a record, or from its place in it."""
_OF_A_BATCH: Final = ("MonotonicallyIncreasingID", "SparkPartitionID")


def why_cuts_matter(frame: DataFrame) -> str:
    """Why all rows together may be others with other cuts; "": each row is made of one record, and of nothing else."""
    kept = stateful_operators(frame)
    if kept:
        return f"it keeps state ({kept[0]})"
    plan = frame.sparkSession._jsparkSession.sessionState().optimizer().execute(frame._jdf.queryExecution().analyzed())
    branches = children(plan) if plan.nodeName() == "Union" else [plan]
    for branch in branches:
        nodes = nodes_of(branch)
        if not _is_of_dead_letters(nodes):
            for name in _used([node for node in nodes if node["num-children"]]):
                return f"it uses {name}"
    return ""


def _is_of_dead_letters(nodes: list[dict[str, Any]]) -> bool:
    """Their rows are completed when Spark has given them: with the place of the record in its topic."""
    columns = expressions(tree(iter(nodes)).fields.get("projectList"))
    return any(
        one.fields.get("name") == "sink" and one.children and one.children[0].fields.get("value") == DEAD_LETTER_SINK
        for one in columns
    )


def _used(nodes: Any) -> Iterator[str]:
    if isinstance(nodes, list):
        for node in nodes:
            yield from _used(node)
    elif isinstance(nodes, dict):
        kind = str(nodes.get("class", "")).rpartition(".")[2]
        if kind == "AttributeReference" and nodes.get("name") in _OF_AN_EPOCH:
            yield str(nodes["name"])
        elif kind in _OF_A_BATCH:
            yield kind
        for value in nodes.values():
            yield from _used(value)
