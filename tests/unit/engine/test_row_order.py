"""What puts a stream's rows into partitions in another order in each replica is found, also below other operators."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.engine.plan_tree import tree
from tandem.engine.row_order import shuffling

PLANS = "org.apache.spark.sql.catalyst.plans.logical."
STREAM = {"class": f"{PLANS}StreamingExecutionRelation", "num-children": 0}
TABLE = {"class": f"{PLANS}LocalRelation", "num-children": 0, "isStreaming": False}
OF_WITH = {"class": f"{PLANS}CTERelationRef", "num-children": 0, "isStreaming": True}
COLUMN = {"class": "org.apache.spark.sql.catalyst.expressions.AttributeReference", "num-children": 0}
SORTED = {"class": "org.apache.spark.sql.catalyst.expressions.SortOrder", "num-children": 1}


def over(name: str, leaf: dict[str, Any], **fields: Any) -> list[str]:
    above = {"class": f"{PLANS}Project", "num-children": 1}
    node = {"class": f"{PLANS}{name}", "num-children": 1, **fields}
    return [said.partition("(")[0] for said in shuffling(tree(iter([above, node, leaf])))]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (over("Repartition", STREAM, shuffle=False), ["coalesce"]),
        (over("Repartition", OF_WITH, shuffle=False), ["coalesce"]),
        (over("Repartition", STREAM, shuffle=True), []),
        (over("Repartition", TABLE, shuffle=False), []),
        (over("RepartitionByExpression", STREAM, partitionExpressions=[[COLUMN]]), []),
    ],
)
def test_only_what_has_no_order_is_found(found: list[str], said: list[str]) -> None:
    assert found == said
