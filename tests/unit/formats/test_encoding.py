"""A row that its sink's schema cannot hold is named with its reason, and the other rows of its epoch are encoded."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tandem.formats.avro import AvroReader
from tandem.formats.avro_writing import AvroWriter
from tandem.formats.encoding import UNFIT, Encoder, Encoding, Writer, encoded_column
from tandem.formats.framing import unframed
from tandem.formats.protobuf_writing import ProtobufWriter
from tandem.formats.schemas import RegisteredSchema

AVRO = RegisteredSchema(
    7,
    "AVRO",
    json.dumps({"type": "record", "name": "Row", "fields": [{"name": "name", "type": ["null", "string"]}]}),
)
PROTOBUF = RegisteredSchema(7, "PROTOBUF", 'syntax = "proto3"; message Row { string name = 1; }')
KIND = pa.struct({"name": pa.string()})
WRITERS = {"AVRO": AvroWriter(AVRO, KIND), "PROTOBUF": ProtobufWriter(PROTOBUF, KIND)}
LATIN = "Müller".encode("latin-1")


def names(*texts: bytes | None) -> pa.StructArray:
    """Spark takes any bytes for a STRING."""
    plain = pa.array(texts, pa.binary())
    return pa.StructArray.from_arrays([pa.Array.from_buffers(pa.string(), len(texts), plain.buffers())], ["name"])


def encoded(writer: Writer, rows: pa.StructArray) -> pa.Table:
    nothing = pa.array([None] * len(rows), pa.binary())
    table = pa.table({"key": nothing, "value": nothing, encoded_column("out", "value"): rows})
    return Encoding((Encoder("out", "value", 7, writer),)).encoded(table)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_text_that_is_no_utf_8_is_named_and_the_others_are_encoded(kind: str) -> None:
    found = encoded(WRITERS[kind], names(b"Ada", LATIN, None, b"M\xc3\xbcller"))

    assert [value is None for value in found["value"].to_pylist()] == [False, True, False, False]
    assert found[UNFIT].to_pylist() == [
        None,
        "the value has a text that is no UTF-8, which no schema can hold",
        None,
        None,
    ]


def test_rows_beside_such_a_text_are_as_they_would_be_without_it() -> None:
    alone = encoded(WRITERS["AVRO"], names(b"Ada", b"Bob"))["value"].to_pylist()

    beside = encoded(WRITERS["AVRO"], names(b"Ada", LATIN, b"Bob"))["value"].to_pylist()

    assert [beside[0], beside[2]] == alone
    assert AvroReader(AVRO).read(AVRO, unframed(beside[0])[1]) == {"name": "Ada"}
