"""What a .proto imports: files of its references, and those that Confluent's clients have and never send."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.message_factory import GetMessageClass

from tandem.formats import protobuf_builtins
from tandem.formats.framing import framed_path
from tandem.formats.protobuf import ProtobufReader, descriptor_of
from tandem.formats.protobuf_writing import ProtobufWriter
from tandem.formats.schemas import RegisteredSchema, SchemaError

SYNTAX = 'syntax = "proto3"; '
ADDRESS = RegisteredSchema(1, "PROTOBUF", SYNTAX + "package common; message Address { string city = 1; }")
DATE = pa.struct([("year", pa.int32()), ("month", pa.int32()), ("day", pa.int32())])
DECIMAL = pa.struct([("value", pa.binary()), ("precision", pa.int64()), ("scale", pa.int32())])
"""Of its numbers, precision has no sign."""


def proto(text: str, *references: tuple[str, RegisteredSchema]) -> RegisteredSchema:
    return RegisteredSchema(7, "PROTOBUF", SYNTAX + text, references)


def of_address(name: str) -> RegisteredSchema:
    return proto(f'import "{name}"; message Row {{ common.Address home = 1; }}', (name, ADDRESS))


def test_a_message_of_an_imported_file_is_no_message_of_the_schema() -> None:
    words = r"has no message common\.Address, but Row: common\.Address is defined in address\.proto, which it imports"
    with pytest.raises(SchemaError, match=words):
        descriptor_of(of_address("address.proto"), "common.Address")


def test_a_schema_without_messages_of_its_own_says_so() -> None:
    only_imports = proto('import public "address.proto";', ("address.proto", ADDRESS))

    with pytest.raises(SchemaError, match=r"but none: common\.Address is defined in address\.proto"):
        descriptor_of(only_imports, "common.Address")


@pytest.mark.parametrize("name", ["schema.proto", "schema.proto/address.proto", "a/schema.proto"])
def test_a_reference_may_have_any_name(name: str) -> None:
    descriptor = descriptor_of(of_address(name), None)

    assert descriptor.full_name == "Row"
    assert descriptor.fields_by_name["home"].message_type.full_name == "common.Address"


def test_a_reference_of_a_reference_may_have_the_name_of_the_file_too() -> None:
    street = of_address("schema.proto")

    outer = proto('import "row.proto"; message Outer { Row row = 1; }', ("row.proto", street))

    assert descriptor_of(outer, None).full_name == "Outer"


BUILTINS = """
import "google/type/date.proto";
import "confluent/meta.proto";
import 'confluent/type/decimal.proto';
message Row {
  option (confluent.message_meta).doc = "a payment";
  google.type.Date day = 1;
  confluent.type.Decimal amount = 2 [(confluent.field_meta) = { params: [{ key: "precision", value: "10" }] }];
}
"""


def row(year: int) -> dict[str, Any]:
    return {"day": {"year": year, "month": 11, "day": 30}, "amount": {"value": b"\x07", "precision": 10, "scale": 2}}


def test_what_confluents_clients_never_send_is_read_and_written() -> None:
    schema = proto(BUILTINS)
    reader = ProtobufReader(schema)
    assert reader.type == pa.struct([("day", DATE), ("amount", DECIMAL)])

    written = ProtobufWriter(schema, reader.type).write(row(2026))

    assert written.startswith(framed_path([0]))
    assert reader.read(schema, written) == row(2026)


def test_a_reference_may_import_such_a_file_too() -> None:
    row_of_types = proto('import "row.proto"; message Outer { Row row = 1; }', ("row.proto", proto(BUILTINS)))

    assert ProtobufReader(row_of_types).type == pa.struct([("row", pa.struct([("day", DATE), ("amount", DECIMAL)]))])


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("google/type/datetime.proto", "google.type.DateTime"),  # which imports others
        ("google/type/money.proto", "google.type.Money"),
        ("confluent/types/decimal.proto", "confluent.type.Decimal"),  # where it was, and imports where it is
    ],
)
def test_files_that_import_others_are_found_with_these(file: str, message: str) -> None:
    descriptor = descriptor_of(proto(f'import "{file}"; message Row {{ {message} it = 1; }}'), None)

    assert descriptor.fields_by_name["it"].message_type.full_name == message


def test_a_reference_that_brings_such_a_file_counts() -> None:
    own = proto("package google.type; message Date { string text = 1; }")
    schema = proto(
        'import "google/type/date.proto"; message Row { google.type.Date day = 1; }', ("google/type/date.proto", own)
    )

    assert ProtobufReader(schema).type == pa.struct([("day", pa.struct([("text", pa.string())]))])


@pytest.mark.parametrize("name", ["google/type/nothing.proto", "confluent/nothing.proto"])
def test_a_file_that_no_package_has_is_named(name: str) -> None:
    with pytest.raises(SchemaError, match=f'schema 7 is no Protobuf schema: .*"{name}" was not found'):
        descriptor_of(proto(f'import "{name}"; message Row {{ int32 id = 1; }}'), None)


def test_without_the_package_such_a_file_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(protobuf_builtins, "import_module", missing)
    schema = proto('import "google/type/color.proto"; message Row { google.type.Color it = 1; }')

    with pytest.raises(SchemaError, match=r'"google/type/color\.proto" was not found'):
        descriptor_of(schema, None)


def test_a_schema_that_imports_none_of_them_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(protobuf_builtins, "import_module", asked.append)
    text = (
        'import "google/protobuf/timestamp.proto"; message Row { google.protobuf.Timestamp at = 1; int32 other = 2; }'
    )

    kind = ProtobufReader(proto(text))

    assert asked == []
    at = GetMessageClass(descriptor_of(proto(text), None))()
    at.at.FromDatetime(datetime.datetime(1970, 1, 1, 0, 0, 1))  # noqa: DTZ001 - of protobuf, which takes these
    assert kind.read(proto(text), framed_path([0]) + at.SerializeToString()) == {"at": 1_000_000, "other": 0}
