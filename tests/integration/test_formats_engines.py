"""Values and keys of a schema registry through both engines, as producers with Confluent's serialisers write them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.avro_records import ORDER, avro, decoded, with_field
from integration.formatted import Formatted, manifest
from integration.registry_server import RegistryServer
from tandem.engine.session import LASTING_TASKS
from tandem.formats.encoding import UNFIT
from tandem.formats.protobuf import descriptor_of
from tandem.formats.schemas import RegisteredSchema, SchemaError
from tandem.manifest import SinkSpec, SourceSpec
from tandem.manifest.formats import RegistrySchema

pytestmark = pytest.mark.integration

SLOTS = LASTING_TASKS
BOTH = pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
FULL = {
    "id": "o1",
    "n": 2**40,
    "price": Decimal("12.50"),
    "at": dt.datetime(2026, 3, 1, 12, 30, 0, 123_000, tzinfo=dt.UTC),
    "day": dt.date(2026, 3, 1),
    "tags": ["a", "ß"],
}
OUT = SinkSpec(name="out", topic="out")
MakeJob = Callable[..., Formatted]


@pytest.fixture
def make_job(spark: SparkSession, tmp_path: Path, registry: RegistryServer) -> Iterator[MakeJob]:
    """Makes a job over one source, which is called `orders`."""
    made: list[Formatted] = []

    def make(source: SourceSpec, real_time: bool, sink: SinkSpec = OUT, **more: Any) -> Formatted:
        folder = tmp_path / str(len(made))
        made.append(Formatted(spark, folder, manifest(registry, source, sink, **more), real_time))
        return made[-1]

    yield make
    for one in made:
        one.job.stop()


def orders(topic: str, **more: Any) -> SourceSpec:
    return SourceSpec(name="orders", topics=(topic,), format="avro", **more)


def as_json(frame: DataFrame) -> DataFrame:
    """All columns but the metadata, those that are null included."""
    return frame.drop("metadata").select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("value"))


@BOTH
def test_a_record_becomes_columns_of_sparks_types(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    value = avro(registry, topic_prefix, FULL)
    job = make_job(orders(topic_prefix), real_time)
    types = dict(job.input.dtypes)
    assert {name: types[name] for name in ("id", "n", "price", "at", "day", "tags", "key")} == {
        **{"id": "string", "n": "bigint", "price": "decimal(10,2)", "key": "binary"},
        **{"at": "timestamp", "day": "date", "tags": "array<string>"},
    }
    job.start(as_json(job.input))

    assert job.values(value) == [
        {
            **{"id": "o1", "n": 2**40, "price": 12.5, "at": "2026-03-01T12:30:00.123Z"},
            **{"day": "2026-03-01", "tags": ["a", "ß"], "key": None},
        }
    ]


@BOTH
def test_a_tombstone_is_a_row_of_nulls_and_no_dead_letter(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    avro(registry, topic_prefix, FULL)
    job = make_job(orders(topic_prefix), real_time)
    job.start(as_json(job.input))

    (row,) = job.run((b"k", None))

    assert row["sink"] == "out"
    assert json.loads(row["value"]) == {**dict.fromkeys(("id", "n", "price", "at", "day", "tags")), "key": "aw=="}


@BOTH
def test_records_of_older_and_newer_schemas_are_read_by_that_of_the_generation(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    old = avro(registry, topic_prefix, FULL)
    registered = avro(registry, topic_prefix, {**FULL, "channel": "web"}, with_field("channel", "string", "shop"))
    job = make_job(orders(topic_prefix), real_time)
    newer = avro(registry, topic_prefix, {**FULL, "rank": 3}, with_field("rank", "int", 0))
    job.start(job.input.select(F.to_json(F.struct("id", "channel")).alias("value")))

    assert job.values(old, registered, newer) == [
        {"id": "o1", "channel": "shop"},
        {"id": "o1", "channel": "web"},
        {"id": "o1", "channel": "shop"},
    ]


@BOTH
def test_what_cannot_be_decoded_is_a_dead_letter_with_the_true_reason(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    good = avro(registry, topic_prefix, FULL)
    other = avro(registry, f"{topic_prefix}-other", "text", "string")
    job = make_job(orders(topic_prefix), real_time)
    job.start(as_json(job.input))
    unknown = [b"\0" + schema_id.to_bytes(4) + b"x" for schema_id in (2**31 - 7, 2**31, 2**32 - 1)]
    bad = [b'{"id": 1}', b"", good[:3], *unknown, good[:-3], good + b"!", other]

    reasons = job.letters(*((None, value) for value in [*bad, good]))

    assert len(reasons) == len(bad)
    for reason, expected in zip(
        reasons,
        (
            "does not begin with a zero byte and a schema's id, but with 7b 22 69 64",
            "it is empty",
            "it has 3 bytes, and a zero byte and a schema's id have 5",
            "the schema registry has no schema 2147483641",
            "the schema registry has no schema 2147483648",
            "the schema registry has no schema 4294967295",
            "it cannot be read by its schema",
            "there are 1 bytes behind the value",
            "it cannot be read by its schema",
        ),
        strict=True,
    ):
        assert "the value is no Avro: " in reason
        assert expected in reason


@BOTH
def test_keys_are_decoded_too(make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool) -> None:
    kind = {"type": "record", "name": "Key", "fields": [{"name": "shop", "type": "int"}]}
    key, value = avro(registry, topic_prefix, {"shop": 7}, kind, "key"), avro(registry, topic_prefix, FULL)
    job = make_job(orders(topic_prefix, key_format="avro"), real_time)
    job.start(job.input.select(F.to_json(F.struct("id", "key.shop")).alias("value")))

    rows = job.run((key, value), (None, value), (b"plain", value))

    assert [json.loads(row["value"]) for row in rows if row["sink"] == "out"] == [{"id": "o1", "shop": 7}, {"id": "o1"}]
    (letter,) = [json.loads(row["value"]) for row in rows if row["sink"] == "dead-letter"]
    assert "the key is no Avro: it does not begin with a zero byte" in letter["reason"]


def avro_sink(topic: str, **more: Any) -> SinkSpec:
    return SinkSpec(name="out", topic=topic, format="avro", **more)


@BOTH
def test_rows_are_written_by_a_schema_made_of_their_columns(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    value, out = avro(registry, topic_prefix, FULL), f"{topic_prefix}-out"
    job = make_job(orders(topic_prefix), real_time, avro_sink(out, key_format="avro"))
    job.start(job.input.select(F.col("id").alias("key"), *FULL, F.create_map(F.lit("a"), "n").alias("by")))

    (row,) = job.run((None, value))

    assert decoded(registry, out, row["value"]) == {**FULL, "by": {"a": 2**40}}
    assert decoded(registry, out, row["key"], "key") == "o1"
    assert registry.ask(f"/subjects/{out}-value/versions") == [1]


@BOTH
def test_rows_are_written_by_the_registered_schema_that_they_fit(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    value, out = avro(registry, topic_prefix, FULL), f"{topic_prefix}-out"
    schema_id = registry.register(f"{out}-value", with_field("channel", "string", "shop"))
    job = make_job(orders(topic_prefix), real_time, avro_sink(out), register=False)
    job.start(job.input.select(*FULL))

    (row,) = job.run((None, value))

    assert int.from_bytes(row["value"][1:5]) == schema_id
    assert decoded(registry, out, row["value"]) == {**FULL, "channel": "shop"}


@BOTH
def test_a_row_that_its_schema_does_not_take_is_refused_with_the_reason(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    value, out = avro(registry, topic_prefix, FULL), f"{topic_prefix}-out"
    fields = [{"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}}]
    registry.register(f"{out}-value", {"type": "record", "name": "Row", "fields": fields})
    job = make_job(orders(topic_prefix), real_time, avro_sink(out), register=False)
    job.start(job.input.select(F.explode(F.array(F.lit("A"), F.lit("C"))).alias("kind")))

    good, bad = job.run((None, value))

    assert decoded(registry, out, good["value"]) == {"kind": "A"}
    assert good[UNFIT] is None
    assert bad["value"] is None
    assert "it cannot be written by the Avro schema" in bad[UNFIT]


def test_columns_that_no_schema_fits_are_refused_with_their_names(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str
) -> None:
    avro(registry, topic_prefix, FULL)
    registry.register(f"{topic_prefix}-out-value", ORDER)
    job = make_job(orders(topic_prefix), False, avro_sink(f"{topic_prefix}-out"), register=False)

    with pytest.raises(SchemaError, match="there is no column id, which the schema has without a default"):
        job.start(job.input.select(F.lit(1).alias("m"), "n"))


PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Refund { string id = 1; }
message Order {
  enum Channel { SHOP = 0; WEB = 1; }
  message Item { string name = 1; optional int32 count = 2; }
  string id = 1;
  int64 n = 2;
  google.protobuf.Timestamp at = 3;
  repeated Item items = 4;
  map<int32, double> rates = 5;
  Channel channel = 6;
  uint64 code = 7;
}
"""


