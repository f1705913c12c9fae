"""An Avro schema made from columns, and whether columns fit one that there is: as Spark's `to_avro` converts them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from tandem.formats.avro_types import branches, is_decimal
from tandem.formats.columns import twice
from tandem.formats.schemas import SchemaError

_PLAIN: Final = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.binary(): "bytes",
    pa.string(): "string",
    pa.date32(): {"type": "int", "logicalType": "date"},
}
_MICROS, _LOCAL_MICROS = "timestamp-micros", "local-timestamp-micros"
_TIMES: Final = {True: (_MICROS, "timestamp-millis"), False: (_LOCAL_MICROS, "local-timestamp-millis")}
"""Whether a time has a zone → the logical types that hold it."""
_HELD_BY: Final = {
    "boolean": ("boolean",),
    "int": ("int", "long", "double"),
    "long": ("long",),
    "float": ("float", "double"),
    "double": ("double",),
    "bytes": ("bytes", "fixed"),
    "string": ("string", "enum"),
}
"""Kind of a column → the kinds of Avro that can have its values."""


def made(kind: pa.DataType, name: str) -> str:
    """The schema of values of a type, as JSON; all that may be null in Spark may be null in it.

    `name` : of the record. Raises `SchemaError`: Avro has no such type.
    """
    return json.dumps(_schema(kind, name), separators=(",", ":"))


def misfits(kind: pa.DataType, schema: Any, named: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Why values of a type cannot be written by a parsed schema, in words; nothing: they can."""
    at = f"the column {path}" if path else "the value"
    if isinstance(schema, list):
        found = [list(misfits(kind, one, named, path)) for one in branches(schema)]
        if all(found):
            yield from found[0] if len(found) == 1 else (f"{at} fits none of the types {schema}",)
        return
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    tree = {"type": schema} if isinstance(schema, str) else schema
    if pa.types.is_struct(kind) and tree["type"] in ("record", "error"):
        yield from _misfits_of_record(kind, tree, named, path)
    elif pa.types.is_list(kind) and tree["type"] == "array":
        yield from misfits(kind.value_type, tree["items"], named, f"{path}[]")
    elif pa.types.is_map(kind) and pa.types.is_string(kind.key_type) and tree["type"] == "map":
        yield from misfits(kind.item_type, tree["values"], named, f"{path}{{}}")
    elif not _holds(tree, kind):
        yield f"{at} is {kind}, and the schema has {tree.get('logicalType') or tree['type']}"


def _misfits_of_record(
    kind: pa.DataType, schema: Mapping[str, Any], named: Mapping[str, Any], path: str
) -> Iterator[str]:
    columns = {field.name: field.type for field in kind}
    below = f"{path}." if path else ""
    yield from twice(kind, below)
    for field in schema["fields"]:
        if field["name"] in columns:
            yield from misfits(columns[field["name"]], field["type"], named, f"{below}{field['name']}")
        elif "default" not in field:
            yield f"there is no column {below}{field['name']}, which the schema has without a default"
    for name in columns.keys() - {field["name"] for field in schema["fields"]}:
        yield f"the schema has no field for the column {below}{name}"


def _holds(schema: Mapping[str, Any], kind: pa.DataType) -> bool:
    logical = schema.get("logicalType")
    if pa.types.is_timestamp(kind):
        return schema["type"] == "long" and logical in _TIMES[kind.tz is not None]
    if pa.types.is_decimal(kind):
        return is_decimal(schema) and (schema["precision"], schema.get("scale", 0)) == (kind.precision, kind.scale)
    if pa.types.is_date32(kind):
        return schema["type"] == "int" and logical == "date"
    plain = _PLAIN.get(kind)
    is_plain = logical is None or (logical not in ("date", "decimal", *_TIMES[True], *_TIMES[False]))
    return isinstance(plain, str) and is_plain and schema["type"] in _HELD_BY[plain]


def _schema(kind: pa.DataType, name: str) -> Any:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": _TIMES[kind.tz is not None][0]}
    if pa.types.is_list(kind):
        return {"type": "array", "items": _nullable(kind.value_type, f"{name}_element")}
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return {"type": "map", "values": _nullable(kind.item_type, f"{name}_value")}
    if pa.types.is_struct(kind) and kind.num_fields:
        fields = [
            {"name": _name(field.name), "type": _nullable(field.type, f"{name}_{field.name}"), "default": None}
            for field in kind
        ]
        return {"type": "record", "name": name, "fields": fields}
    raise SchemaError(f"Avro has no type for {kind}, of {name}")


def _name(column: str) -> str:
    if not (column.isascii() and column.isidentifier()):
        raise SchemaError(f"the column {column!r} cannot be a field of Avro: rename it to letters, digits and _")
    return column


def _nullable(kind: pa.DataType, name: str) -> list[Any]:
    return ["null", _schema(kind, name)]
