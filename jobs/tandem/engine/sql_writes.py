"""Whether a text of SQL writes rows somewhere: Spark runs it at once, each time that the job's function is called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter

from tandem.engine.jvm_plans import children, class_of

_WORDS: Final = re.compile(r"\b(insert|merge|update|delete|truncate|load|create|replace)\b", re.IGNORECASE)
_WRITES: Final = re.compile(r"(Insert|Merge|Update|Delete|Truncate|Load).*|(Create|Replace)TableAsSelect")
"""Statements, by the classes that Spark's parser makes of them."""


def writes_rows(spark: SparkSession, text: str, named: Mapping[str, Any]) -> bool:
    """Whether a text does, or a statement of a script. `named` : the DataFrames that it names in braces.

    False if Spark cannot read it: it says so itself.
    """
    if _WORDS.search(text) is None:
        return False
    formatter = SQLStringFormatter(spark)
    try:
        whole = formatter.format(text, **named) if named else text
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(whole)
    except Exception:
        return False
    finally:
        formatter.clear()
    return any(_WRITES.fullmatch(class_of(node)) for node in _statements(plan))


def _statements(plan: Any) -> Iterator[Any]:
    """All nodes of what was parsed, those of the statements of a script too."""
    yield plan
    below = [plan.parsedPlan()] if class_of(plan) == "SingleStatement" else children(plan)
    for one in below:
        yield from _statements(one)
