"""An epoch's rows become records: each carries its epoch and index, and one that its topic cannot take is a dead letter."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest

from tandem.intake.letters import InputRecord
from tandem.intake.letters import letter as input_letter
from tandem.kafka.headers import RowId, job_of, row_id
from tandem.kafka.records import OutputRecord
from tandem.replica.records import first_partition, records_of
from tandem.replica.rows import EpochRows
from tandem.topics.declared import SinkTopics

SINKS = SinkTopics({"out": "topic-out", "dead-letter": "letters"}, {"topic-out": 3, "letters": 1}, "letters", 100)
COMPACTED = replace(SINKS, compacted=frozenset({"topic-out"}))
ROOMY = replace(SINKS, max_record_bytes=1_000)


def records(
    *rows: dict[str, object],
    partition: bool = False,
    headers: bool = False,
    refused: Mapping[int, str] | None = None,
    sinks: SinkTopics = SINKS,
) -> list[OutputRecord]:
    """The records of epoch 12 with these rows; a row's sink is `out` unless it says another."""
    types: dict[str, pa.DataType] = {"sink": pa.string(), "key": pa.binary(), "value": pa.binary()}
    types |= {"partition": pa.int32()} if partition else {}
    types |= {"headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))} if headers else {}
    full = [{"sink": "out", **row} for row in rows]
    columns = {name: pa.array([row.get(name) for row in full], kind) for name, kind in types.items()}
    return records_of(EpochRows.of(12, pa.table(columns), ordered=True), sinks, refused)


def letter(record: OutputRecord) -> dict[str, object]:
    """A dead letter; it goes to its topic and carries the row's id like any record."""
    assert (record.topic, record.partition, record.key) == ("letters", 0, None)
    assert row_id(dict(record.headers)) is not None
    content = json.loads(record.value or b"")
    assert isinstance(content, dict)
    return content


def test_the_dead_letter_of_an_input_record_keeps_its_coordinates_however_small_the_limit_is() -> None:
    found = InputRecord("events", "in", 2, 41, 0, b"k" * 500, b"v" * 5_000)
    key, value = input_letter(found, "a reason", SINKS.max_record_bytes)

    (record,) = records({"sink": "dead-letter", "key": key, "value": value})

    assert (record.topic, record.value) == ("letters", value)
    assert (json.loads(value)["offset"], json.loads(value)["valueBytes"]) == (41, 5_000)


def test_every_record_carries_its_epoch_its_index_and_then_the_headers_of_the_job() -> None:
    first, second = records(
        {"value": b"1", "headers": [{"key": "colour", "value": b"red"}]}, {"value": b"2"}, headers=True
    )

    assert row_id(dict(first.headers)) == RowId(12, 0)
    assert row_id(dict(second.headers)) == RowId(12, 1)
    assert list(first.headers)[2:] == [("colour", b"red")]


def test_a_record_names_its_job_before_the_headers_of_the_user_could() -> None:
    columns = {"sink": ["out"], "key": [None], "value": [b"1"], "headers": [[{"key": "tandem.job", "value": b"other"}]]}
    found = records_of(EpochRows.of(12, pa.table(columns), ordered=True), replace(SINKS, job="flights"))

    assert job_of(list(found[0].headers)) == "flights"


def test_a_key_chooses_the_partition_and_records_without_one_go_to_one_together() -> None:
    found = records({"key": b"k"}, {"value": b"1"}, {"key": b"", "value": b"2"}, {}, {})

    assert [record.partition for record in found] == [-1, 1, -1, 1, 1]


def test_many_records_without_a_key_go_round_the_partitions() -> None:
    found = Counter(record.partition for record in records(*({} for _ in range(3 * 256))))

    assert found == {0: 256, 1: 256, 2: 256}


@pytest.mark.parametrize("every", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("partitions", [2, 3, 6, 12])
def test_epochs_of_a_single_row_without_a_key_fill_all_partitions_evenly(partitions: int, every: int) -> None:
    found = Counter(first_partition(epoch, partitions) for epoch in range(0, 240 * every, every))

    assert found.keys() == set(range(partitions))
    assert max(found.values()) <= 1.3 * 240 / partitions


def test_only_rows_that_have_a_key_go_to_a_compacted_topic() -> None:
    keyed, keyless, empty = records(
        {"key": b"k", "value": b"1"}, {"value": b"2"}, {"key": b"", "value": None}, sinks=COMPACTED
    )

    assert (keyed.topic, empty.topic) == ("topic-out", "topic-out")
    assert letter(keyless) == {
        "sink": "out",
        "epoch": 12,
        "index": 1,
        "key": None,
        "reason": "it has no key, but topic-out is compacted (cleanup.policy), which needs one",
    }


def test_letters_in_a_compacted_topic_have_keys_of_their_own() -> None:
    sinks = replace(SINKS, compacted=frozenset({"letters"}), job="flights")
    found = records(
        {"sink": "dead-letter"}, {"sink": "dead-letter", "key": b"k"}, {"partition": 9}, partition=True, sinks=sinks
    )

    assert [(record.topic, record.key) for record in found] == [
        ("letters", b"flights/12/0"),
        ("letters", b"k"),
        ("letters", b"flights/12/2"),
    ]


def test_a_row_that_the_broker_refused_is_a_dead_letter_with_its_reason_cut_to_fit() -> None:
    before, refused, after = records(
        {"key": b"a", "value": b"1"},
        {"key": b"k" * 300, "value": b"2"},
        {"value": b"3"},
        refused={1: "no " * 1_000},
        sinks=ROOMY,
    )

    assert (before.topic, after.topic) == ("topic-out", "topic-out")
    assert letter(refused)["reason"] == ("no " * 1_000)[:500]
    assert letter(refused)["key"] == "k" * 200


def test_a_partition_that_the_job_chose_is_kept() -> None:
    found = records({"key": b"k", "partition": 2}, {"value": b"1", "partition": 0}, {"value": b"2"}, partition=True)

    assert [record.partition for record in found] == [2, 0, 1]


def test_rows_of_tables_are_no_records_but_have_an_index() -> None:
    found = records({"value": b"1"}, {"sink": "archive"}, {"value": b"2"})

    assert [row_id(dict(record.headers)) for record in found] == [RowId(12, 0), RowId(12, 2)]


def test_a_row_over_the_limit_becomes_a_dead_letter_in_its_place() -> None:
    fits, too_large, after = records(
        {"key": b"k", "value": b"v" * 99}, {"key": b"k", "value": b"v" * 100}, {"value": b"2"}
    )

    assert (fits.topic, after.topic) == ("topic-out", "topic-out")
    assert letter(too_large) == {
        "sink": "out",
        "epoch": 12,
        "index": 1,
        "key": "k",
        "reason": "the record has 101 bytes, over spec.maxRecordBytes",
    }


def test_headers_of_the_job_count_as_part_of_the_record() -> None:
    (found,) = records({"value": b"v" * 60, "headers": [{"key": "h", "value": b"x" * 40}]}, headers=True)

    assert letter(found)["reason"] == "the record has 101 bytes, over spec.maxRecordBytes"


def test_a_partition_that_the_topic_does_not_have_makes_a_dead_letter() -> None:
    found = records({"value": b"1", "partition": 3}, {"value": b"2", "partition": -1}, partition=True)

    assert [letter(record)["reason"] for record in found] == [
        "its partition is 3, but topic-out has 3",
        "its partition is -1, but topic-out has 3",
    ]


NAMELESS = "a header has no name, or one that is not UTF-8"


def test_a_header_without_a_name_makes_a_dead_letter() -> None:
    named, nameless = {"key": "colour", "value": b"red"}, {"key": None, "value": b"red"}
    found = records(
        {"key": b"k", "headers": [named, nameless]},
        {"headers": [None]},
        {"headers": [named]},
        {"headers": []},
        headers=True,
    )

    assert [letter(record)["reason"] for record in found[:2]] == [NAMELESS] * 2
    assert [list(record.headers)[2:] for record in found[2:]] == [[("colour", b"red")], []]


def test_a_header_whose_name_is_no_text_makes_a_dead_letter() -> None:
    headers = pa.array([[(b"colour", b"red")], [(b"colo\xfc", b"red")]], pa.map_(pa.binary(), pa.binary()))
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    columns = {"sink": ["out"] * 2, "key": [None] * 2, "value": [b"1", b"2"], "headers": headers.view(kind)}
    found = records_of(EpochRows.of(12, pa.table(columns), ordered=False), SINKS)

    assert list(found[0].headers)[2:] == [("colour", b"red")]
    assert letter(found[1])["reason"] == NAMELESS


def test_a_header_whose_name_the_client_would_cut_makes_a_dead_letter() -> None:
    """librdkafka takes names up to the first NUL; contents may have any."""
    found = records(
        {"headers": [{"key": "a\0b", "value": b"1"}]},
        {"headers": [{"key": "", "value": b"a\0b"}]},
        headers=True,
    )

    assert "a name with the character NUL" in str(letter(found[0])["reason"])
    assert list(found[1].headers)[2:] == [("", b"a\0b")]


def test_an_epoch_without_rows_has_no_records() -> None:
    assert records_of(EpochRows.of(12, pa.table({}), ordered=True), SINKS) == []
    assert EpochRows.of(12, pa.table({}), ordered=False).digest == EpochRows.of(13, pa.table({}), ordered=True).digest


def test_the_rows_of_a_lane_stay_in_its_partitions_and_equal_keys_in_one_of_them() -> None:
    kept = replace(SINKS, partitions={"topic-out": 12, "letters": 1}, kept=frozenset({"out"}), lane=1, lanes=4)
    rows: list[dict[str, object]] = [{"key": b"k%d" % (number % 30), "value": b"v"} for number in range(60)]

    made = records(*rows, sinks=kept)

    assert {record.partition for record in made} == {1, 5, 9}
    assert [record.partition for record in made[:30]] == [record.partition for record in made[30:]]
    without = records(*({"value": b"v"} for _ in range(3 * 256)), sinks=kept)
    assert Counter(record.partition for record in without) == {1: 256, 5: 256, 9: 256}
    assert records({"value": b"v", "partition": 2}, partition=True, sinks=kept)[0].partition == 2, (
        "a row may say so itself"
    )


@pytest.mark.parametrize(("lanes", "partitions"), [(2, 4), (4, 16), (4, 8)])
def test_a_lane_uses_all_its_partitions_though_its_keys_came_to_it_by_the_same_hash(
    lanes: int, partitions: int
) -> None:
    keys = [key for key in (b"k%d" % number for number in range(1_000)) if zlib.crc32(key) % lanes == 1]
    kept = replace(
        SINKS, partitions={"topic-out": partitions, "letters": 1}, kept=frozenset({"out"}), lane=1, lanes=lanes
    )

    made = records(*({"key": key, "value": b"v"} for key in keys), sinks=kept)

    assert {record.partition for record in made} == set(range(1, partitions, lanes))
