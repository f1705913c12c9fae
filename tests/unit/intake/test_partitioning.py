"""One value in partitions of two lanes is found, whatever the records look like; nothing else is."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from confluent_kafka import Message

from tandem.formats.decoding import Decoder, Decoding
from tandem.formats.readers import reader_of
from tandem.formats.registry import SchemaRegistry
from tandem.formats.schemas import RegisteredSchema
from tandem.intake.partitioning import Placed, Scattered, placed_values, scattered
from tandem.manifest import SourceSpec
from tandem.protocol.values import TopicPartition

LANES = 2
BY_KEY = SourceSpec(name="orders", topics=("a", "b"), format="json", schema="customer STRING, n BIGINT")
BY_CUSTOMER = BY_KEY.model_copy(update={"partitioned_by": "customer"})
BY_NUMBER = BY_KEY.model_copy(update={"partitioned_by": "n"})
Given = tuple[int, bytes | None, bytes | None]
"""Partition, key and value."""


def look(source: SourceSpec, *records: Given, topic: str = "a", decoding: Decoding | None = None) -> Scattered | None:
    return scattered(source, values_of(source, records, topic, decoding), LANES)


def values_of(source: SourceSpec, records: Sequence[Given], topic: str, decoding: Decoding | None) -> list[Placed]:
    groups: dict[TopicPartition, list[Message]] = {}
    for partition, key, value in records:
        message = Message(topic=topic, partition=partition, offset=0, key=key, value=value, timestamp=(1, 0))
        groups.setdefault(TopicPartition(topic, partition), []).append(message)
    return list(placed_values(source, groups.items(), decoding))


@pytest.mark.parametrize(
    ("source", "records"),
    [
        (BY_KEY, [(0, b"x", b""), (1, b"y", b""), (1, b"x", b"")]),
        (BY_CUSTOMER, [(0, b"1", b'{"customer": "x"}'), (3, b"2", b'{"customer": "x", "n": 1}')]),
        (BY_CUSTOMER, [(0, b"1", b'{"customer": "5"}'), (3, b"2", b'{"customer": 5}')]),
        (BY_NUMBER, [(0, b"1", b'{"n": 5}'), (1, b"2", b'{"n": 5}')]),
    ],
    ids=["keys", "a column", "a text that is a number elsewhere", "a number"],
)
def test_a_value_in_two_lanes_is_found(source: SourceSpec, records: list[Given]) -> None:
    assert look(source, *records) is not None


@pytest.mark.parametrize(
    ("source", "records"),
    [
        (BY_KEY, [(0, b"x", b""), (2, b"x", b""), (1, b"y", b"")]),
        (BY_KEY, [(0, None, b""), (1, None, b"")]),
        (BY_CUSTOMER, [(0, b"k", b'{"customer": "x"}'), (1, b"k", b'{"customer": "y"}')]),
        (BY_CUSTOMER, [(0, b"1", b'{"customer": null}'), (1, b"2", b"{}"), (0, b"3", b"{}")]),
        (BY_CUSTOMER, [(0, b"1", b"{nonsense"), (1, b"2", b"{nonsense"), (0, b"3", None), (1, b"3", b"[1]")]),
        (BY_NUMBER, [(0, b"1", b'{"n": 5}'), (1, b"2", b'{"n": 6}')]),
    ],
    ids=["two partitions of a lane", "no keys", "other keys", "null", "no objects", "other numbers"],
)
def test_nothing_is_found_where_lanes_are_apart(source: SourceSpec, records: list[Given]) -> None:
    assert look(source, *records) is None


def test_several_topics_of_a_source_are_one() -> None:
    found = [*values_of(BY_KEY, [(0, b"x", b"")], "a", None), *values_of(BY_KEY, [(1, b"x", b"")], "b", None)]
    assert scattered(BY_KEY, found, LANES) is not None


def test_it_says_which_value_where_and_what_to_do() -> None:
    found = look(BY_CUSTOMER, (0, b"1", b'{"customer": "ann"}'), (3, b"2", b'{"customer": "ann"}'))
    assert found is not None
    assert found.words.startswith(
        "source orders is not partitioned by column customer (spec.sources[].partitionedBy): 'ann' is in a/0 (lane 0) and "
        "a/3 (lane 1), so each of these lanes keeps a state of its own for it. Say what"
    )
    long = look(BY_KEY, (0, b"x" * 900, b""), (1, b"x" * 900, b""))
    assert long is not None
    assert "the record's key" in long.words
    assert len(long.words) < 700


def test_what_a_registry_has_the_schema_of_is_compared_decoded() -> None:
    schemas = {one: _schema(one) for one in (7, 8)}
    registry = SchemaRegistry({"url": "http://localhost:1"})
    registry._known.update(schemas)
    reader = reader_of(schemas[7], None)
    topics = frozenset({"a"})
    decoding = Decoding(
        (Decoder("orders", topics, "value", reader), Decoder("orders", topics, "key", reader)), registry
    )
    source = SourceSpec(name="orders", topics=("a",), format="avro", key_format="avro")

    def ann(schema: int) -> bytes:
        return bytes([0, 0, 0, 0, schema]) + bytes([6]) + b"ann"

    def bob(schema: int) -> bytes:
        return bytes([0, 0, 0, 0, schema]) + bytes([6]) + b"bob"

    by_column = source.model_copy(update={"partitioned_by": "customer"})
    assert look(by_column, (0, ann(7), ann(7)), (1, ann(7), bob(7)), decoding=decoding) is None
    found = look(by_column, (0, ann(7), ann(7)), (1, bob(7), ann(8)), decoding=decoding)
    assert found is not None
    assert found.value == "'ann'"
    assert look(source, (0, ann(7), bob(7)), (1, bob(7), bob(7)), decoding=decoding) is None
    assert look(source, (0, ann(7), None), (1, ann(8), None), decoding=decoding) is not None
    assert look(by_column, (0, None, b"no frame"), (1, None, b"no frame"), (0, None, None), decoding=decoding) is None


def test_a_time_beyond_the_year_9999_beside_the_value_hinders_nothing() -> None:
    time = {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}
    order = RegisteredSchema(
        7,
        "AVRO",
        json.dumps({"type": "record", "name": "Order", "fields": [time, {"name": "customer", "type": "string"}]}),
    )
    registry = SchemaRegistry({"url": "http://localhost:1"})
    registry._known[7] = order
    decoding = Decoding((Decoder("orders", frozenset({"a"}), "value", reader_of(order, None)),), registry)
    source = SourceSpec(name="orders", topics=("a",), format="avro", partitioned_by="customer")
    late = b"\x80" * 8 + b"\x40"  # 2 ** 61 µs, the year 75,000
    ann = b"\x00\x00\x00\x00\x07" + late + b"\x06ann"

    found = look(source, (0, None, ann), (1, None, ann), decoding=decoding)

    assert found is not None
    assert found.value == "'ann'"


def _schema(schema_id: int) -> RegisteredSchema:
    fields = [{"name": "customer", "type": "string"}]
    return RegisteredSchema(schema_id, "AVRO", json.dumps({"type": "record", "name": "Order", "fields": fields}))
