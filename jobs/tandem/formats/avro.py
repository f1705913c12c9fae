"""Avro by fastavro: bytes by the schema that they were written with, into what the reader's schema says."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader
from fastavro.types import Schema

from tandem.formats.avro_defaults import convert_defaults
from tandem.formats.avro_depth import check_depth, refers_to_itself
from tandem.formats.avro_times import is_time, marked, times_in
from tandem.formats.avro_types import arrow_type, in_micros, is_decimal
from tandem.formats.framing import UndecodableError
from tandem.formats.schemas import RegisteredSchema, SchemaError

_MOST_WORDS: Final = 300

Check = Callable[[bytes], None]


class AvroReader:
    """Reads values by one reader's schema. Raises `SchemaError`: it is none, or Spark has no type for it.

    `read_type` : what Arrow makes of `read`'s values. `type`: the column's, with times in µs.
    """

    name = "Avro"

    def __init__(self, schema: RegisteredSchema) -> None:
        named: dict[str, Any] = {}
        self.read_type: pa.DataType = arrow_type(parsed(schema, named), named)
        self.type: pa.DataType = in_micros(self.read_type)
        self._times = _times(schema)
        self._reader, self._timed_reader = plain(schema), plain(schema, with_times=True)
        self._writers: dict[int, tuple[Schema, Schema, Check]] = {}

    def read(self, writer: RegisteredSchema, payload: bytes) -> Any:
        """A value, of plain Python types; times are numbers. Raises `UndecodableError`."""
        if writer.kind != "AVRO":
            raise UndecodableError(f"its schema {writer.id} is no Avro schema, but of the type {writer.kind}")
        stream = io.BytesIO(payload)
        try:
            known = self._writers.get(writer.id)
            if known is None:
                known = self._writers[writer.id] = (*self._schemas(writer), _check_of(writer))
            schema, reader, check = known
            check(payload)
            value = schemaless_reader(stream, schema, reader)
        except MemoryError:
            raise  # of this process, not of the record
        except Exception as error:  # of many types, by what is wrong with the bytes
            kind = "" if isinstance(error, UndecodableError) else f"{type(error).__name__}: "
            said = f"{kind}{error}".rstrip(": ")[:_MOST_WORDS]
            raise UndecodableError(f"it cannot be read by its schema {writer.id} and the reader's: {said}") from error
        if left := len(payload) - stream.tell():
            raise UndecodableError(f"there are {left} bytes behind the value that its schema {writer.id} describes")
        return value

    def _schemas(self, writer: RegisteredSchema) -> tuple[Schema, Schema]:
        """The writer's and the reader's. The times are looked at only where these have several kinds of them: it costs."""
        if len(self._times | _times(writer)) < 2:
            return plain(writer), self._reader
        return plain(writer, with_times=True), self._timed_reader


def parsed(schema: RegisteredSchema, named: dict[str, Any]) -> Any:
    """A schema with all names in full; the types that it names are put into `named`. Raises `SchemaError`."""
    return _parsed(schema, named, lambda tree: tree)


def plain(schema: RegisteredSchema, with_times: bool = False) -> Schema:
    """The schema by which values are read and written as they lie in bytes: with no logical types but decimals.

    fastavro would make Python's times of them, which end with the year 9999. `with_times`: with those of `avro_times`.
    Raises `SchemaError`.
    """
    named: dict[str, Any] = {}
    parsed_schema = _parsed(schema, named, lambda tree: _without_logical_types(tree, with_times))
    convert_defaults(parsed_schema, named)
    found: Schema = _marked(parsed_schema, named)
    return found


def _parsed(schema: RegisteredSchema, named: dict[str, Any], changed: Any) -> Any:
    if schema.kind != "AVRO":
        raise SchemaError(f"schema {schema.id} is no Avro schema, but of the type {schema.kind}")
    for _, other in _references(schema):
        _parse(other, named, changed)
    return _parse(schema, named, changed)


def _parse(schema: RegisteredSchema, named: dict[str, Any], changed: Any) -> Any:
    try:
        return parse_schema(changed(json.loads(schema.text)), named_schemas=named, _force=True)
    except Exception as error:
        raise SchemaError(f"schema {schema.id} is no Avro schema: {type(error).__name__}: {error}") from error


def _references(schema: RegisteredSchema) -> Iterator[tuple[str, RegisteredSchema]]:
    """Each schema that it needs, behind those that this one needs."""
    seen: set[str] = set()
    for name, other in schema.references:
        for inner, one in (*_references(other), (name, other)):
            if inner not in seen:
                seen.add(inner)
                yield inner, one


def _check_of(writer: RegisteredSchema) -> Check:
    """What looks at a payload before it is read. Raises `SchemaError`."""
    named: dict[str, Any] = {}
    tree = parsed(writer, named)
    if not refers_to_itself(tree, named):
        return lambda _: None
    return lambda payload: check_depth(tree, named, payload)


def _times(schema: RegisteredSchema) -> set[str]:
    """The logical types of its times. Raises `SchemaError`."""
    found: set[str] = set()

    def noted(tree: Any) -> Any:
        found.update(times_in(tree))
        return tree

    _parsed(schema, {}, noted)
    return found


def _marked(tree: Any, named: Mapping[str, Any]) -> Any:
    """As fastavro marks a record that it has parsed: other kinds it would parse for each value, and refuse defaults."""
    if isinstance(tree, list):
        return [_marked(one, named) for one in tree]
    return {**tree, "__fastavro_parsed": True, "__named_schemas": named} if isinstance(tree, dict) else tree


def _without_logical_types(tree: Any, with_times: bool) -> Any:
    if isinstance(tree, list):
        return [_without_logical_types(one, with_times) for one in tree]
    if not isinstance(tree, Mapping):
        return tree
    if with_times and is_time(tree):
        return marked(tree)
    kept = dict(tree) if is_decimal(tree) else {name: one for name, one in tree.items() if name != "logicalType"}
    return {name: one if name == "default" else _without_logical_types(one, with_times) for name, one in kept.items()}
