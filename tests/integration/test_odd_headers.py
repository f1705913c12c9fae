"""Kafka takes any bytes as a header's name; clients for Python only make texts. Records with others come all the same."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from integration.odd_headers import produce
from tandem.devservers import KafkaBroker
from tandem.intake.fetch import Fetched, InputReader
from tandem.intake.parsing import Intake
from tandem.kafka.client import KafkaConnection
from tandem.kafka.headers import HEADER_BYTES
from tandem.manifest import SourceSpec
from tandem.orderer.counted import RECORD_BYTES, weight
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

pytestmark = pytest.mark.integration


def test_a_name_that_is_no_text_makes_a_dead_letter_where_headers_are_read(
    kafka: KafkaBroker, connection: KafkaConnection, topic: str
) -> None:
    for name in (b"plain", b"caf\xe9"):
        produce(kafka.bootstrap, topic, name)
    place = TopicPartition(topic, 0)
    reader = InputReader(connection, "read_committed")
    records = reader.fetch(Offsets({place: 0}), Offsets({place: 2}), 60)
    reader.close()
    fetched = Fetched(EpochRange(0, Offsets(), Offsets({place: 2}), 1_000, 1, 1), tuple(records))

    def taken(include_headers: bool) -> tuple[pa.RecordBatch, list[str]]:
        source = SourceSpec(name="events", topics=(topic,), include_headers=include_headers)
        found = Intake([source], 10_000).take(fetched)
        letters = found.completed(pa.table({}))[0]
        return found.batch, [json.loads(value)["reason"] for value in letters.to_pydict().get("value", [])]

    for _ in range(2):  # whoever asks once more, gets the same
        batch, letters = taken(include_headers=True)
        assert batch["headers"].to_pylist() == [[{"key": "plain", "value": b"x"}]]
        assert letters == ["the name of one of its headers is no UTF-8"]
    assert [weight(message) for message in records[0][1]] == [
        RECORD_BYTES + 1 + HEADER_BYTES + len("plainx"),
        RECORD_BYTES + 1,
    ]
    batch, letters = taken(include_headers=False)
    assert (batch.num_rows, letters) == (2, [])
