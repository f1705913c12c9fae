"""What a schema cannot hold is refused: by types where they show it, else row by row with the reason."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tandem.formats.avro_writing import AvroWriter
from tandem.formats.encoding import UNFIT, Encoder, Encoding, encoded_column
from tandem.formats.protobuf_writing import ProtobufWriter
from tandem.formats.schemas import RegisteredSchema, SchemaError

PROTO = RegisteredSchema(
    7,
    "PROTOBUF",
    """syntax = "proto3";
    enum Colour { RED = 0; BLUE = 1; }
    message Row { oneof how { string card = 2; string iban = 3; } Colour colour = 4; }""",
)
KIND = pa.struct({"card": pa.string(), "iban": pa.string(), "colour": pa.string()})
TWICE = pa.struct([("id", pa.int32()), ("id", pa.int32())])


def avro(kind: str) -> RegisteredSchema:
    return RegisteredSchema(
        7, "AVRO", json.dumps({"type": "record", "name": "Row", "fields": [{"name": "id", "type": ["null", kind]}]})
    )


def reasons(*rows: dict[str, str]) -> list[str | None]:
    writer = ProtobufWriter(PROTO, KIND)
    nothing = pa.array([None] * len(rows), pa.binary())
    table = pa.table({"key": nothing, "value": nothing, encoded_column("out", "value"): pa.array(rows, KIND)})
    found: list[str | None] = Encoding((Encoder("out", "value", 7, writer),)).encoded(table)[UNFIT].to_pylist()
    return found


def test_two_members_of_a_oneof_that_have_values_are_no_message() -> None:
    one, both = reasons({"card": "4111"}, {"card": "4111", "iban": "DE"})

    assert one is None
    assert both is not None
    assert "card and iban are members of one oneof (how), and both have a value" in both


def test_a_number_of_an_open_enum_is_written_as_it_was_read_and_a_name_that_is_not_there_is_named() -> None:
    known, number, name = reasons({"colour": "BLUE"}, {"colour": "7"}, {"colour": "GREEN"})

    assert (known, number) == (None, None)
    assert name is not None
    assert "the enum Colour has no value GREEN" in name


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="2 columns are called id: give each a name of its own"):
        AvroWriter(avro("int"), TWICE)
    with pytest.raises(SchemaError, match="2 columns are called id"):
        ProtobufWriter(RegisteredSchema(7, "PROTOBUF", 'syntax = "proto3"; message Row { int32 id = 1; }'), TWICE)


def test_an_int_is_not_written_as_a_float_which_cannot_hold_it() -> None:
    kind = pa.struct({"id": pa.int32()})
    AvroWriter(avro("double"), kind)
    with pytest.raises(SchemaError, match="id"):
        AvroWriter(avro("float"), kind)
