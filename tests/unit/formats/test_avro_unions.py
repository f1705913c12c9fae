"""A value in a union is written as the type that its column fits, wherever that stands in the union."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from fastavro import schemaless_reader

from tandem.formats.avro_writing import AvroWriter
from tandem.formats.schemas import RegisteredSchema

LONG, MICROS = 2**53 + 1, {"type": "long", "logicalType": "timestamp-micros"}
INNER = {"type": "record", "name": "Inner", "fields": [{"name": "a", "type": ["null", "double", "long"]}]}
FIXED = {"type": "fixed", "name": "Two", "size": 2}
PRICE = {"type": "fixed", "name": "Price", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 2}
ENUM = {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}
UTC = pa.timestamp("us", tz="UTC")


def branch(union: list[Any], kind: pa.DataType, value: Any) -> tuple[int, bytes]:
    """Which type of the union a value is written as, and its bytes."""
    tree = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": union}]}
    written = AvroWriter(RegisteredSchema(7, "AVRO", json.dumps(tree)), pa.struct({"id": kind})).write({"id": value})
    return written[0] // 2, written[1:]


@pytest.mark.parametrize(
    ("union", "kind", "value", "place"),
    [
        (["null", "double", "long"], pa.int64(), LONG, 2),
        (["null", "float", "int"], pa.int32(), 2**24 + 1, 2),
        (["double", MICROS], UTC, LONG, 1),
        (["null", "double", {"type": "int", "logicalType": "date"}], pa.date32(), 19_000, 2),
        (["int", "boolean"], pa.bool_(), True, 1),
        (["null", "float", "double"], pa.float32(), 0.5, 2),
        ([{"type": "array", "items": "int"}, "bytes"], pa.binary(), b"ab", 1),
        (["null", "bytes", {"type": "array", "items": "int"}], pa.list_(pa.int32()), [1, 2], 2),
        ([PRICE, "bytes"], pa.binary(), b"ab", 1),
        ([PRICE, "bytes"], pa.decimal128(4, 2), Decimal("1.50"), 0),
        (["null", FIXED, "bytes"], pa.binary(), b"ab", 1),
        (["null", FIXED, "bytes"], pa.binary(), b"abc", 2),
        (["null", ENUM, "string"], pa.string(), "BLUE", 1),
        (["null", ENUM, "string"], pa.string(), "GREEN", 2),
        (["null", {"type": "map", "values": "long"}], pa.map_(pa.string(), pa.int64()), [("k", LONG)], 1),
        (["null", "double", "long"], pa.int64(), None, 0),
    ],
)
def test_the_type_is_that_of_the_column(union: list[Any], kind: pa.DataType, value: Any, place: int) -> None:
    assert branch(union, kind, value)[0] == place


def test_a_large_number_in_a_record_in_a_union_is_exact() -> None:
    union = ["null", INNER]
    place, content = branch(union, pa.struct({"a": pa.int64()}), {"a": LONG})

    assert place == 1
    assert schemaless_reader(io.BytesIO(content), INNER, INNER) == {"a": LONG}


def test_a_union_of_a_named_type_that_was_defined_before_takes_it_by_its_name() -> None:
    tree = {
        "type": "record", "name": "Row", "namespace": "shop",
        "fields": [{"name": "first", "type": INNER}, {"name": "second", "type": ["null", "string", "Inner"]}],
    }  # fmt: skip
    inner = pa.struct({"a": pa.int64()})
    schema = RegisteredSchema(7, "AVRO", json.dumps(tree))
    written = AvroWriter(schema, pa.struct({"first": inner, "second": inner})).write(
        {"first": {"a": LONG}, "second": {"a": 2}}
    )

    assert schemaless_reader(io.BytesIO(written), tree, tree) == {"first": {"a": LONG}, "second": {"a": 2}}


def test_of_several_records_it_is_the_one_that_has_the_values() -> None:
    one = {"type": "record", "name": "One", "fields": [{"name": "a", "type": "long"}]}
    other = {"type": "record", "name": "Other", "fields": [{"name": "a", "type": ["null", "long"]}]}
    kind = pa.struct({"a": pa.int64()})

    assert branch([one, other], kind, {"a": 1})[0] == 0
    assert branch([one, other], kind, {"a": None})[0] == 1
