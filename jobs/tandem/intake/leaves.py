"""The plain values in a JSON text, each with the type that the schema has for it: for values that Spark must not read."""

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from tandem.intake.documents import is_deep


class _Pairs(list[tuple[str, Any]]):
    """An object's fields, those of one name included: the parser converts each of them."""


class NotPlainError(ValueError):
    """A text that Spark may read, but Python does not."""


def leaves(value: bytes, schema: DataType) -> Iterator[tuple[str, DataType]]:
    """Texts and numbers, as texts, and the types that they are meant as. Raises `NotPlainError` at once."""
    if is_deep(value):
        raise NotPlainError("in a text that is nested deeply")
    try:
        document = json.loads(
            value.decode(errors="replace"), parse_float=str, parse_int=str, object_pairs_hook=_Pairs, strict=False
        )
    except ValueError as error:
        raise NotPlainError("in a text that is not plain JSON") from error
    return _leaves(document, schema)


def has(kind: DataType, wanted: type[DataType]) -> bool:
    """Whether a type is anywhere in another."""
    return isinstance(kind, wanted) or any(has(inner, wanted) for _, inner in _inner(kind))


def _leaves(content: Any, kind: DataType) -> Iterator[tuple[str, DataType]]:
    if isinstance(content, str):
        yield content, kind
    elif isinstance(content, _Pairs):
        types = dict(_inner(kind))
        for name, inner in content:
            if (expected := types.get(name, types.get(None))) is not None:
                yield from _leaves(inner, expected)
    elif isinstance(content, list) and isinstance(kind, ArrayType):
        for inner in content:
            yield from _leaves(inner, kind.elementType)


def _inner(kind: DataType) -> list[tuple[str | None, DataType]]:
    """The types in a type: those of a struct by their names."""
    if isinstance(kind, StructType):
        return [(field.name, field.dataType) for field in kind.fields]
    if isinstance(kind, ArrayType):
        return [(None, kind.elementType)]
    return [(None, kind.valueType)] if isinstance(kind, MapType) else []
