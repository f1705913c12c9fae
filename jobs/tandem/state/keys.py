"""From what a user writes as a key to a condition on the state's rows."""

import json
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from tandem.state.errors import BadKeyError


def parse_key(written: Sequence[str], key: StructType) -> dict[str, Any]:
    """The fields of a key and their values, of which not all need be given.

    `written` : one JSON object; or field=value, once for each field; or the bare value of a key that has one field
    only. A field of a struct is struct.field.
    `key` : the type of the operator's keys.

    Raises `BadKeyError`.
    """
    if len(written) == 1:
        text = written[0]
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        if isinstance(value, dict):
            return value
        name, equals, _ = text.partition("=")
        if not equals or (isinstance(value, str) and value is not text) or not _is_field(name, key):
            if len(key.fields) != 1:
                raise BadKeyError(f"{text} is no key: write field=value or a JSON object, with {_fields(key)}")
            return {key.fields[0].name: value if text.startswith('"') or value is None else text}
    found: dict[str, Any] = {}
    for one in written:
        name, equals, value = one.partition("=")
        if not equals:
            raise BadKeyError(f"{one} is no key: write field=value, with {_fields(key)}")
        _put(found, name, value, key)
    return found


def condition(spark: SparkSession, wanted: dict[str, Any], key: StructType, column: str = "key") -> Column:
    """What holds for rows with that key. Raises `BadKeyError` for unknown fields, and for values of another type."""
    return _struct(spark, F.col(column), wanted, key, "")


def _struct(spark: SparkSession, column: Column, wanted: dict[str, Any], kind: StructType, path: str) -> Column:
    conditions = []
    types = {field.name: field.dataType for field in kind.fields}
    for name, value in wanted.items():
        if name not in types:
            raise BadKeyError(f"the key has no field {path}{name}: it has {_fields(kind, path)}")
        conditions.append(_field(spark, column.getField(name), value, types[name], path + name))
    return reduce(and_, conditions, F.lit(True))


def _field(spark: SparkSession, column: Column, value: Any, kind: DataType, path: str) -> Column:
    if value is None:
        return column.isNull()
    if isinstance(kind, StructType):
        if not isinstance(value, dict):
            raise BadKeyError(f"{path} has fields: give one of {_fields(kind, path + '.')}")
        return _struct(spark, column, value, kind, path + ".")
    if isinstance(kind, ArrayType | MapType) or isinstance(value, dict | list):
        raise BadKeyError(f"{path} is {kind.simpleString()}: rows cannot be chosen by it")
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    literal = F.lit(text).try_cast(kind)
    if spark.range(1).select(literal.isNull()).first()[0]:  # type: ignore[index]
        raise BadKeyError(f"{path}: {text} is no {kind.simpleString()}")
    return column == literal


def _put(found: dict[str, Any], name: str, value: str, kind: StructType) -> None:
    first, dot, rest = name.partition(".")
    if name in kind.names or not dot:
        found[name] = value
    elif first in kind.names and isinstance(inner := kind[first].dataType, StructType):
        _put(found.setdefault(first, {}), rest, value, inner)
    else:
        raise BadKeyError(f"the key has no field {name}: it has {_fields(kind)}")


def _is_field(name: str, key: StructType) -> bool:
    return name.partition(".")[0] in key.names or len(key.fields) > 1


def _fields(kind: StructType, path: str = "") -> str:
    return ", ".join(f"{path}{field.name} ({field.dataType.simpleString()})" for field in kind.fields)
