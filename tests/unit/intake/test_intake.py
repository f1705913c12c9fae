"""Every record of an epoch is computed by Spark or becomes a dead letter, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message
from pyspark.sql.types import ArrayType, DecimalType, StringType, StructType, TimestampNTZType, TimestampType

from tandem.intake.fetch import Answered, Fetched
from tandem.intake.parsing import Counts, Intake, Place
from tandem.manifest import SourceSpec
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

PARSED = SourceSpec(name="parsed", topics=("json",), format="json", schema="id INT")
RAW = SourceSpec(name="raw", topics=("raw",))
LARGEST_MS = 9_223_372_036_854_775


class OddHeaders:
    """A record with a header whose name is no UTF-8: confluent-kafka raises, and ends the process when asked again."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._asked = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)

    def headers(self) -> list[tuple[str, bytes | None]]:
        assert not self._asked, "the process is gone"
        self._asked = True
        raise SystemError("returned a result with an exception set")


def message(topic: str, offset: int, value: bytes | None, timestamp_ms: int = 0, headers: Any = None) -> Message:
    return Message(
        topic=topic, partition=0, offset=offset, key=b"k", value=value, timestamp=(1, timestamp_ms), headers=headers
    )


def epoch(*messages: Message, answers: Sequence[Answered] = ()) -> Fetched:
    groups: dict[str, list[Message]] = {}
    for one in messages:
        groups.setdefault(one.topic() or "", []).append(one)
    records = tuple((TopicPartition(topic, 0), group) for topic, group in sorted(groups.items()))
    return Fetched(EpochRange(7, Offsets(), Offsets(), 1_000, 1, 99), records, tuple(answers))


def letters(table: pa.Table) -> list[dict[str, Any]]:
    return [json.loads(row["value"]) for row in table.to_pylist() if row["sink"] == "dead-letter"]


def test_several_objects_in_one_record_are_one_dead_letter_with_all_of_them() -> None:
    taken = Intake([PARSED], 1_000_000).take(
        epoch(message("json", 4, b'{"id":1}'), message("json", 5, b'{"id":2}\n{"id":3}'))
    )

    assert taken.batch["offset"].to_pylist() == [4]
    table, counts = taken.completed(pa.table({}))
    (letter,) = letters(table)
    assert (letter["source"], letter["offset"], letter["value"]) == ("parsed", 5, '{"id":2}\n{"id":3}')
    assert letter["reason"].startswith("there is text behind the JSON object, from byte 9 on")
    assert counts["parsed"] == Counts(2, 1, letter["reason"])


def test_a_raw_record_is_never_looked_into() -> None:
    taken = Intake([RAW, PARSED], 1_000_000).take(epoch(message("raw", 0, b'{"id":2}{"id":3}')))

    assert taken.batch.num_rows == 1
    assert taken.completed(pa.table({})) == (pa.table({}), {"raw": Counts(1, 0)})


@pytest.mark.parametrize("time", [2**63 - 1, -(2**63), LARGEST_MS + 1, 1_700_000_000_000_000_000])
def test_a_time_that_spark_cannot_hold_makes_a_dead_letter_with_the_number(time: int) -> None:
    taken = Intake([RAW], 1_000_000).take(epoch(message("raw", 0, b"v", time), message("raw", 1, b"w")))

    assert taken.batch["value"].to_pylist() == [b"w"]
    (letter,) = letters(taken.completed(pa.table({}))[0])
    assert (letter["offset"], letter["timestamp"]) == (0, time)
    assert letter["reason"] == f"its timestamp {time} (Unix, ms) is outside of what a TIMESTAMP can hold"


def test_the_latest_time_that_spark_can_hold_is_computed() -> None:
    times = [LARGEST_MS, -LARGEST_MS, -1]
    taken = Intake([RAW], 1_000).take(epoch(*(message("raw", n, b"v", time) for n, time in enumerate(times))))

    assert taken.batch["timestamp"].cast(pa.int64()).to_pylist() == [time * 1_000 for time in times]


def test_a_time_that_the_jobs_python_functions_cannot_hold_makes_a_dead_letter_too() -> None:
    intake = Intake([RAW], 1_000, times_us=(-5_000, 9_000))
    taken = intake.take(epoch(*(message("raw", n, b"v", time) for n, time in enumerate((-6, -4, 8, 10)))))

    assert taken.batch["seq"].to_pylist() == [1, 2]
    assert taken.refused[3] == "its timestamp 10 (Unix, ms) is outside of what a Python function of the job can hold"


def test_headers_are_columns_of_the_source_that_asks_for_them() -> None:
    traced = SourceSpec(name="traced", topics=("traced",), include_headers=True)
    given = [("trace", b"1"), ("tenant", b"t"), ("tenant", None)]
    intake = Intake([RAW, traced], 1_000)
    taken = intake.take(
        epoch(
            message("raw", 0, b"v", headers=[("a", b"")]),
            message("traced", 1, b"v", headers=given),
            message("traced", 2, b"v"),
        )
    )

    assert taken.batch.schema == intake.schema
    wanted = [{"key": name, "value": value} for name, value in given]
    assert taken.batch["headers"].to_pylist() == [None, wanted, None]


