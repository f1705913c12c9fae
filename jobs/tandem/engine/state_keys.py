"""By what a plan keeps its state: the columns of the inputs behind the keys of each stateful operator. Pure.

Spark compares types only when a query meets the state of other code. State that is kept by customer and then read by
product is taken for that of products, and what was counted is lost without a word. So an operator is described by the
columns of the inputs that its keys, and what it keeps, come from, whatever they are called in between and however they are
computed: code that casts with more care, or renames a column, goes on from the state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tandem.engine.plan_tree import Node, expressions, tree

Columns = frozenset[str]
"""Of the inputs, as `orders/value.customer`: topics, column, and the path in it."""

_BY_POSITION: Final = frozenset({"GetArrayItem", "ElementAt", "GetMapValue", "GetJsonObject", "SplitPart", "Substring"})
"""Take a part of a column by a constant, which so says which part of it is meant."""
_NUMBERED: Final = re.compile(r"(?<=_gen_alias_)\d+|#\d+L?|(?<=\[B@)[0-9a-f]+")
"""In names and constants: what Spark and Java write otherwise in each process."""
_DUPLICATES: Final = {"Deduplicate": "dropDuplicates", "DeduplicateWithinWatermark": "dropDuplicatesWithinWatermark"}
_OF_GROUPS: Final = {
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithStateInPySpark": "transformWithState",
}


@dataclass(frozen=True, slots=True)
class KeptState:
    """A stateful operator: what its state is kept by, and what is kept, in the order in which Spark keeps it."""

    operator: str
    keys: tuple[str, ...]
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a plan gives: the columns behind each attribute, its attributes in order, and whether it is a stream."""

    behind: Mapping[int, Columns]
    output: tuple[int, ...]
    streams: bool


def kept_states(plan: Sequence[Mapping[str, Any]]) -> list[KeptState]:
    """The stateful operators of an analysed plan, in the plan's order; `plan`: as Spark's `toJSON` gives it."""
    found: list[KeptState] = []
    _walk(tree(iter(plan)), found)
    return found


def difference(old: Sequence[KeptState], new: Sequence[KeptState]) -> str | None:
    """In words, where two plans keep other things in the same place; None if nowhere, as far as both have operators.

    Operators that are new, are gone or are of another kind Spark refuses by itself.
    """
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        if before.operator != after.operator or before == after:
            continue
        if before.keys != after.keys:
            was, now = _words(before.keys), _words(after.keys)
            return f"operator {number} ({before.operator}) kept its state by {was}, now by {now}"
        if before.values != after.values and not _computed_otherwise(before, after):
            return f"operator {number} ({before.operator}) kept {_words(before.values)}, now {_words(after.values)}"
    return None


def _computed_otherwise(before: KeptState, after: KeptState) -> bool:
    """Whether aggregations of the same kinds take in something else from now on, as corrected code may mean to."""
    if before.operator != "aggregation" or sorted(before.values) == sorted(after.values):
        return False  # what a join keeps are columns; and aggregations in another order take each other's values
    kinds = [[value.partition("(")[0] for value in one.values] for one in (before, after)]
    return kinds[0] == kinds[1]


def _words(parts: Sequence[str]) -> str:
    return ", ".join(parts) or "nothing"


def _walk(node: Node, found: list[KeptState]) -> _Seen:
    """What the node gives; the stateful operators of it and below it are added to `found`, before those below."""
    place = len(found)
    below = [_walk(child, found) for child in node.children]
    seen = _seen(node, below)
    if below and all(one.streams for one in (below if node.name == "Join" else below[:1])):
        kept = _kept(node, below)
        if kept is not None:
            found.insert(place, kept)
    return seen


def _seen(node: Node, below: Sequence[_Seen]) -> _Seen:
    behind = {attribute: columns for one in reversed(below) for attribute, columns in one.behind.items()}
    streams = any(one.streams for one in below)
    if not below:
        attributes = expressions(node.fields.get("output"))
        names = {_id(attribute): frozenset({str(attribute.fields["name"])}) for attribute in attributes}
        return _Seen(names, tuple(names), node.name == "StreamingExecutionRelation")
    if node.name in ("Project", "Aggregate"):
        given = expressions(node.fields["projectList" if node.name == "Project" else "aggregateExpressions"])
        output = {_id(one): _columns(one, behind) for one in given}
        return _Seen(behind | output, tuple(output), streams)
    if node.name == "Filter":
        return _Seen(_of_topics(node, behind), below[0].output, streams)
    if node.name == "Union":
        together = {
            same[0]: frozenset[str]().union(*(behind[one] for one in same))
            for same in zip(*(one.output for one in below), strict=False)
        }
        return _Seen(behind | together, below[0].output, streams)
    made = expressions(node.fields.get("outputAttrs"))
    if made:
        names = {_id(attribute): frozenset({str(attribute.fields["name"])}) for attribute in made}
        return _Seen(behind | names, tuple(names), streams)
    joined = tuple(attribute for one in below for attribute in one.output)
    return _Seen(behind, joined, streams)


