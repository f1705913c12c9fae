"""What a job's plan is made of, as facts that two processes can compare: constants, functions, data, settings."""

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import DataFrame

from tandem.engine.described import UNKNOWN, Facts, facts_of, shown
from tandem.engine.guard import Taken
from tandem.engine.jvm_plans import nodes_of
from tandem.engine.users_code import is_installed, is_users_file
from tandem.manifest.identity import MODULE

_UNSTABLE: Final = frozenset({"class", "product-class", "metadata", "num-children", "qualifier"})
_ID: Final = re.compile(r"(^i|I|_i)ds?$")
"""Of names of fields: what Spark numbers or draws for each plan again, as expressions, watermarks and WITH clauses."""
_NUMBERED: Final = re.compile(r"(#|_gen_alias_)\d+L?")
_DRAWN: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|_pyspark_[0-9a-f]{32}")
"""Also the view that stands for a DataFrame in `spark.sql("… {name}", name=…)`."""
_IDENTITY: Final = re.compile(r"\[[A-Z]@[0-9a-f]+")
"""What Java writes for an array, of bytes as a rule."""
_VARIABLE: Final = re.compile(r"_\d+$")
"""Of a variable of a lambda, as in `F.transform(column, lambda x: x + 1)`: numbered through the JVM's life."""
_FUNCTION: Final = "the function "


def facts_about(
    frame: DataFrame, taken: Taken, settings: Mapping[str, str], modules: Mapping[str, str] = MappingProxyType({})
) -> Facts:
    """The facts of a plan and of what was given to Spark while it was made.

    `modules` : the user's modules that the job's code imports, and hashes; see `modules_of`.
    """
    plan = frame._jdf.queryExecution().analyzed()
    nodes = nodes_of(plan)
    facts = {f"the setting {name}": value for name, value in settings.items()}
    facts |= {f"{MODULE}{name}": digest for name, digest in modules.items()}
    places = [(f"{_FUNCTION}{_name_of(function)}", place, function) for place, function in taken.functions]
    places += [("the data of createDataFrame", place, data) for place, data in taken.data]
    places += [("the constant", place, one) for place, one in taken.constants if isinstance(one, bytes | bytearray)]
    facts |= facts_of(places, is_users_module)
    for number, (kind, value) in enumerate(_values(nodes)):
        facts[f"{kind} {number} of the plan"] = value
    jvm: Any = frame.sparkSession._jvm
    for number, (kind, value) in enumerate(json.loads(jvm.tandem.Contents.of(plan))):
        facts[f"{kind} {number} in the plan"] = value
    return facts


def functions_in(facts: Facts) -> list[str]:
    """The Python functions that Spark calls, with their lines."""
    return [name for name in facts if name.startswith(_FUNCTION)]


def differing(mine: Facts, others: Facts, constants: Collection[tuple[str, Any]] = ()) -> Iterator[str]:
    """Each difference in words, with both values, and with the line of a constant where it is known."""
    lines = {_as_in_plan(value): place for place, value in constants if place}
    for name in sorted(mine.keys() | others.keys(), key=list({**mine, **others}).index):
        one, other = mine.get(name, "missing"), others.get(name, "missing")
        if one != other and not one.startswith(UNKNOWN) and not other.startswith(UNKNOWN):
            is_placed = name.endswith(")")
            place = "" if is_placed else next((line for value, line in lines.items() if value and value in one), "")
            yield f"{name}{f' ({place})' if place else ''}: {shown(one)}, elsewhere {shown(other)}"


def constants_of(frame: DataFrame) -> Iterator[tuple[str, str]]:
    """(place in the code, text) of the constants that were given to operators of columns, as in `F.col("n") + 1`."""
    for leaf in _literals_of(frame):
        context = leaf.origin().context()
        if context.contextType().toString() == "DataFrame":
            file, _, line = context.callSite().rpartition(":")
            if line.isdigit():
                yield f"{Path(file).name}:{line}", leaf.toString()


def typed_in_sql(frame: DataFrame) -> Iterator[str]:
    """The constants of SQL, as they were written there."""
    for leaf in _literals_of(frame):
        origin = leaf.origin()
        if origin.sqlText().isDefined() and origin.startIndex().isDefined() and origin.stopIndex().isDefined():
            yield origin.sqlText().get()[origin.startIndex().get() : origin.stopIndex().get() + 1]


def _literals_of(frame: DataFrame) -> Iterator[Any]:
    jvm: Any = frame.sparkSession._jvm
    as_java = jvm.scala.jdk.javaapi.CollectionConverters.asJava
    plans = [frame._jdf.queryExecution().analyzed()]
    while plans:
        plan = plans.pop()
        plans.extend(as_java(plan.children()))
        leaves = (leaf for expression in as_java(plan.expressions()) for leaf in as_java(expression.collectLeaves()))
        yield from (leaf for leaf in leaves if leaf.nodeName() == "Literal")


def _as_in_plan(value: Any) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S") if isinstance(value, datetime) else str(value)


def is_users_module(name: str) -> bool:
    """Whether a module is the job's own."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return name == "__main__" or (file is not None and not is_installed(file) and is_users_file(file))


def _name_of(function: Any) -> str:
    value = function[0] if isinstance(function, tuple) and function else function
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _values(nodes: Any) -> Iterator[tuple[str, str]]:
    """(kind, text) of each node and each plain value of a plan's JSON, in its order, without what is numbered again."""
    if isinstance(nodes, list):
        for node in nodes:
            yield from _values(node)
    elif isinstance(nodes, dict):
        kind = str(nodes.get("class", nodes.get("product-class", nodes.get("object", "")))).rpartition(".")[2]
        if kind == "CatalogTable":  # of a temporary view: says when it was made
            return
        if kind == "Literal":
            yield "the constant", f"{without_identity(nodes.get('value'))} ({nodes.get('dataType')})"
            return
        if kind:
            plain = {name: value for name, value in nodes.items() if not isinstance(value, list | dict)}
            if kind.endswith("LambdaVariable"):
                plain["name"] = _VARIABLE.sub("", str(plain.get("name")))
            text = json.dumps({name: value for name, value in plain.items() if _is_stable(name)}, sort_keys=True)
            yield f"the part {kind}", _DRAWN.sub("", _NUMBERED.sub(r"\1", text))
        for name, value in nodes.items():
            if _is_stable(name):
                yield from _values(value)


def without_identity(value: Any) -> str:
    """A constant as Spark writes it; the content of an array of bytes is not in that."""
    return _IDENTITY.sub("bytes", str(value))


def _is_stable(name: str) -> bool:
    return name not in _UNSTABLE and not _ID.search(name)
