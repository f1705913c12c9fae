"""Protobuf messages, without classes of their own: by the descriptors of what the registry has as text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from tandem.formats.framing import UndecodableError, message_path
from tandem.formats.protobuf_files import compiled, messages
from tandem.formats.protobuf_types import arrow_type, content
from tandem.formats.schemas import RegisteredSchema, SchemaError

_MOST_WORDS = 300


class ProtobufReader:
    """Reads messages by one reader's schema. Raises `SchemaError`: it is none, or Spark has no type for it.

    `message` : full name; None: the first one of the file.
    """

    name = "Protobuf"

    def __init__(self, schema: RegisteredSchema, message: str | None = None) -> None:
        self._descriptor = descriptor_of(schema, message)
        self._class = GetMessageClass(self._descriptor)
        self.type: pa.DataType = arrow_type(self._descriptor)
        self.read_type = self.type

    def read(self, writer: RegisteredSchema, payload: bytes) -> Any:
        """A message as plain Python types. Raises `UndecodableError`."""
        path, payload = message_path(payload)
        written = _message_at(writer, path)
        if written != self._descriptor.full_name:
            raise UndecodableError(f"it is a {written}, and the source reads {self._descriptor.full_name}")
        try:
            return content(self._class.FromString(payload))
        except Exception as error:  # protobuf's own, of several types
            said = f"{type(error).__name__}: {error}".rstrip(": ")[:_MOST_WORDS]
            raise UndecodableError(f"it is no {self._descriptor.full_name}: {said}") from error


def descriptor_of(schema: RegisteredSchema, message: str | None) -> Any:
    """A message's descriptor by its full name; None: the first one of the file. Raises `SchemaError`."""
    file = compiled(schema)
    if message is not None:
        return _named(schema, file, message)
    found = messages(file)
    if not found:
        raise SchemaError(f"schema {schema.id} has no message")
    return found[0]


def _named(schema: RegisteredSchema, file: Any, message: str) -> Any:
    names = ", ".join(one.full_name for one in messages(file)) or "none"
    try:
        found = file.pool.FindMessageTypeByName(message)
    except KeyError as error:
        raise SchemaError(f"schema {schema.id} has no message {message}, but {names}") from error
    if found.file.name != file.name:  # records name a message by its place in their own schema's file
        raise SchemaError(
            f"schema {schema.id} has no message {message}, but {names}: {message} is defined in {found.file.name}, which it "
            "imports. Give the schema of that file, or a message of this one that has it as a field"
        )
    return found


def path_of(descriptor: Any) -> list[int]:
    """Where a message stands in its file: see `framing.message_path`."""
    outer = descriptor.containing_type
    siblings = messages(descriptor.file) if outer is None else list(outer.nested_types)
    index = [one.full_name for one in siblings].index(descriptor.full_name)
    return [index] if outer is None else [*path_of(outer), index]


def _message_at(writer: RegisteredSchema, path: list[int]) -> str:
    try:
        found = messages(compiled(writer))
        message = found[path[0]]
        for index in path[1:]:
            message = message.nested_types[index]
    except SchemaError as error:
        raise UndecodableError(str(error)) from error
    except IndexError as error:
        raise UndecodableError(f"its schema {writer.id} has no message at {path}") from error
    return str(message.full_name)
