"""Does a job hand the time of its input records to Python, which knows fewer years than Spark and Kafka do?"""

import re
from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

from tandem.engine.jvm_plans import children, elements

Range = tuple[int, int]
"""First and last time, Unix, µs."""

_PYTHON_US: Final[Range] = (-62_135_510_400_000_000, 253_402_214_400_000_000)
"""Years 1 to 9999, and a day less at either end for time zones."""
_PANDAS_US: Final[Range] = (-(2**63) // 1_000 + 86_400_000_000, 2**63 // 1_000 - 86_400_000_000)
"""Nanoseconds in 64 bits: years 1677 to 2262, and a day less."""
_PANDAS_TYPES: Final = range(200, 250)
"""Of Spark's `PythonEvalType`."""

_TIME: Final = re.compile(r'^"timestamp"$|"(?:type|elementType|keyType|valueType)":"timestamp"')
"""In the JSON of a type: it is, or holds, a TIMESTAMP."""
_INTO_PYTHON: Final = re.compile(r"Pandas|InArrow|PySpark|PythonUDTF|ArrowEval")
"""In the name of an operator that hands all columns of its input to Python."""
_PYTHON: Final = re.compile(r"Python|Pandas|PySpark|InArrow")
_UDF: Final = re.compile(r"^Python(UDF|UDAF|UDTF)")
_NEW_COLUMNS: Final = frozenset({"Generate", "Expand"})


def times_of_python(frame: DataFrame, column: str = "timestamp") -> Range | None:
    """The times that the job's Python functions take, if `column` of the streaming source comes to one, as a TIMESTAMP or
    within a struct; None if it comes to none.

    Errs on the side of too many functions.
    """
    plan: Any = frame._jdf.queryExecution().analyzed()
    if not _PYTHON.search(str(plan.toJSON())):
        return None
    found = set(_takers(plan, column))
    return None if not found else _PANDAS_US if _PANDAS_US in found else _PYTHON_US


def _takers(plan: Any, column: str) -> Iterator[Range]:
    times: set[int] = set()
    for node in _bottom_up(plan):
        name = str(node.nodeName())
        below = children(node)
        if name == "StreamingExecutionRelation":
            times |= {_id(a) for a in elements(node.output()) if str(a.name()) == column and _is_time(a)}
        if name == "Union":
            _join_branches(node, below, times)
        if _INTO_PYTHON.search(name) and any(_id(a) in times for child in below for a in elements(child.output())):
            yield _PYTHON_US if name.endswith(("PySpark", "InArrow")) else _PANDAS_US
        for expression in elements(node.expressions()):
            yield from _udfs(expression, times)
            times |= _named(expression, times)
        if name in _NEW_COLUMNS and any(_uses(expression, times) for expression in elements(node.expressions())):
            times |= {_id(attribute) for attribute in elements(node.output()) if _is_time(attribute)}


def _bottom_up(plan: Any) -> Iterator[Any]:
    for child in children(plan):
        yield from _bottom_up(child)
    yield plan


def _join_branches(union: Any, below: list[Any], times: set[int]) -> None:
    """The columns of a union are those of its first branch, or have ids of their own."""
    outputs = [elements(child.output()) for child in below]
    for position, attribute in enumerate(elements(union.output())):
        if any(_id(branch[position]) in times for branch in outputs):
            times.add(_id(attribute))


def _udfs(expression: Any, times: set[int]) -> Iterator[Range]:
    below = children(expression)
    if _UDF.search(str(expression.nodeName())) and any(_holds(child, times) for child in below):
        yield _PANDAS_US if int(expression.evalType()) in _PANDAS_TYPES else _PYTHON_US
    for child in below:
        yield from _udfs(child, times)


def _named(expression: Any, times: set[int]) -> set[int]:
    """The new columns that hold one of the times."""
    return {_id(expression)} if str(expression.nodeName()) == "Alias" and _holds(expression, times) else set()


def _holds(expression: Any, times: set[int]) -> bool:
    """Whether it is, or holds, a TIMESTAMP that one of the times may be in."""
    name = str(expression.nodeName())
    if not _is_time(expression) or not _uses(expression, times):
        return False
    if name == "GetStructField":
        return str(expression.extractFieldName()) != "epoch_time" and _holds(expression.child(), times)
    return _holds(expression.child(), times) if name == "Alias" else True


def _uses(expression: Any, times: set[int]) -> bool:
    return any(_id(attribute) in times for attribute in elements(expression.references().toSeq()))


def _is_time(expression: Any) -> bool:
    return _TIME.search(str(expression.dataType().json())) is not None


def _id(attribute: Any) -> int:
    return int(attribute.exprId().id())
