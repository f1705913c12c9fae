"""By what a plan keeps its state: the columns of the inputs behind the keys of each stateful operator. Pure.

Spark compares types only when a query meets the state of other code. State that is kept by customer and then read by
product is taken for that of products, and what was counted is lost without a word. So an operator is described by the
columns of the inputs that its keys, and what it keeps, come from, whatever they are called in between and however they are
computed: code that casts with more care, or renames a column, goes on from the state.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tandem.engine.kept_state import KeptState
from tandem.engine.key_expressions import Made, attribute_id, column, either, field_of, made, within
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
class _Seen:
    """What a plan gives: the columns behind each attribute, how it is made, the attributes in order, whether it streams.

    `rows`: the conditions of filters and joins on its rows.
    """

    behind: Mapping[int, Columns]
    made: Mapping[int, Made]
    output: tuple[int, ...]
    streams: bool
    rows: frozenset[str] = frozenset()


def kept_states(
    plan: Sequence[Mapping[str, Any]], simplified: Sequence[Mapping[str, Any]] = (), form: str = "", topics: str = ""
) -> list[KeptState]:
    """The stateful operators of an analysed plan, in the plan's order; plans: as Spark's `toJSON` gives them.

    `simplified`: the same plan with simpler expressions, which say how the keys are made; `form`: of what they say.
    `topics`: of the only source, whose columns are named after it, as those of several sources are; "": they are not.
    """
    found = _states(plan, topics)
    ways = _states(simplified, topics) if simplified else []
    if [one.operator for one in ways] != [one.operator for one in found]:
        return [replace(one, made=(), computed=(), rows=()) for one in found]
    return [
        replace(one, made=other.made, computed=other.computed, rows=other.rows, form=form)
        for one, other in zip(found, ways, strict=True)
    ]


def _states(plan: Sequence[Mapping[str, Any]], topics: str) -> list[KeptState]:
    found: list[KeptState] = []
    _walk(tree(iter(plan)), found, topics)
    return found


def _walk(node: Node, found: list[KeptState], topics: str) -> _Seen:
    """What the node gives; the stateful operators of it and below it are added to `found`, before those below."""
    place = len(found)
    below = [_walk(child, found, topics) for child in node.children]
    seen = replace(_seen(node, below), rows=_conditions(node, below))
    if not below and seen.streams and topics:
        seen = _prefixed(seen, topics)
    if below and all(one.streams for one in (below if node.name == "Join" else below[:1])):
        kept = _kept(node, below)
        if kept is not None:
            found.insert(place, replace(kept, rows=tuple(sorted(seen.rows))))
    return seen


def _conditions(node: Node, below: Sequence[_Seen]) -> frozenset[str]:
    found = frozenset[str]().union(*(one.rows for one in below))
    if node.name not in ("Filter", "Join"):
        return found
    known = {attribute: way for one in reversed(below) for attribute, way in one.made.items()}
    return found | {_made(made(one, known)) for one in expressions(node.fields.get("condition"))}


def _seen(node: Node, below: Sequence[_Seen]) -> _Seen:
    behind = {attribute: columns for one in reversed(below) for attribute, columns in one.behind.items()}
    known = {attribute: way for one in reversed(below) for attribute, way in one.made.items()}
    streams = any(one.streams for one in below)
    if not below:
        return _named(_Seen({}, {}, (), node.name == "StreamingExecutionRelation"), node.fields.get("output"))
    if node.name in ("Project", "Aggregate"):
        given = expressions(node.fields["projectList" if node.name == "Project" else "aggregateExpressions"])
        columns = {attribute_id(one): _columns(one, behind) for one in given}
        ways = {attribute_id(one): made(one, known) for one in given}
        return _Seen(behind | columns, known | ways, tuple(columns), streams)
    if node.name == "Filter":
        return _of_topics(node, below[0])
    if node.name == "Union":
        same = list(zip(*(one.output for one in below), strict=False))
        columns = {each[0]: frozenset[str]().union(*(behind[one] for one in each)) for each in same}
        ways = {each[0]: either([known[one] for one in each]) for each in same}
        return _Seen(behind | columns, known | ways, below[0].output, streams)
    if node.name in ("Expand", "Generate"):
        return _Seen(behind, known | _multiplied(node, known), below[0].output, streams)
    if expressions(node.fields.get("outputAttrs")):
        return _named(_Seen(behind, known, (), streams), node.fields["outputAttrs"])
    joined = tuple(attribute for one in below for attribute in one.output)
    return _Seen(behind, known, joined, streams)


def _named(seen: _Seen, output: object) -> _Seen:
    """With attributes of which only the names are known."""
    names = {attribute_id(attribute): str(attribute.fields["name"]) for attribute in expressions(output)}
    behind = {one: frozenset({name}) for one, name in names.items()}
    ways = {one: column(name) for one, name in names.items()}
    return _Seen({**seen.behind, **behind}, {**seen.made, **ways}, tuple(names), seen.streams)


def _multiplied(node: Node, known: Mapping[int, Made]) -> dict[int, Made]:
    """What comes of a node that makes several rows of one: of sliding windows, and of `explode`."""
    if node.name == "Expand":
        rows = [[made(one, known) for one in expressions(row)] for row in node.fields["projections"]]
        return {
            attribute_id(one): either(ways)
            for one, *ways in zip(expressions(node.fields["output"]), *rows, strict=False)
        }
    (generator,) = expressions(node.fields["generator"])
    way = made(generator, known)
    given = expressions(node.fields["generatorOutput"])
    return {attribute_id(one): replace(way, text=f"{way.text}.{place}", read=False) for place, one in enumerate(given)}


def _of_topics(filtering: Node, below: _Seen) -> _Seen:
    """Above the filter that makes a source, every column is one of its topics: see `frames.split_sources`."""
    (condition,) = expressions(filtering.fields["condition"])
    if condition.name != "In" or below.behind.get(attribute_id(condition.children[0])) != frozenset({"topic"}):
        return below
    topics = "+".join(str(literal.fields.get("value")) for literal in condition.children[1:])
    return _prefixed(below, topics)


def _prefixed(seen: _Seen, topics: str) -> _Seen:
    """With columns that are named after the topics that they are of."""
    behind = {attribute: frozenset(f"{topics}/{name}" for name in names) for attribute, names in seen.behind.items()}
    return replace(seen, behind=behind, made={one: column(f"{topics}/{way.text}") for one, way in seen.made.items()})


def _kept(node: Node, below: Sequence[_Seen]) -> KeptState | None:
    """The state of a node over streams; None if it keeps none."""
    behind = {attribute: columns for one in reversed(below) for attribute, columns in one.behind.items()}
    known = {attribute: way for one in reversed(below) for attribute, way in one.made.items()}

    def by(operator: str, keys: Sequence[Node], values: tuple[str, ...] = ()) -> KeptState:
        texts = tuple(_text(_columns(one, behind)) for one in keys)
        return KeptState(operator, texts, values, tuple(_made(made(one, known)) for one in keys))

    if node.name == "Aggregate":
        functions = [one for given in expressions(node.fields["aggregateExpressions"]) for one in _functions(given)]
        values = {
            result: f"{one.children[0].name.lower()}({_text(_columns(one.children[0], behind))})"
            for result, one in functions
        }
        computed = {result: _computed(one, known) for result, one in functions}
        kept = by("aggregation", expressions(node.fields["groupingExpressions"]), tuple(values.values()))
        return replace(kept, computed=tuple(computed.values()))
    if node.name == "Distinct":
        return _by_output("distinct", below[0].output, below[0])
    if node.name in _DUPLICATES:
        return by(_DUPLICATES[node.name], expressions(node.fields["keys"]))
    if node.name in _OF_GROUPS:
        count, fields = node.fields.get("groupingAttributesLen"), tuple(_fields(node.fields.get("stateType")))
        if count is None:
            return by(_OF_GROUPS[node.name], expressions(node.fields["groupingAttributes"]), fields)
        return _by_output(_OF_GROUPS[node.name], below[0].output[: int(count)], below[0])
    if node.name == "Join" and len(below) == 2:
        sides = [tuple(_text(behind.get(one, frozenset())) for one in side.output) for side in below]
        pairs = _pairs(expressions(node.fields.get("condition")))
        keys = tuple(" = ".join(_text(_columns(side, behind)) for side in pair.children) for pair in pairs)
        ways = tuple(way for pair in pairs if (way := _equal(pair, below, known)) is not None)
        return KeptState("join", keys, (*sides[0], "|", *sides[1]), ways)
    return None


def _by_output(operator: str, output: Sequence[int], below: _Seen) -> KeptState:
    keys = tuple(_text(below.behind.get(one, frozenset())) for one in output)
    return KeptState(operator, keys, (), tuple(_made(below.made[one]) if one in below.made else "" for one in output))


def _fields(kind: object, above: str = "") -> Iterator[str]:
    """The names in a type, as Spark writes it, in order: `n`, `at`, `at.first`; none in one without fields."""
    if not isinstance(kind, Mapping):
        return
    for part in ("elementType", "keyType", "valueType"):
        yield from _fields(kind.get(part), above)
    for field in kind.get("fields", ()):
        name = f"{above}{field['name']}"
        yield name
        yield from _fields(field["type"], f"{name}.")


def _pairs(conditions: Sequence[Node]) -> list[Node]:
    """What a join needs to be equal."""
    found: list[Node] = []
    for condition in conditions:
        if condition.name == "And":
            found += _pairs(condition.children)
        elif condition.name in ("EqualTo", "EqualNullSafe"):
            found.append(condition)
    return found


def _equal(pair: Node, below: Sequence[_Seen], known: Mapping[int, Made]) -> str | None:
    """A key of a join, the side on the left first; None if it compares nothing of one side with the other."""
    outputs = [frozenset(side.output) for side in below]
    used = [{attribute_id(one) for one in within(side) if one.name == "AttributeReference"} for side in pair.children]
    for first, second in ((0, 1), (1, 0)):
        if used[first] and used[second] and used[first] <= outputs[0] and used[second] <= outputs[1]:
            return " = ".join(_made(made(pair.children[side], known)) for side in (first, second))
    return None


def _functions(expression: Node) -> Iterator[tuple[int, Node]]:
    """The aggregations in an expression, each with the identity of its result: it may be used more than once."""
    if expression.name == "AggregateExpression":
        yield int(expression.fields["resultId"]["id"]), expression
        return
    for child in expression.children:
        yield from _functions(child)


def _computed(aggregation: Node, known: Mapping[int, Made]) -> str:
    """`sum(abs(orders/value.n))`, and of which rows: a `FILTER` of SQL is the second child."""
    function, *conditions = aggregation.children
    of = ", ".join(_made(made(one, known)) for one in function.children)
    return " of rows with ".join([f"{function.name.lower()}({of})", *(_made(made(one, known)) for one in conditions)])


def _columns(expression: Node, behind: Mapping[int, Columns]) -> Columns:
    if expression.name == "AttributeReference":
        return behind.get(attribute_id(expression), frozenset({str(expression.fields["name"])}))
    found = frozenset[str]().union(*(_columns(child, behind) for child in expression.children))
    if expression.name == "GetStructField":
        return frozenset(f"{column}.{field_of(expression)}" for column in found)
    if expression.name in _BY_POSITION:
        where = ",".join(str(child.fields.get("value")) for child in expression.children if child.name == "Literal")
        return frozenset(f"{column}[{where}]" for column in found)
    if expression.name == "Alias" and any(one.name == "PreciseTimestampConversion" for one in within(expression)):
        return found | _windows(expression)
    return found


def _windows(expression: Node) -> Columns:
    """The lengths that make a window, which is a key like any other: Spark writes them as constants in its arithmetic."""
    constants = [one for one in within(expression) if one.name == "Literal" and one.fields.get("dataType") == "long"]
    seconds = sorted({int(str(one.fields["value"])) / 1e6 for one in constants} - {0.0})
    return frozenset({f"windows of {' and '.join(f'{length:g} s' for length in seconds)}"} if seconds else ())


def _text(columns: Columns) -> str:
    return "+".join(sorted(_NUMBERED.sub("", column) for column in columns)) or "a constant"


def _made(way: Made) -> str:
    return _NUMBERED.sub("", way.text)
