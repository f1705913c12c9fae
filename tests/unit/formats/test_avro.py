"""Avro's values become those of Spark's types and back, whatever they are; what has no type is refused with its place."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.formats.avro import AvroReader
from tandem.formats.avro_made import made
from tandem.formats.avro_writing import AvroWriter
from tandem.formats.encoding import as_numbers
from tandem.formats.framing import UndecodableError
from tandem.formats.schemas import RegisteredSchema, SchemaError

LONGS = st.integers(-(2**63), 2**63 - 1)
KIND = pa.struct(
    {
        "flag": pa.bool_(),
        "short": pa.int16(),
        "long": pa.int64(),
        "real": pa.float64(),
        "text": pa.string(),
        "content": pa.binary(),
        "price": pa.decimal128(12, 2),
        "day": pa.date32(),
        "at": pa.timestamp("us", tz="UTC"),
        "local": pa.timestamp("us"),
        "many": pa.list_(pa.struct({"a": pa.int32()})),
        "by": pa.map_(pa.string(), pa.timestamp("us", tz="UTC")),
    }
)
VALUES = st.fixed_dictionaries(
    {
        "flag": st.none() | st.booleans(),
        "short": st.none() | st.integers(-(2**15), 2**15 - 1),
        "long": st.none() | LONGS,
        "real": st.none() | st.floats(allow_nan=False),
        "text": st.none() | st.text(),
        "content": st.none() | st.binary(),
        "price": st.none() | st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-2)),
        "day": st.none() | st.integers(-(2**31), 2**31 - 1),
        "at": st.none() | LONGS,
        "local": st.none() | LONGS,
        "many": st.none() | st.lists(st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(-9, 9)})),
        "by": st.none() | st.dictionaries(st.text(), st.none() | LONGS).map(lambda one: list(one.items())),
    }
)


def schema(tree: object, schema_id: int = 1) -> RegisteredSchema:
    return RegisteredSchema(schema_id, "AVRO", json.dumps(tree))


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Row", "fields": list(fields)}


@settings(deadline=None)
@given(VALUES)
def test_a_row_is_read_back_as_it_was_written(value: dict[str, Any]) -> None:
    made_schema = RegisteredSchema(1, "AVRO", made(KIND, "Row"))
    reader = AvroReader(made_schema)

    found = reader.read(made_schema, AvroWriter(made_schema, KIND).write(value))

    column = pa.array([found], reader.read_type).cast(reader.type)
    assert column.cast(as_numbers(reader.type)).to_pylist() == [value]


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_and_nothing_else_is_raised(payload: bytes) -> None:
    made_schema = RegisteredSchema(1, "AVRO", made(KIND, "Row"))
    with suppress(UndecodableError):
        AvroReader(made_schema).read(made_schema, payload)


def test_times_in_milliseconds_are_written_and_read_in_micros() -> None:
    millis = schema(record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}))
    kind = pa.struct({"at": pa.timestamp("us", tz="UTC")})
    reader = AvroReader(millis)

    found = reader.read(millis, AvroWriter(millis, kind).write({"at": -1_500}))

    assert pa.array([found], reader.read_type).cast(reader.type).cast(as_numbers(kind)).to_pylist() == [{"at": -2_000}]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (["int", "string"], "the field x may be of several types"),
        (
            ["null", {"type": "record", "name": "In", "fields": [{"name": "y", "type": "null"}]}],
            "the field x.y has the",
        ),
        ({"type": "array", "items": ["null", "Row"]}, r"the field x\[\] is a Row within another"),
    ],
)
def test_what_has_no_type_in_spark_is_refused_with_its_place(kind: object, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        AvroReader(schema(record({"name": "x", "type": kind})))


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"name": "n", "type": "string"}, "the column n is int64, and the schema has string"),
        ({"name": "n", "type": "int"}, "the column n is int64, and the schema has int"),
        ({"name": "m", "type": "long"}, "there is no column m, which the schema has without a default"),
        ({"name": "m", "type": "long", "default": 0}, "the schema has no field for the column n"),
        ({"name": "n", "type": {"type": "long", "logicalType": "timestamp-micros"}}, "the schema has timestamp-micros"),
    ],
)
def test_columns_that_do_not_fit_a_schema_are_named(field: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        AvroWriter(schema(record(field)), pa.struct({"n": pa.int64()}))
