"""Protobuf messages of a row's values, by the descriptors of what the registry has as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from tandem.formats.columns import twice
from tandem.formats.framing import UnencodableError, framed_path
from tandem.formats.protobuf import descriptor_of, path_of
from tandem.formats.protobuf_types import TIMESTAMP, arrow_type, is_map
from tandem.formats.schemas import RegisteredSchema, SchemaError

_MOST_WORDS: Final = 300
_MOST_MISFITS: Final = 5
_NARROWER: Final = {
    pa.int32(): (pa.int8(), pa.int16()),
    pa.int64(): (pa.int8(), pa.int16(), pa.int32()),
    pa.float64(): (pa.float32(),),
}
"""Type of a field → other types of columns whose values it holds."""


class ProtobufWriter:
    """Writes structs of `kind`, times as numbers, as messages. Raises `SchemaError`: they do not fit it.

    `message` : full name; None: the first one of the file.
    """

    def __init__(self, schema: RegisteredSchema, kind: pa.DataType, message: str | None = None) -> None:
        descriptor = descriptor_of(schema, message)
        wrong = list(_misfits(kind, arrow_type(descriptor)))
        if wrong:
            raise SchemaError("; ".join(wrong[:_MOST_MISFITS]))
        self._class = GetMessageClass(descriptor)
        self._path = framed_path(path_of(descriptor))

    def write(self, value: Any) -> bytes:
        """The payload, with the message's place in its file. Raises `UnencodableError`."""
        try:
            message = self._class()
            _fill(message, value)
            return self._path + bytes(message.SerializeToString(deterministic=True))
        except MemoryError:
            raise  # of this process, not of the row
        except Exception as error:  # of many types, by what is wrong with the value
            said = f"{type(error).__name__}: {error}".rstrip(": ")[:_MOST_WORDS]
            raise UnencodableError(f"it cannot be written as a Protobuf message: {said}") from error


def _misfits(kind: pa.DataType, wanted: pa.DataType, path: str = "") -> Iterator[str]:
    at = f"the column {path}" if path else "the value"
    if pa.types.is_struct(kind) and pa.types.is_struct(wanted):
        fields, below = {field.name: field.type for field in wanted}, f"{path}." if path else ""
        yield from twice(kind, below)
        for field in kind:
            if field.name in fields:
                yield from _misfits(field.type, fields[field.name], f"{below}{field.name}")
            else:
                yield f"the schema has no field for the column {below}{field.name}"
    elif pa.types.is_list(kind) and pa.types.is_list(wanted):
        yield from _misfits(kind.value_type, wanted.value_type, f"{path}[]")
    elif pa.types.is_map(kind) and pa.types.is_map(wanted):
        yield from _misfits(kind.key_type, wanted.key_type, f"{path}{{}}")
        yield from _misfits(kind.item_type, wanted.item_type, f"{path}{{}}")
    elif kind != wanted and kind not in _NARROWER.get(wanted, ()):
        yield f"{at} is {kind}, and the schema has {wanted}"


def _fill(message: Any, value: Any) -> None:
    fields = message.DESCRIPTOR.fields_by_name
    for name, content in value.items():
        if content is None:
            continue
        field = fields[name]
        if field.containing_oneof is not None:
            _check_alone(message, field)
        if is_map(field):
            _fill_map(getattr(message, name), content, field.message_type.fields_by_name["value"])
        elif field.is_repeated:
            _fill_list(getattr(message, name), content, field)
        elif field.message_type is not None:
            _fill_message(getattr(message, name), content)
        else:
            setattr(message, name, _plain(content, field))


def _check_alone(message: Any, field: Any) -> None:
    other = message.WhichOneof(field.containing_oneof.name)
    if other is not None:
        raise UnencodableError(
            f"{other} and {field.name} are members of one oneof ({field.containing_oneof.name}), and both have a value"
        )


def _fill_map(target: Any, pairs: Any, field: Any) -> None:
    for key, one in pairs:
        if field.message_type is not None:
            _fill_message(target[key], one)
        else:
            target[key] = _plain(one, field)


def _fill_list(target: Any, values: Any, field: Any) -> None:
    for one in values:
        if field.message_type is not None:
            _fill_message(target.add(), one)
        else:
            target.append(_plain(one, field))


def _fill_message(message: Any, content: Any) -> None:
    message.SetInParent()
    if message.DESCRIPTOR.full_name == TIMESTAMP:
        message.seconds, micros = divmod(content, 1_000_000)
        message.nanos = micros * 1_000
    else:
        _fill(message, content)


def _plain(content: Any, field: Any) -> Any:
    if field.enum_type is not None:
        return _number_of(content, field.enum_type)
    return int(content) if field.cpp_type == field.CPPTYPE_UINT64 else content


def _number_of(name: str, enum: Any) -> int:
    """Of an enum's value. One that its schema does not know is read as its number, and is written so."""
    known = enum.values_by_name.get(name)
    if known is not None:
        return int(known.number)
    if not enum.is_closed and name.removeprefix("-").isdecimal():
        return int(name)
    raise UnencodableError(f"the enum {enum.full_name} has no value {name}")
