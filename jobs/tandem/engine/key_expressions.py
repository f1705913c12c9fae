"""What a column is computed from the inputs by, as a text that says the same of every way to write the same. Pure.

Names, aliases, projections in between, the order of operands and what only takes more care (`coalesce`, `trim`, `try_cast`,
tests for null and empty text) are left out: who corrects code goes on from the state. Other functions, constants and
lengths of windows are in it: `upper(id)` is another key than `id`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tandem.engine.plan_tree import Node

FORM: Final = 1
"""Of these texts. Those of another form, or made of the plans of another Spark, are not compared."""

_TRANSPARENT: Final = frozenset(
    {"Alias", "CheckOverflow", "KnownFloatingPointNormalized", "KnownNotNull", "KnownNullable", "NormalizeNaNAndZero"}
    | {"PreciseTimestampConversion", "PromotePrecision", "TempResolvedColumn", "TryEval"}
)
_CARE: Final = frozenset({"Coalesce", "NaNvl", "StringTrim", "StringTrimLeft", "StringTrimRight", "StringTrimBoth"})
_IN_ANY_ORDER: Final = frozenset(
    {
        "Add",
        "And",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "EqualNullSafe",
        "EqualTo",
        "Greatest",
        "Least",
        "Multiply",
        "Or",
    }
)
_OF_ANY_NUMBER: Final = frozenset({"Add", "And", "Multiply", "Or"})
_TURNED: Final = {"GreaterThan": "LessThan", "GreaterThanOrEqual": "LessThanOrEqual"}
_PARSED: Final = frozenset({"CsvToStructs", "JsonToStructs"})
_FUNCTIONS_OF_PYTHON: Final = frozenset({"PythonUDF", "PythonUDAF", "ScalaUDF"})
_UNITS: Final = {"yyyy": "year", "yy": "year", "mm": "month", "mon": "month", "dd": "day"}
_NO_PART: Final = frozenset({"class", "name", "num-children", "timeZoneId", "udfName", "zoneId"})
"""Fields of expressions that say nothing about their values."""


@dataclass(frozen=True, slots=True)
class Made:
    """How a column is made, and the columns of the inputs in it (none: a constant).

    `read`: it is a column of an input as it is; `read_as`: the type that a cast gave it. Whether a field has its type from
    the schema or from a cast is the same; a cast of a cast is not.
    """

    text: str
    columns: frozenset[str] = frozenset()
    read: bool = False
    read_as: str = ""


def column(name: str) -> Made:
    """A column of an input, or of what a function gives."""
    return Made(name, frozenset({name}), read=True)


def either(ways: Sequence[Made]) -> Made:
    """A column that is made in one of several ways, as that of a union."""
    texts = sorted({way.text for way in ways})
    if len(texts) == 1:
        return ways[0]
    return Made(" or ".join(texts), frozenset[str]().union(*(way.columns for way in ways)))


def made(expression: Node, known: Mapping[int, Made]) -> Made:
    """How an expression is made; `known`: the attributes that it may use, by their ids."""
    if expression.name == "AttributeReference":
        return known.get(attribute_id(expression), column(str(expression.fields["name"])))
    if expression.name == "Literal":
        return Made(_constant(expression))
    if expression.name in ("NamedLambdaVariable", "LambdaVariable"):
        return Made("it")
    if expression.name == "AggregateExpression":
        function = expression.children[0]
        columns = made(function, known).columns
        return Made(f"{function.name.lower()}({'+'.join(sorted(columns))})", columns)
    if expression.name == "CreateNamedStruct" and (found := _window(expression, known)) is not None:
        return found
    parts = [made(child, known) for child in expression.children]
    return _of_parts(expression, parts)


def attribute_id(expression: Node) -> int:
    """What Spark knows an attribute, or an alias, by."""
    return int(expression.fields.get("exprId", {}).get("id", -1))


def field_of(getting: Node) -> str:
    """The name of the field that a `GetStructField` takes."""
    fields = _fields(getting.children[0])
    ordinal = int(getting.fields["ordinal"])
    return str(fields[ordinal]["name"]) if ordinal < len(fields) else f"#{ordinal}"


def within(expression: Node) -> Iterator[Node]:
    """The expression and all in it."""
    yield expression
    for child in expression.children:
        yield from within(child)


def _of_parts(expression: Node, parts: list[Made]) -> Made:
    name = expression.name
    columns = frozenset[str]().union(*(part.columns for part in parts))
    if name in _TRANSPARENT or "replacement" in expression.fields:
        return parts[0]
    if name == "Cast":
        return _cast(parts[0], _type(expression.fields.get("dataType")))
    if name in _PARSED and parts[0].read:
        return replace(parts[0], read_as="")
    if name == "GetStructField":
        return _part_of(parts[0], f".{field_of(expression)}")
    if name in ("GetArrayItem", "GetMapValue", "ElementAt"):
        return Made(f"{parts[0].text}[{_place(name, parts[1].text)}]", columns)
    if name == "GetJsonObject" and parts[0].read and parts[1].text.startswith("'$."):
        return _part_of(parts[0], parts[1].text.strip("'")[1:])
    careful = _careful(expression, parts)
    if careful is not None:
        return careful
    if name in _FUNCTIONS_OF_PYTHON:
        return Made(f"function({', '.join(part.text for part in parts)})", columns)
    if name in ("TruncDate", "TruncTimestamp"):
        parts = [part if part.columns else Made(_unit(part.text)) for part in parts]
    return Made(_called(expression, [part.text for part in parts]), columns)


def _cast(of: Made, kind: str) -> Made:
    if of.read and not of.read_as:
        return replace(of, read_as=kind)
    inner = f"cast({of.text} as {of.read_as})" if of.read_as else of.text
    return of if of.read_as == kind else Made(f"cast({inner} as {kind})", of.columns)


def _part_of(whole: Made, path: str) -> Made:
    return Made(whole.text + path, frozenset(f"{one}{path}" for one in whole.columns), whole.read)


def _place(name: str, place: str) -> str:
    """`element_at` counts from one."""
    return str(int(place) - 1) if name == "ElementAt" and place.isdigit() and int(place) > 0 else place


def _careful(expression: Node, parts: Sequence[Made]) -> Made | None:
    """What an expression only takes care of: the same value, but for those that are null, empty or not to be read."""
    values: Sequence[Made] = parts
    if expression.name == "If":
        tests, values = expression.children[:1], parts[1:]
    elif expression.name == "CaseWhen":
        pairs = len(parts) // 2 * 2
        tests, values = expression.children[0:pairs:2], [*parts[1:pairs:2], *parts[pairs:]]
    elif expression.name in _CARE:
        tests = []
    else:
        return None
    kept = {value.text: value for value in values if value.columns}
    return next(iter(kept.values())) if len(kept) == 1 and all(_is_of_care(test) for test in tests) else None


def _is_of_care(test: Node) -> bool:
    """Whether a condition only asks for null, NaN, or empty text."""
    if test.name in ("And", "Or", "Not") or test.name in _TRANSPARENT:
        return all(_is_of_care(part) for part in test.children)
    if test.name in ("EqualTo", "GreaterThan", "LessThan"):
        constants = [_constant(side) for side in test.children if side.name == "Literal"]
        lengths = any(side.name == "Length" for side in test.children)
        return constants == ["''"] or (constants == ["0"] and lengths)
    return test.name in ("IsNull", "IsNotNull", "IsNaN")


def _called(expression: Node, parts: list[str]) -> str:
    """As a call. What is no child, but a text or number of the expression itself, is in it, too."""
    name = expression.name
    if name in _TURNED:
        name, parts = _TURNED[name], parts[::-1]
    if name in _OF_ANY_NUMBER:
        parts = [one for part in parts for one in _operands(name, part)]
    if name in _IN_ANY_ORDER:
        parts = sorted(parts)
    elif name == "In":
        parts = [parts[0], *sorted(set(parts[1:]))]
    more = [
        f"{field}={value}"
        for field, value in sorted(expression.fields.items())
        if field not in _NO_PART and _is_own(value, len(expression.children))
    ]
    return f"{name.lower()}({', '.join([*parts, *more])})"


def _operands(name: str, part: str) -> list[str]:
    """Those of `a + b` in `(a + b) + c`."""
    head = f"{name.lower()}("
    if not part.startswith(head) or not part.endswith(")"):
        return [part]
    found, depth, begun = [], 0, len(head)
    for place in range(len(head), len(part) - 1):
        depth += {"(": 1, ")": -1}.get(part[place], 0)
        if depth == 0 and part.startswith(", ", place):
            found.append(part[begun:place])
            begun = place + 2
    return [*found, part[begun:-1]] if depth == 0 else [part]


def _is_own(value: object, children: int) -> bool:
    """Whether it is no child, whose places Spark writes as numbers, and no setting that may be on or off."""
    if isinstance(value, bool):
        return False
    return isinstance(value, (str, float)) or (isinstance(value, int) and value >= max(children, 2))


def _constant(literal: Node) -> str:
    value, kind = literal.fields.get("value"), str(literal.fields.get("dataType"))
    if value is None:
        return "null"
    return f"'{value}'" if kind == "string" else str(value)


def _unit(text: str) -> str:
    unit = text.strip("'").lower()
    return _UNITS.get(unit, unit)


def _type(written: object) -> str:
    """Of structs, arrays and maps the kind only: what is in them may be nullable or not."""
    return str(written.get("type")) if isinstance(written, dict) else str(written)


def _window(expression: Node, known: Mapping[int, Made]) -> Made | None:
    """A window of time, which Spark writes as arithmetic with its lengths; None if it is none, or one that is not known."""
    times = [one for one in within(expression) if one.name == "PreciseTimestampConversion"]
    constants = [int(str(one.fields["value"])) for one in within(expression) if _is_long(one)]
    if not times or len(constants) < 4:
        return None
    start, slide, length = constants[0], constants[1], constants[-1]
    of = next(made(one.children[0], known) for one in times if one.fields.get("fromType") == "timestamp")
    words = f"windows of {length / 1e6:g} s each {slide / 1e6:g} s from {start / 1e6:g} s over {of.text}"
    return Made(words, of.columns)


def _is_long(expression: Node) -> bool:
    return expression.name == "Literal" and expression.fields.get("dataType") == "long"


def _fields(expression: Node) -> Sequence[Mapping[str, Any]]:
    """Of an expression that is a struct, as far as what Spark writes shows them."""
    if expression.name == "GetStructField":
        outer, ordinal = _fields(expression.children[0]), int(expression.fields["ordinal"])
        kind: Any = outer[ordinal]["type"] if ordinal < len(outer) else None
    else:
        kind = expression.fields.get("dataType") or expression.fields.get("schema")
    return kind["fields"] if isinstance(kind, dict) and "fields" in kind else ()
