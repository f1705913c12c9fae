"""What reads the values of a format, whichever it is."""

from typing import Any, Protocol

import pyarrow as pa

from tandem.formats.avro import AvroReader
from tandem.formats.schemas import RegisteredSchema, SchemaError


class Reader(Protocol):
    """Reads values by one reader's schema.

    `name` : of the format, for people. `read_type`: what Arrow makes of `read`'s values. `type`: the column's, to which that
    is cast.
    """

    name: str
    read_type: pa.DataType
    type: pa.DataType

    def read(self, writer: RegisteredSchema, payload: bytes) -> Any:
        """A value of plain Python types. Raises `UndecodableError`."""


def reader_of(schema: RegisteredSchema, message: str | None = None) -> Reader:
    """What reads by `schema`. `message`: which one of a Protobuf schema. Raises `SchemaError`."""
    if schema.kind == "AVRO":
        return AvroReader(schema)
    if schema.kind == "PROTOBUF":
        from tandem.formats.protobuf import ProtobufReader  # jobs without it need no grpcio-tools

        return ProtobufReader(schema, message)
    raise SchemaError(f"schema {schema.id} is of the type {schema.kind}, which Tandem does not read")
