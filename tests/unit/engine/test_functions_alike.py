"""Functions of a job are compared by all that they do: by their own code, and by classes and methods that they use."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pandas as pd
import pytest
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils

from tandem.engine.described import Facts, facts_of
from tandem.engine.facts import differing

HELPERS = {
    "a method": ("def f(s): return s.HERE()", "upper", "lower"),
    "an attribute": ("def f(r): return r.HERE", "gross", "net"),
    "a function of Python's": ("def f(x): return HERE(x)", "min", "max"),
    "a function of a module": ("import math\ndef f(x): return math.HERE(x)", "floor", "ceil"),
    "an import": ("def f(x):\n from math import HERE as g\n return g(x)", "floor", "ceil"),
    "a comprehension": ("def f(x): return [y * HERE for y in x]", "2", "3"),
    "a lambda": ("def f(x): return sorted(x, key=lambda y: y[HERE])", "0", "1"),
    "a function in it": ("def f(x):\n def g(y): return y + HERE\n return g(x)", "1", "2"),
    "an argument's name": ("def g(a=0, b=0): return a - b\ndef f(x): return g(HERE=x)", "a", "b"),
    "parameters' order": ("def g(HERE): return a - b\ndef f(x): return g(b=1, a=x)", "a, b", "b, a"),
    "a base": ("class B:\n r = HERE\nclass C(B): pass\ndef f(x): return C.r", "1", "2"),
    "__init__": ("class C:\n def __init__(self): self.r = HERE\ndef f(x): return C().r", "1", "2"),
    "__call__": ("class C:\n def __call__(self, x): return HERE\nc = C()\ndef f(x): return c(x)", "1", "2"),
    "a method of an object": ("class C:\n def m(self): return HERE\nc = C()\ndef f(x): return c.m()", "1", "2"),
    "a bound method": ("class C:\n def m(self): return HERE\ng = C().m\ndef f(x): return g()", "1", "2"),
    "a dataclass' default": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n r: int = HERE\ndef f(x): return C().r",
        "1",
        "2",
    ),
    "an enumeration": ("import enum\nclass R(enum.Enum):\n E = HERE\ndef f(x): return R.E", "1", "2"),
    "a member of an enumeration": (
        "import enum\nclass R(enum.Enum):\n E = HERE\nM = R.E\ndef f(x): return M.value",
        "1",
        "2",
    ),
}
"""What is used → the text of a module with the function `f`, and two things that may stand in it."""
_NUMBERS = count()


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataclass looks for the module that it is in."""
    monkeypatch.setitem(sys.modules, "helpers", types.ModuleType("helpers"))


def facts(source: str) -> Facts:
    """The facts of a UDF in a module of the job's that is written so."""
    module = types.ModuleType("helpers")
    exec(compile("\n" * next(_NUMBERS) + f"{source}\ndef udf(x): return f(x)\n", "helpers.py", "exec"), vars(module))  # noqa: S102
    return facts_of([("udf", "", vars(module)["udf"])], lambda name: name == "helpers")


@pytest.mark.parametrize("case", HELPERS)
def test_a_function_that_does_something_else_is_another(case: str) -> None:
    text, one, other = HELPERS[case]

    assert facts(text.replace("HERE", one)) == facts(text.replace("HERE", one))  # though it stands in other lines
    assert facts(text.replace("HERE", one)) != facts(text.replace("HERE", other))


@dataclass
class Drawn(StatefulProcessor):  # type: ignore[misc]
    """Takes along what its driver drew."""

    run: str

    def init(self, handle: object) -> None: ...

    def handleInputRows(self, key: object, rows: Iterator[pd.DataFrame], timers: object) -> Iterator[pd.DataFrame]:  # noqa: N802, ARG002
        return rows


def test_a_stateful_processor_is_compared_by_what_it_holds() -> None:
    def called(run: str) -> Facts:
        helper = TransformWithStateInPandasUdfUtils(Drawn(run), "None")
        return facts_of([("udf", "", helper.transformWithStateUDF)], lambda name: name == __name__)

    assert called("a") == called("a")
    assert called("a") != called("b")


@dataclass
class Scoring(StatefulProcessor):  # type: ignore[misc]
    """Holds more than a message has room for."""

    weights: dict[str, float]
    threshold: int

    def init(self, handle: object) -> None: ...

    def handleInputRows(self, key: object, rows: Iterator[pd.DataFrame], timers: object) -> Iterator[pd.DataFrame]:  # noqa: N802, ARG002
        return rows

    def score(self, n: int) -> int:
        return n + self.threshold


@pytest.mark.parametrize("how", ["by Spark", "as a method", "in a variable"])
def test_a_difference_in_what_an_object_holds_names_the_attribute(how: str) -> None:
    def called(threshold: int) -> Facts:
        processor = Scoring({f"word {number}": number / 7 for number in range(50)}, threshold)
        few = Scoring({}, threshold)
        value = {
            "by Spark": TransformWithStateInPandasUdfUtils(processor, "None").transformWithStateUDF,
            "as a method": processor.score,
            "in a variable": lambda n: few.score(n),
        }[how]
        return facts_of([("the function f", "job.py:3", value)], lambda name: name == __name__)

    (said,) = differing(called(10), called(20))
    assert "threshold" in said
    assert "int 10" in said
    assert "int 20" in said
