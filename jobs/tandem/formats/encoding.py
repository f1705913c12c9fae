"""Encodes an epoch's rows: what Spark gives as columns becomes the keys and values of records."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tandem.formats.decoding import Side
from tandem.formats.framing import UnencodableError, framed
from tandem.formats.schemas import RegisteredSchema, SchemaError

UNFIT: Final = "unfit"
"""A column of an epoch's rows, if one of them could not be encoded: why; null for the others."""


def encoded_column(sink: str, side: Side) -> str:
    """The column that has the values or keys of a sink's rows, to be encoded."""
    return f"encoded_{side}_{sink}"


class Writer(Protocol):
    """Writes values by one schema."""

    def write(self, value: Any) -> bytes:
        """The payload. Raises `UnencodableError`."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """Of the values or the keys of one sink. `schema_id`: of the writer's schema."""

    sink: str
    side: Side
    schema_id: int
    writer: Writer

    @property
    def column(self) -> str:
        """The column that it takes."""
        return encoded_column(self.sink, self.side)

    def encoded(self, column: pa.ChunkedArray, reasons: MutableMapping[int, str]) -> list[bytes | None]:
        """Records' values or keys; null where a value is null, or could not be encoded, which gets a reason."""
        found: list[bytes | None] = []
        for row, value in enumerate(_values(column.cast(as_numbers(column.type)))):
            content = None
            if isinstance(value, UnicodeDecodeError):
                reasons.setdefault(row, f"the {self.side} has a text that is no UTF-8, which no schema can hold")
            elif value is not None:
                try:
                    content = framed(self.schema_id, self.writer.write(value))
                except UnencodableError as error:
                    reasons.setdefault(row, f"the {self.side} fits no schema {self.schema_id}: {error}")
            found.append(content)
        return found


@dataclass(frozen=True, slots=True)
class Encoding:
    """All encoders of a job."""

    encoders: tuple[Encoder, ...] = ()

    def encoded(self, table: pa.Table) -> pa.Table:
        """An epoch's rows with keys and values in the place of the columns that they are made of."""
        reasons: dict[int, str] = {}
        for encoder in self.encoders:
            if encoder.column in table.column_names:
                column = table[encoder.column]
                table = _filled(table.drop_columns([encoder.column]), encoder.side, encoder.encoded(column, reasons))
        if reasons:
            table = table.append_column(UNFIT, pa.array(map(reasons.get, range(table.num_rows)), pa.string()))
        return table


NO_ENCODING: Final = Encoding()


def _values(column: pa.ChunkedArray) -> list[Any]:
    """A column's values for Python, whose texts are UTF-8, while Spark takes any bytes for a STRING: in the place of a value
    that has other bytes stands the error."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = [_value(one) for one in column]
    return values


def _value(one: pa.Scalar) -> Any:
    try:
        return one.as_py()
    except UnicodeDecodeError as error:
        return error


def _filled(table: pa.Table, name: str, contents: list[bytes | None]) -> pa.Table:
    column = pc.coalesce(pa.array(contents, pa.binary()), table[name].combine_chunks())
    return table.set_column(table.column_names.index(name), table.schema.field(name), column)


def as_numbers(kind: pa.DataType) -> pa.DataType:
    """The same type with times and days as numbers: Python's own end with the year 9999."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(as_numbers(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(as_numbers(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, as_numbers(kind.item_type))
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(kind) else kind


def writer_of(schema: RegisteredSchema, kind: pa.DataType, message: str | None) -> Writer:
    """What writes values of a type by `schema`. Raises `SchemaError`: they do not fit it."""
    if schema.kind == "AVRO":
        from tandem.formats.avro_writing import AvroWriter

        return AvroWriter(schema, kind)
    if schema.kind == "PROTOBUF":
        from tandem.formats.protobuf_writing import ProtobufWriter  # jobs without it need no grpcio-tools

        return ProtobufWriter(schema, kind, message)
    raise SchemaError(f"schema {schema.id} is of the type {schema.kind}, which Tandem does not write")