def _of_topics(filtering: Node, behind: Mapping[int, Columns]) -> Mapping[int, Columns]:
    """Above the filter that makes a source, every column is one of its topics: see `frames.split_sources`."""
    (condition,) = expressions(filtering.fields["condition"])
    if condition.name != "In" or behind.get(_id(condition.children[0])) != frozenset({"topic"}):
        return behind
    topics = "+".join(str(literal.fields.get("value")) for literal in condition.children[1:])
    return {attribute: frozenset(f"{topics}/{name}" for name in columns) for attribute, columns in behind.items()}


def _kept(node: Node, below: Sequence[_Seen]) -> KeptState | None:
    """The state of a node over streams; None if it keeps none."""
    behind = {attribute: columns for one in reversed(below) for attribute, columns in one.behind.items()}

    def texts(written: object) -> tuple[str, ...]:
        return tuple(_text(_columns(one, behind)) for one in expressions(written))

    if node.name == "Aggregate":
        functions = [one for given in expressions(node.fields["aggregateExpressions"]) for one in _functions(given)]
        values = {result: f"{one.name.lower()}({_text(_columns(one, behind))})" for result, one in functions}
        return KeptState("aggregation", texts(node.fields["groupingExpressions"]), tuple(values.values()))
    if node.name in _DUPLICATES:
        return KeptState(_DUPLICATES[node.name], texts(node.fields["keys"]))
    if node.name in _OF_GROUPS:
        count = node.fields.get("groupingAttributesLen")
        if count is None:
            return KeptState(_OF_GROUPS[node.name], texts(node.fields["groupingAttributes"]))
        keys = tuple(_text(behind.get(one, frozenset())) for one in below[0].output[: int(count)])
        return KeptState(_OF_GROUPS[node.name], keys)
    if node.name == "Join" and len(below) == 2:
        sides = [tuple(_text(behind.get(one, frozenset())) for one in side.output) for side in below]
        return KeptState("join", _equal(expressions(node.fields.get("condition")), behind), (*sides[0], "|", *sides[1]))
    return None


def _equal(conditions: Sequence[Node], behind: Mapping[int, Columns]) -> tuple[str, ...]:
    """The pairs of columns that a join needs to be equal."""
    found: list[str] = []
    for condition in conditions:
        if condition.name == "And":
            found += _equal(condition.children, behind)
        elif condition.name in ("EqualTo", "EqualNullSafe"):
            found.append(" = ".join(_text(_columns(side, behind)) for side in condition.children))
    return tuple(found)


def _functions(expression: Node) -> Iterator[tuple[int, Node]]:
    """The aggregate functions in an expression, each with the identity of its result: it may be used more than once."""
    if expression.name == "AggregateExpression":
        yield int(expression.fields["resultId"]["id"]), expression.children[0]
        return
    for child in expression.children:
        yield from _functions(child)


def _columns(expression: Node, behind: Mapping[int, Columns]) -> Columns:
    if expression.name == "AttributeReference":
        return behind.get(_id(expression), frozenset({str(expression.fields["name"])}))
    found = frozenset[str]().union(*(_columns(child, behind) for child in expression.children))
    if expression.name == "GetStructField":
        return frozenset(f"{column}.{_field(expression)}" for column in found)
    if expression.name in _BY_POSITION:
        where = ",".join(str(child.fields.get("value")) for child in expression.children if child.name == "Literal")
        return frozenset(f"{column}[{where}]" for column in found)
    if expression.name == "Alias" and any(one.name == "PreciseTimestampConversion" for one in _all(expression)):
        return found | _windows(expression)
    return found


def _windows(expression: Node) -> Columns:
    """The lengths that make a window, which is a key like any other: Spark writes them as constants in its arithmetic."""
    constants = [one for one in _all(expression) if one.name == "Literal" and one.fields.get("dataType") == "long"]
    seconds = sorted({int(str(one.fields["value"])) / 1e6 for one in constants} - {0.0})
    return frozenset({f"windows of {' and '.join(f'{length:g} s' for length in seconds)}"} if seconds else ())


def _all(expression: Node) -> Iterator[Node]:
    yield expression
    for child in expression.children:
        yield from _all(child)


def _field(getting: Node) -> str:
    """The name of the field that is taken."""
    fields = _fields(getting.children[0])
    ordinal = int(getting.fields["ordinal"])
    return str(fields[ordinal]["name"]) if ordinal < len(fields) else f"#{ordinal}"


def _fields(expression: Node) -> Sequence[Mapping[str, Any]]:
    """Of an expression that is a struct, as far as what Spark writes tells them."""
    if expression.name == "GetStructField":
        outer, ordinal = _fields(expression.children[0]), int(expression.fields["ordinal"])
        kind: Any = outer[ordinal]["type"] if ordinal < len(outer) else None
    else:
        kind = expression.fields.get("dataType") or expression.fields.get("schema")
    return kind["fields"] if isinstance(kind, dict) and "fields" in kind else ()


def _id(expression: Node) -> int:
    return int(expression.fields.get("exprId", {}).get("id", -1))


def _text(columns: Columns) -> str:
    return "+".join(sorted(_NUMBERED.sub("", column) for column in columns)) or "a constant"
