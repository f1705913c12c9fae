"""Which type a column has by its Avro schema: as Spark's `from_avro` converts them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from tandem.formats.schemas import SchemaError

_PLAIN: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_LOGICAL: Final = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}
_DIGITS: Final = 38
_WIDER: Final = ({"int", "long"}, {"float", "double"})


def arrow_type(schema: Any, named: Mapping[str, Any]) -> pa.DataType:
    """The type of a parsed schema's values, times in the schema's own units; see `in_micros`. Raises `SchemaError`.

    `named` : full name → definition, of all named types.
    """
    return _type(schema, named, "", ())


def in_micros(kind: pa.DataType) -> pa.DataType:
    """The same type with all times in µs, as Spark has them."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(in_micros(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, in_micros(kind.item_type))
    return pa.list_(in_micros(kind.value_type)) if pa.types.is_list(kind) else kind


def is_decimal(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is that of decimal numbers that Spark can hold."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    return (
        schema.get("logicalType") == "decimal"
        and schema.get("type") in ("bytes", "fixed")
        and isinstance(precision, int)
        and isinstance(scale, int)
        and 0 < precision <= _DIGITS
        and 0 <= scale <= precision
    )


def branches(union: list[Any]) -> list[Any]:
    """What a union may be beside null."""
    return [one for one in union if one != "null"]


def _type(schema: Any, named: Mapping[str, Any], path: str, above: tuple[str, ...]) -> pa.DataType:
    if isinstance(schema, list):
        return _union(schema, named, path, above)
    if isinstance(schema, str):
        if schema in _PLAIN:
            return _PLAIN[schema]
        if schema not in named:
            raise SchemaError(f"{_at(path)} has the type {schema}, for which there is no column")
        schema = named[schema]
    kind = schema["type"]
    if is_decimal(schema):
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    if (kind, schema.get("logicalType")) in _LOGICAL:
        return _LOGICAL[kind, schema["logicalType"]]
    if kind == "array":
        return pa.list_(_type(schema["items"], named, f"{path}[]", above))
    if kind == "map":
        return pa.map_(pa.string(), _type(schema["values"], named, f"{path}{{}}", above))
    if kind in ("record", "error"):
        if schema["name"] in above:
            raise SchemaError(f"{_at(path)} is a {schema['name']} within another, and Spark has no type for that")
        return pa.struct(_fields(schema, named, path, (*above, schema["name"])))
    return _type(kind, named, path, above)


def _fields(
    schema: Mapping[str, Any], named: Mapping[str, Any], path: str, above: tuple[str, ...]
) -> Iterator[pa.Field]:
    seen: dict[str, str] = {}
    for field in schema["fields"]:
        name = field["name"]
        if (other := seen.setdefault(name.lower(), name)) != name:
            raise SchemaError(f"the fields {other} and {name} differ only in case, which Spark ignores")
        yield pa.field(name, _type(field["type"], named, f"{path}.{name}" if path else name, above))


def _union(union: list[Any], named: Mapping[str, Any], path: str, above: tuple[str, ...]) -> pa.DataType:
    found = [_type(one, named, path, above) for one in branches(union)]
    if len(found) == 1:
        return found[0]
    kinds = {one for one in branches(union) if isinstance(one, str)}
    if len(kinds) == len(found) == 2:
        for wider in _WIDER:
            if kinds == wider:
                return pa.int64() if "long" in wider else pa.float64()
    raise SchemaError(f"{_at(path)} may be of several types, for which Spark has no column: {union}")


def _at(path: str) -> str:
    return f"the field {path}" if path else "it"