def test_a_header_name_that_is_no_utf8_makes_a_dead_letter_only_where_headers_are_read() -> None:
    odd = OddHeaders(message("raw", 3, b"v"))
    reading = SourceSpec(name="raw", topics=("raw",), include_headers=True)

    assert Intake([RAW], 1_000).take(epoch(odd)).refused == {}  # type: ignore[arg-type]
    for _ in range(2):
        taken = Intake([reading], 1_000).take(epoch(odd))  # type: ignore[arg-type]
        assert taken.batch.num_rows == 0
    (letter,) = letters(taken.completed(pa.table({}))[0])
    assert (letter["offset"], letter["reason"]) == (3, "the name of one of its headers is no UTF-8")


def test_what_others_refuse_is_left_out_too_and_answers_stay_with_their_records() -> None:
    records = [message("raw", n, b"%d" % n) for n in range(3)]
    asked = epoch(*records, answers=[Answered("score", ("a", "b", "c"))])
    taken = Intake([RAW], 1_000).take(asked, {("raw", 0, 1): "the job raised", ("raw", 0, 9): "not in this epoch"})

    assert taken.batch["seq"].to_pylist() == [0, 2]
    assert taken.batch["answers"].to_pylist() == [[("score", "a")], [("score", "c")]]
    assert taken.refused == {1: "the job raised"}


def test_numbers_with_which_spark_would_be_busy_for_minutes_are_refused_where_they_are_decimals() -> None:
    schema = (
        StructType()
        .add("price", DecimalType(10, 2))
        .add("more", ArrayType(DecimalType(10, 2)))
        .add("commit", StringType())
    )
    source = SourceSpec(name="parsed", topics=("json",), format="json", schema="price DECIMAL(10, 2)")
    values = {
        b'{"price": 1e99999999}': True,
        b'{"price": "1e99999999"}': True,
        b'{"price": 1, "price": 1E+99999999, "price": 2}': True,
        b'{"more": [1, 12.5e-99999]}': True,
        b'{"price": "1\\u0065\\u0039999999999"}': True,
        '{"price": "1e\u0669\u0669\u0669\u0669\u0669\u0669"}'.encode(): True,
        '{"price": "1.5", "more": [], "commit": "caf\u00e9 1e\u0669"}'.encode(): False,
        b'{"commit": "12e4567890", "price": 1.5e3}': False,
        b'{"other": 1e99999999}': False,
    }
    taken = Intake([source], 1_000, {"parsed": schema}).take(epoch(*(message("json", 0, value) for value in values)))

    assert [seq in taken.refused for seq in range(len(values))] == list(values.values())
    assert "1e99999999 is too large or too small a number for a DECIMAL" in taken.refused[0]


def test_times_without_a_day_are_refused_where_they_are_timestamps() -> None:
    """Spark would add the day on which it happens to read them."""
    schema = (
        StructType()
        .add("at", TimestampType())
        .add("more", ArrayType(TimestampType()))
        .add("s", StringType())
        .add("n", TimestampNTZType())
    )
    source = SourceSpec(name="parsed", topics=("json",), format="json", schema="at TIMESTAMP")
    values = {
        b'{"at": "12:00"}': True,
        b'{"at":"T1:2:3.5"}': True,
        b'{"at": "T12"}': True,
        b'{"at": " \\t12:00:00 Europe/Berlin"}': True,
        b'{"at": "1\\u0032:00"}': True,
        b'{"at": "GMT12:00"}': True,
        b'{"at": "2024-01-01", "at": "12:00", "at": 5}': True,
        b'{"more": ["2024-01-01", "1:00"]}': True,
        b"{'at': '12:00'}": True,
        b'{"s": "12:00", "at": "2024-01-01T12:00"}': False,
        b'{"s": "T12", "at": 12, "other": "12:00", "n": "12:00"}': False,
        b'{"at": "2024-01-01T00:00GMT+01:00", "more": null}': False,
        b"{'s': 'it is 12:00', 'at': 5}": False,
    }
    taken = Intake([source], 1_000, {"parsed": schema}).take(epoch(*(message("json", 0, value) for value in values)))

    assert [seq in taken.refused for seq in range(len(values))] == list(values.values())
    assert taken.refused[0].startswith("'12:00' is a time without a day, and Spark would add the day")


def test_letters_keep_the_columns_of_the_epochs_rows() -> None:
    taken = Intake([RAW], 1_000).take(epoch(message("raw", 0, b"v", 2**63 - 1)))
    rows = pa.table({"sink": ["out"], "key": pa.array([b"k"]), "value": pa.array([b"v"]), "partition": [3]})

    table, _ = taken.completed(rows)

    assert table.schema == rows.schema
    assert table["sink"].to_pylist() == ["out", "dead-letter"]
    assert table["partition"].to_pylist() == [3, None]


@pytest.mark.parametrize("count", [0, 1, 1_000])
@pytest.mark.parametrize("refused", [{}, {("raw", 0, 0): "it is odd"}])
def test_a_batch_holds_as_much_memory_as_its_records_need(count: int, refused: dict[Place, str]) -> None:
    """How large an epoch is, is told by that: to count what its columns need takes fifty times as long."""
    records = epoch(*(message("raw", n, b"v" * (n % 50)) for n in range(count)))
    batch = Intake([RAW], 1_000_000).take(records, refused).batch

    assert batch.get_total_buffer_size() == pytest.approx(batch.nbytes, rel=0.1, abs=64)
