"""Expressions, also those of libraries, of which Spark itself says that they may give another value each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tandem.engine.jvm_plans import children, class_of, expressions_of

_KNOWN: Final = frozenset(
    {"MonotonicallyIncreasingID", "SparkPartitionID", "CallMethodViaReflection", "TryReflect", "PythonUDTF"}
)
"""The first two follow from a row's place in its epoch, the same in all replicas; methods of Java are looked into; PySpark
says so of every UDTF whose author has not said otherwise.
"""
_SUBQUERIES: Final = ("ScalarSubquery", "LateralSubquery", "Exists", "ListQuery", "DynamicPruningSubquery")
"""What is in their plans is found there."""
_REMEDY: Final = (
    "a function that follows from the records alone; for chance use ctx.rng(), for times ctx.epoch_time(), for all else "
    "ctx.determinant(...)"
)


def undetermined_of_themselves(plan: Any) -> Iterator[tuple[str, str]]:
    """(expression, what to use instead) of an analysed plan in the JVM, for each expression that Spark calls
    non-deterministic though its arguments are not.
    """
    if plan.deterministic():
        return
    for expression in expressions_of(plan):
        yield from _of(expression)


def _of(expression: Any) -> Iterator[tuple[str, str]]:
    if expression.deterministic():
        return
    below = [one for one in children(expression) if not one.deterministic()]
    for one in below:
        yield from _of(one)
    name = class_of(expression)
    if not below and name not in _KNOWN and name not in _SUBQUERIES:
        yield f"{expression.prettyName()}(), of which Spark says that it may give another value each time", _REMEDY
