"""Spark's plans and Scala's objects, as Python sees them in the JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any

from pyspark.sql import SparkSession


def singleton(spark: SparkSession, name: str) -> Any:
    """A Scala object."""
    return getattr(reduce(getattr, f"{name}$".split("."), spark._jvm), "MODULE$")


def java_type(spark: SparkSession, schema: Any) -> Any:
    """A schema in the JVM."""
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())


def dataset(spark: SparkSession, plan: Any) -> Any:
    """A Dataset of the plan, in the JVM. Raises `AnalysisException`: Spark refuses the plan."""
    return singleton(spark, "org.apache.spark.sql.classic.Dataset").ofRows(spark._jsparkSession, plan)


def inlined(spark: SparkSession, plan: Any) -> Any:
    """The plan with each WITH clause where it is used."""
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, False, False).apply(plan)


def elements(sequence: Any) -> list[Any]:
    """Those of a collection of Scala."""
    found, iterator = [], sequence.iterator()
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def children(node: Any) -> list[Any]:
    """Those of a plan's node, or of an expression."""
    return elements(node.children())


def class_of(node: Any) -> str:
    """The name of its class, without the package."""
    return str(node.getClass().getSimpleName())


def walked(node: Any) -> Iterator[Any]:
    """A plan's nodes, from the sink on: each before its children, as in `nodes_of`."""
    yield node
    for child in children(node):
        yield from walked(child)


def expressions_of(plan: Any) -> Iterator[Any]:
    """The expressions of a plan's nodes, those of subqueries too; what an expression is made of is among its children."""
    for node in (one for root in (plan, *elements(plan.subqueriesAll())) for one in walked(root)):
        yield from elements(node.expressions())


def nodes_of(plan: Any) -> list[dict[str, Any]]:
    """A plan as Spark's `toJSON` gives it, with the rows of each `Expand`: of an `unpivot` it leaves them out."""
    nodes: list[dict[str, Any]] = json.loads(plan.toJSON())
    if any(node.get("projections", ()) is None for node in nodes):
        for fields, node in zip(nodes, walked(plan), strict=True):
            if fields.get("projections", ()) is None:
                rows = elements(node.projections())
                fields["projections"] = [[json.loads(one.toJSON()) for one in elements(row)] for row in rows]
    return nodes
