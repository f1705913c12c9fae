"""A field that is missing is its default, read and written: bytes and decimals too, which a schema's JSON has as texts."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tandem.formats.avro import AvroReader
from tandem.formats.avro_writing import AvroWriter
from tandem.formats.schemas import RegisteredSchema

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
FIXED = {"type": "fixed", "name": "Two", "size": 2}
WIDE = {"type": "fixed", "name": "Wide", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 10}
INNER = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "bytes", "default": "\u00fe"}]}
DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    "bytes": ("bytes", "\u00ff\u0000A", b"\xff\x00A"),
    "fixed": (FIXED, "\u00ff\u0001", b"\xff\x01"),
    "decimal": (DECIMAL, "\u0001\u00ff", Decimal("5.11")),
    "decimal below zero": (DECIMAL, "\u00ff", Decimal("-0.01")),
    "decimal of no bytes": (DECIMAL, "", Decimal("0.00")),
    "decimal of 38 digits": (
        WIDE,
        "".join(map(chr, (10**38 - 1).to_bytes(16, "big"))),
        Decimal("9999999999999999999999999999.9999999999"),
    ),
    "decimal that Spark cannot hold": ({**DECIMAL, "precision": 39}, "\u00ff", b"\xff"),
    "first of a union": (["bytes", "null"], "\u00ff", b"\xff"),
    "null": (["null", "bytes"], None, None),
    "text": ("string", "\u00ff", "ÿ"),
    "array": ({"type": "array", "items": DECIMAL}, ["\u0001", "\u00ff"], [Decimal("0.01"), Decimal("-0.01")]),
    "map": ({"type": "map", "values": "bytes"}, {"k": "\u00ff"}, [("k", b"\xff")]),
    "record": (INNER, {"x": "\u00ff"}, {"x": b"\xff"}),
}


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Row", "fields": [{"name": "n", "type": "int"}, *fields]}


def schema(tree: object, *references: tuple[str, RegisteredSchema]) -> RegisteredSchema:
    return RegisteredSchema(len(json.dumps(tree)), "AVRO", json.dumps(tree), references)


def read_by(reader_schema: RegisteredSchema, writer_schema: RegisteredSchema, payload: bytes) -> Any:
    reader = AvroReader(reader_schema)
    return pa.array([reader.read(writer_schema, payload)], reader.read_type).to_pylist()[0]


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_field_that_the_writer_had_not_is_read_as_its_default(name: str) -> None:
    kind, default, value = DEFAULTS[name]
    reader = schema(record({"name": "a", "type": kind, "default": default}))

    assert read_by(reader, schema(record()), b"\x02") == {"n": 1, "a": value}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_field_without_a_column_is_written_as_its_default(name: str) -> None:
    kind, default, value = DEFAULTS[name]
    written = schema(record({"name": "a", "type": kind, "default": default}))

    payload = AvroWriter(written, pa.struct({"n": pa.int32()})).write({"n": 1})

    assert read_by(written, written, payload) == {"n": 1, "a": value}


@pytest.mark.parametrize("shape", ["union", "array", "map", "inner", "named twice", "reference"])
def test_a_default_is_a_value_wherever_its_record_stands(shape: str) -> None:
    kinds: dict[str, Any] = {
        "union": ["null", INNER],
        "array": {"type": "array", "items": INNER},
        "map": {"type": "map", "values": ["null", INNER]},
        "inner": record({"name": "in", "type": INNER}),
        "named twice": record({"name": "in", "type": INNER}, {"name": "again", "type": ["null", "Inner"]}),
        "reference": record({"name": "in", "type": "Inner"}),
    }
    bare = {**INNER, "fields": [{"name": "y", "type": ["null", "int"], "default": None}]}
    before = json.loads(json.dumps(kinds[shape]).replace(json.dumps(INNER), json.dumps(bare)))
    empty = b"\x00"  # of `bare`
    payload = {
        "union": b"\x02" + empty,
        "array": b"\x02" + empty + b"\x00",
        "map": b"\x02\x02k\x02" + empty + b"\x00",
        "inner": b"\x02" + empty,
        "named twice": b"\x02" + empty + b"\x02" + empty,
        "reference": b"\x02" + empty,
    }[shape]
    now, then = ((("Inner", schema(INNER)),), (("Inner", schema(bare)),)) if shape == "reference" else ((), ())

    found = read_by(schema(kinds[shape], *now), schema(before, *then), payload)

    assert {
        "union": lambda: found,
        "array": lambda: found[0],
        "map": lambda: dict(found)["k"],
        "inner": lambda: found["in"],
        "named twice": lambda: found["again"],
        "reference": lambda: found["in"],
    }[shape]() == {"x": b"\xfe"}


@pytest.mark.parametrize(
    ("kind", "default"), [("bytes", "\u0100"), ({"type": "array", "items": {"type": "array", "items": "int"}}, [1])]
)
def test_a_default_that_is_none_hinders_nobody_who_does_not_need_it(kind: object, default: object) -> None:
    writer = schema(record({"name": "a", "type": kind, "default": default}))

    assert read_by(schema(record()), writer, b"\x02\x00") == {"n": 1}
