"""Where in a JSON document something is not of its column's type, as far as its kind tells; in words of paths. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

_BITS: Final[dict[type[DataType], int]] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_NO_NUMBERS: Final = ("NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF")


def misfits(document: Any, kind: DataType, path: str = "") -> Iterator[tuple[str, Any]]:
    """The path and the content of each part that Spark's parser does not take for its type.

    Texts that are to become times, binary or decimal numbers are not looked into: what is named here is wrong, and what
    is not named may be.

    >>> list(misfits({"a": [1, "x"]}, StructType().add("a", ArrayType(IntegerType()))))
    [('a[1]', 'x')]
    """
    if document is None:
        return
    if isinstance(kind, StructType):
        if not isinstance(document, dict):
            yield path, document
            return
        for field in kind.fields:
            inner = f"{path}.{field.name}" if path else field.name
            yield from misfits(document.get(field.name), field.dataType, inner)
    elif isinstance(kind, ArrayType):
        if not isinstance(document, list):
            yield path, document
            return
        for index, element in enumerate(document):
            yield from misfits(element, kind.elementType, f"{path}[{index}]")
    elif isinstance(kind, MapType):
        if not isinstance(document, dict):
            yield path, document
            return
        for key, value in document.items():
            yield from misfits(value, kind.valueType, f"{path}[{key}]")
    elif not _fits(document, kind):
        yield path, document


def is_told_by_kind(kind: DataType) -> bool:
    """Whether `misfits` finds all that is wrong with a value of this type."""
    if isinstance(kind, StructType):
        return all(is_told_by_kind(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return is_told_by_kind(kind.elementType)
    if isinstance(kind, MapType):
        return is_told_by_kind(kind.valueType)
    return isinstance(kind, BooleanType | DoubleType | FloatType | StringType) or type(kind) in _BITS


def _fits(content: Any, kind: DataType) -> bool:
    is_number = isinstance(content, int | float) and not isinstance(content, bool)
    if isinstance(kind, BooleanType):
        return isinstance(content, bool)
    if isinstance(kind, DoubleType | FloatType):
        return is_number or content in _NO_NUMBERS
    bits = _BITS.get(type(kind))
    if bits is not None:
        return is_number and isinstance(content, int) and -(2 ** (bits - 1)) <= content < 2 ** (bits - 1)
    return True
