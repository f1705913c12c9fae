"""Numbers that a DECIMAL cannot hold, and that Spark's parser would write out for minutes: 1e99999999."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from tandem.intake.documents import is_deep

_LONG_EXPONENT: Final = r"[0-9.][eE][+-]?[0-9]{5,}|\\u00(?:3|45|65|2[bBdDeE])|[eE][+-]?[^\x00-\x7f]"
"""Also as escapes, and with the digits of other scripts, which Java takes in a text."""
_NUMBER: Final = re.compile(r"[+-]?[\d.]+[eE][+-]?\d{5,}")
"""A DECIMAL has 38 digits, and the parser takes 1,000: with such an exponent, no number of them is one."""


class _Pairs(list[tuple[str, Any]]):
    """An object's fields, those of one name included: the parser converts each of them."""


def has_decimals(kind: DataType) -> bool:
    """Whether a DECIMAL is anywhere in a type."""
    return isinstance(kind, DecimalType) or any(has_decimals(inner) for _, inner in _inner(kind))


def suspects(values: pa.Array) -> list[int]:
    """The rows of `values` (BINARY) that are worth a closer look."""
    found = pc.match_substring_regex(values, _LONG_EXPONENT)
    return [int(row) for row in pc.indices_nonzero(found).to_pylist()]


def oversized(value: bytes, schema: DataType) -> str | None:
    """The first number in a JSON text that is meant as a DECIMAL and has such an exponent; None if there is none."""
    if is_deep(value):
        return "in a text that is nested deeply"
    try:
        document = json.loads(
            value.decode(errors="replace"), parse_float=str, parse_int=str, object_pairs_hook=_Pairs, strict=False
        )
    except ValueError:
        return "in a text that is not plain JSON"
    return next(_numbers(document, schema), None)


def _numbers(content: Any, kind: DataType) -> Iterator[str]:
    if isinstance(kind, DecimalType):
        if isinstance(content, str) and _NUMBER.fullmatch(content.strip()):
            yield content.strip()
    elif isinstance(content, _Pairs):
        types = dict(_inner(kind))
        for name, inner in content:
            if (expected := types.get(name, types.get(None))) is not None:
                yield from _numbers(inner, expected)
    elif isinstance(content, list) and isinstance(kind, ArrayType):
        for inner in content:
            yield from _numbers(inner, kind.elementType)


def _inner(kind: DataType) -> list[tuple[str | None, DataType]]:
    """The types in a type: those of a struct by their names."""
    if isinstance(kind, StructType):
        return [(field.name, field.dataType) for field in kind.fields]
    if isinstance(kind, ArrayType):
        return [(None, kind.elementType)]
    return [(None, kind.valueType)] if isinstance(kind, MapType) else []
