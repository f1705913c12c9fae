"""A time that was written in another unit than it is read in is the same time; a date is no number of such units."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_writer

from tandem.formats.avro import AvroReader
from tandem.formats.framing import UndecodableError
from tandem.formats.schemas import RegisteredSchema

SECONDS = 1_700_000_000
IN_A_SECOND = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}


def time(logical: str, kind: str = "long") -> dict[str, str]:
    return {"type": kind, "logicalType": logical}


def row(*fields: tuple[str, object]) -> dict[str, Any]:
    return {"type": "record", "name": "Row", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def at_all_places(logical: str) -> dict[str, Any]:
    one = time(logical)
    return row(
        ("plain", one),
        ("maybe", ["null", one]),
        ("by", {"type": "map", "values": ["null", one]}),
        ("many", {"type": "array", "items": one}),
        ("inner", {"type": "record", "name": "Inner", "fields": [{"name": "at", "type": one}]}),
        ("again", "Inner"),
    )


def number(value: int) -> dict[str, Any]:
    inner = {"at": value}
    return {"plain": value, "maybe": value, "by": {"a": value}, "many": [value], "inner": inner, "again": inner}


def read(written: object, reader: object, value: object) -> Any:
    bare = json.loads(json.dumps(written).replace("logicalType", "ignored"))
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(bare), value)
    return AvroReader(RegisteredSchema(1, "AVRO", json.dumps(reader))).read(
        RegisteredSchema(2, "AVRO", json.dumps(written)), stream.getvalue()
    )


@pytest.mark.parametrize("kind", ["timestamp", "local-timestamp"])
@pytest.mark.parametrize("written", IN_A_SECOND)
@pytest.mark.parametrize("wanted", IN_A_SECOND)
def test_a_time_of_another_unit_is_the_same_time_wherever_it_stands(kind: str, written: str, wanted: str) -> None:
    schemas = at_all_places(f"{kind}-{written}"), at_all_places(f"{kind}-{wanted}")

    found = read(*schemas, number(SECONDS * IN_A_SECOND[written]))

    assert found == number(SECONDS * IN_A_SECOND[wanted])


def test_the_column_has_the_time_that_was_written() -> None:
    reader = AvroReader(RegisteredSchema(1, "AVRO", json.dumps(row(("at", time("timestamp-micros"))))))
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(row(("at", "long"))), {"at": SECONDS * 1_000 + 7})

    found = reader.read(
        RegisteredSchema(2, "AVRO", json.dumps(row(("at", time("timestamp-millis"))))), stream.getvalue()
    )

    assert pa.array([found], reader.read_type).field("at").cast(pa.int64()).to_pylist() == [SECONDS * 10**6 + 7_000]


def test_what_is_below_the_readers_unit_is_dropped_also_before_1970() -> None:
    assert read(row(("at", time("timestamp-micros"))), row(("at", time("timestamp-millis"))), {"at": -1_500}) == {
        "at": -2
    }


def test_fields_are_matched_by_the_readers_aliases() -> None:
    field = {"name": "t", "aliases": ["at"], "type": time("timestamp-micros")}
    reader = {"type": "record", "name": "Row", "fields": [field]}

    assert read(row(("at", time("timestamp-millis"))), reader, {"at": 5}) == {"t": 5_000}


def test_a_time_of_day_is_converted() -> None:
    assert read(row(("at", time("time-millis", "int"))), row(("at", time("time-micros"))), {"at": 5}) == {"at": 5_000}


@pytest.mark.parametrize(
    ("written", "reader", "value", "found"),
    [
        (time("timestamp-millis"), "long", 5, 5),
        (["null", time("timestamp-millis")], ["null", "double"], 5, 5.0),
        ("long", time("timestamp-micros"), 5, 5),
        ("int", time("timestamp-micros"), 5, 5),
        (time("timestamp-millis"), time("local-timestamp-micros"), 5, 5_000),
    ],
)
def test_a_plain_number_on_one_side_is_that_number(written: object, reader: object, value: int, found: object) -> None:
    result = read(row(("at", written), ("other", time("date", "int"))), row(("at", reader)), {"at": value, "other": 1})

    assert result == {"at": found}
    assert type(result["at"]) is type(found)


@pytest.mark.parametrize(
    ("written", "reader"),
    [
        (time("date", "int"), time("timestamp-micros")),
        (time("date", "int"), ["null", time("local-timestamp-millis")]),
        (time("time-micros"), time("timestamp-micros")),
    ],
)
def test_a_time_of_another_kind_is_undecodable_and_both_are_named(written: Any, reader: Any) -> None:
    wanted = reader[1] if isinstance(reader, list) else reader
    said = f"its schema 2 and the reader's: it has {written['logicalType']}, .* has {wanted['logicalType']}"
    with pytest.raises(UndecodableError, match=said):
        read(row(("at", written)), row(("at", reader)), {"at": 5})
