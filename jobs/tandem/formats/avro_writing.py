"""Avro by fastavro: a row's values into the bytes that a schema describes."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from fastavro import schemaless_writer

from tandem.formats.avro import parsed, plain
from tandem.formats.avro_made import misfits
from tandem.formats.avro_types import branches
from tandem.formats.framing import UnencodableError
from tandem.formats.schemas import RegisteredSchema, SchemaError

_MOST_WORDS: Final = 300
_MOST_MISFITS: Final = 5

Convert = Callable[[Any], Any]


class AvroWriter:
    """Writes values of `kind`, times as numbers, by one schema. Raises `SchemaError`: they do not fit it."""

    def __init__(self, schema: RegisteredSchema, kind: pa.DataType) -> None:
        named: dict[str, Any] = {}
        tree = parsed(schema, named)
        wrong = list(misfits(kind, tree, named))
        if wrong:
            raise SchemaError("; ".join(wrong[:_MOST_MISFITS]))
        self._schema = plain(schema)
        self._convert = _converter(kind, tree, named)

    def write(self, value: Any) -> bytes:
        """The payload. Raises `UnencodableError`."""
        stream = io.BytesIO()
        try:
            schemaless_writer(stream, self._schema, self._convert(value))
        except MemoryError:
            raise  # of this process, not of the row
        except Exception as error:  # of many types, by what is wrong with the value
            said = f"{type(error).__name__}: {error}".rstrip(": ")[:_MOST_WORDS]
            raise UnencodableError(f"it cannot be written by the Avro schema: {said}") from error
        return stream.getvalue()


def _converter(kind: pa.DataType, schema: Any, named: Mapping[str, Any], names: bool = True) -> Convert:
    """Makes of Arrow's values those that fastavro takes: maps as dicts, times in the schema's units.

    `names` : in a union, a value comes with the name of its type. fastavro would take the first that has the value, and an
    integer is a `double`, too.
    """
    if isinstance(schema, list):
        return _of_union(kind, schema, named, names)
    tree = named.get(schema, {"type": schema}) if isinstance(schema, str) else schema
    if pa.types.is_struct(kind):
        types = {field["name"]: field["type"] for field in tree["fields"]}
        fields = {field.name: _converter(field.type, types[field.name], named, names) for field in kind}
        return lambda value: {name: convert(value[name]) for name, convert in fields.items()}
    if pa.types.is_list(kind):
        element = _converter(kind.value_type, tree["items"], named, names)
        return lambda value: [element(one) for one in value]
    if pa.types.is_map(kind):
        item = _converter(kind.item_type, tree["values"], named, names)
        return lambda value: {key: item(one) for key, one in value}
    if pa.types.is_timestamp(kind) and str(tree["logicalType"]).endswith("millis"):
        return lambda value: value // 1_000
    return lambda value: value


def _of_union(kind: pa.DataType, union: list[Any], named: Mapping[str, Any], names: bool) -> Convert:
    fitting = [one for one in branches(union) if not list(misfits(kind, one, named))]
    names = names and not (pa.types.is_struct(kind) and len(fitting) > 1)  # which record it is shows in its values
    inner = _converter(kind, fitting[0], named, names)
    if not names:
        return lambda value: None if value is None else inner(value)
    if pa.types.is_floating(kind):
        fitting = [one for one in fitting if _name(one) == "double"] or fitting
    choices = [(_name(one), named.get(one, one) if isinstance(one, str) else one) for one in fitting]

    def converted(value: Any) -> Any:
        if value is None:
            return None
        return next((name for name, one in choices if _takes(one, value)), choices[-1][0]), inner(value)

    return converted


def _name(branch: Any) -> str:
    """The name of a union's type for fastavro."""
    return str(branch if isinstance(branch, str) else branch.get("name", branch["type"]))


def _takes(branch: Any, value: Any) -> bool:
    """Whether a type that fits a column has this value, too."""
    kind = branch if isinstance(branch, str) else branch["type"]
    if kind == "enum":
        return value in branch["symbols"]
    return kind != "fixed" or not isinstance(value, bytes) or len(value) == branch["size"]
