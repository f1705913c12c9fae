"""Which type a column has by its Protobuf field, and what of a message goes into it. Pure.

As Spark's `from_protobuf` with `emit.default.values`; but numbers without a sign keep all their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from tandem.formats.schemas import SchemaError

_UINT64: Final = pa.decimal128(20, 0)
_PLAIN: Final = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: _UINT64,
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
}
TIMESTAMP: Final = "google.protobuf.Timestamp"


def arrow_type(message: Any, above: tuple[str, ...] = ()) -> pa.DataType:
    """The struct that messages of a descriptor become. Raises `SchemaError`."""
    if message.full_name in above:
        raise SchemaError(f"there is a {message.full_name} within another, and Spark has no type for that")
    return pa.struct(list(_fields(message, (*above, message.full_name))))


def is_map(field: Any) -> bool:
    """Whether a field is declared as a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def content(message: Any) -> dict[str, Any]:
    """A message as plain Python types; null for a field with presence that is not set."""
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _fields(message: Any, above: tuple[str, ...]) -> Iterator[pa.Field]:
    seen: dict[str, str] = {}
    for field in message.fields:
        if (other := seen.setdefault(field.name.lower(), field.name)) != field.name:
            raise SchemaError(f"the fields {other} and {field.name} differ only in case, which Spark ignores")
        yield pa.field(field.name, _type(field, above))
    if not seen:
        raise SchemaError(f"the message {message.full_name} has no fields, and a struct of Spark needs one")


def _type(field: Any, above: tuple[str, ...]) -> pa.DataType:
    if is_map(field):
        entry = field.message_type.fields_by_name
        return pa.map_(_of_one(entry["key"], above), _of_one(entry["value"], above))
    return pa.list_(_of_one(field, above)) if field.is_repeated else _of_one(field, above)


def _of_one(field: Any, above: tuple[str, ...]) -> pa.DataType:
    if field.message_type is not None:
        if field.message_type.full_name == TIMESTAMP:
            return pa.timestamp("us", tz="UTC")
        return arrow_type(field.message_type, above)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return pa.binary() if field.type == FieldDescriptor.TYPE_BYTES else pa.string()
    return _PLAIN[field.cpp_type]


def _field(message: Any, field: Any) -> Any:
    if is_map(field):
        value = field.message_type.fields_by_name["value"]
        return [(key, _value(one, value)) for key, one in sorted(getattr(message, field.name).items())]
    if field.is_repeated:
        return [_value(one, field) for one in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _value(getattr(message, field.name), field)


def _value(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == TIMESTAMP:
            return value.seconds * 1_000_000 + value.nanos // 1_000
        return content(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    return Decimal(value) if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else value
