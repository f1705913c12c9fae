"""A dead letter says which part of a JSON document is not of its type, however deep it lies; and it says nothing wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

from tandem.intake.letters import InputRecord, letter
from tandem.intake.reasons import misfits, why_no_object

INNER = StructType().add("a", IntegerType()).add("z", StringType())
SCHEMA = (
    StructType()
    .add("st", INNER)
    .add("m", MapType(StringType(), MapType(StringType(), IntegerType())))
    .add("ar", ArrayType(INNER))
    .add("d", DoubleType())
    .add("ok", BooleanType())
    .add("l", LongType())
    .add("h", ShortType())
    .add("s", StringType())
    .add("dt", DateType())
    .add("x", DecimalType(5, 2))
)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"st": {"a": "x"}}, [("st.a", "x")]),
        ({"st": [1]}, [("st", [1])]),
        ({"m": {"k": {"i": True}}}, [("m[k][i]", True)]),
        ({"m": {"k": 5}}, [("m[k]", 5)]),
        ({"ar": [{"a": 1}, {"a": 1.5}]}, [("ar[1].a", 1.5)]),
        ({"ar": {"a": 1}}, [("ar", {"a": 1})]),
        ({"ok": "true", "l": 2**63, "h": 40_000}, [("ok", "true"), ("l", 2**63), ("h", 40_000)]),
        ({"d": "NaN", "l": -(2**63), "s": {"any": [1]}, "dt": "no date", "x": "1.5", "st": None, "ok": False}, []),
        ({"d": 1, "other": "x"}, []),
    ],
)
def test_what_is_not_of_its_type_is_named_by_its_path(document: Any, expected: list[tuple[str, Any]]) -> None:
    assert list(misfits(document, SCHEMA)) == expected


def test_the_reason_names_what_spark_has_kept_a_part_of() -> None:
    value = json.dumps({"st": {"a": "x", "z": "kept"}, "s": "t"}).encode()

    assert why_no_object(value, "the ddl", [], SCHEMA) == 'the value is no JSON of the schema the ddl: st.a is "x"'
    assert "a part of it is not of its type" in why_no_object(b'{"s":"x"}', "the ddl", [], SCHEMA)


def test_a_field_that_fits_is_not_blamed_for_what_else_the_parser_did_not_take() -> None:
    value = json.dumps({"n" * 60_000: 1, "l": 2, "st": {"a": 3}, "ok": True}).encode()

    assert why_no_object(value, "the ddl", SCHEMA.names, SCHEMA).endswith("too deep, or too long a name or number")


def test_a_text_that_is_no_date_is_named_beside_what_is_not_of_its_kind() -> None:
    value = b'{"dt":"no date","x":"1e","l":"5","ar":[{"a":"x"}]}'
    reason = why_no_object(value, "the ddl", ["ar", "l", "dt", "x"], SCHEMA)

    assert reason.endswith(': ar[0].a is "x"; l is "5"; dt is "no date"; x is "1e"')


def test_half_of_a_character_in_a_field_of_another_type_makes_a_letter_and_stops_nothing() -> None:
    value = b'{"l": "\\ud800"}'
    reason = why_no_object(value, "l BIGINT", ["l"])
    _, text = letter(InputRecord("events", "in", 0, 7, 0, None, value), reason, 1_000)

    assert json.loads(text)["reason"] == 'the value is no JSON of the schema l BIGINT: l is "\\ud800"'
    assert json.loads(text)["value"] == value.decode()
    assert letter(InputRecord("events", "in", 0, 7, 0, None, b""), "\ud800", 1_000)[1].decode()