@BOTH
def test_protobuf_in_and_out(make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool) -> None:
    out = f"{topic_prefix}-out"
    for subject in (f"{topic_prefix}-value", f"{out}-value"):
        registry.register(subject, PROTO, "PROTOBUF")
    schema = RegistrySchema(message="shop.Order")
    source = SourceSpec(name="orders", topics=(topic_prefix,), format="protobuf", value_schema=schema)
    sink = SinkSpec(name="out", topic=out, format="protobuf", value_schema=schema)
    job = make_job(source, real_time, sink)
    types = dict(job.input.dtypes)
    assert (types["items"], types["rates"]) == ("array<struct<name:string,count:int>>", "map<int,double>")
    assert (types["channel"], types["code"], types["at"]) == ("string", "decimal(20,0)", "timestamp")
    job.start(job.input.drop("key", "metadata"))
    schema_id = registry.register(f"{topic_prefix}-value", PROTO, "PROTOBUF")
    order, refund = message_of("shop.Order"), message_of("shop.Refund")
    item = {"name": "a", "count": 2}
    values = {"id": "o1", "n": 5, "items": [item, {"name": "b"}], "rates": {3: 1.5}, "channel": 1, "code": 2**64 - 1}
    content = order(**values)
    content.at.FromMicroseconds(1_772_368_200_123_456)
    head = b"\0" + schema_id.to_bytes(4)

    rows = job.run(
        (None, head + b"\x02\x02" + content.SerializeToString()),
        (None, head + b"\0" + refund(id="r").SerializeToString()),
        (None, head + b"\x02\x02\xff"),
    )

    (row,) = [row for row in rows if row["sink"] == "out"]
    assert row["value"][:7] == head + b"\x02\x02"
    assert order.FromString(row["value"][7:]) == content
    reasons = [json.loads(row["value"])["reason"] for row in rows if row["sink"] == "dead-letter"]
    assert "it is a shop.Refund, and the source reads shop.Order" in reasons[0]
    assert "the value is no Protobuf: it is no shop.Order" in reasons[1]


def message_of(name: str) -> Any:
    return GetMessageClass(descriptor_of(RegisteredSchema(-1, "PROTOBUF", PROTO), name))


@BOTH
def test_json_is_written_of_all_columns(
    make_job: MakeJob, registry: RegistryServer, topic_prefix: str, real_time: bool
) -> None:
    value = avro(registry, topic_prefix, FULL)
    job = make_job(orders(topic_prefix), real_time, SinkSpec(name="out", topic="out", format="json"))
    job.start(job.input.select(F.col("id").alias("key"), "n", "tags"))

    (row,) = job.run((None, value))

    assert (row["key"], json.loads(row["value"])) == (b"o1", {"n": 2**40, "tags": ["a", "ß"]})
