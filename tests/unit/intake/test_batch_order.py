"""An epoch's records become one batch, in the order of the merge, with all that Spark's own Kafka source gives."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
from confluent_kafka import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.intake.batch import SCHEMA, to_batch
from tandem.intake.fetch import Answered, Fetched
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

CREATED = 1_700_000_000_123
CUT = CREATED + 250
SEED = 2**63 - 1


def message(partition: int, offset: int, timestamp: tuple[int, int] = (1, CREATED), topic: str = "in") -> Message:
    value = f"{partition}:{offset}".encode()
    return Message(topic=topic, partition=partition, offset=offset, key=b"k", value=value, timestamp=timestamp)


def fetched(*inputs: list[Message], epoch: int = 7) -> Fetched:
    """An epoch with the records of partition 0, 1, …"""
    records = tuple((TopicPartition("in", partition), messages) for partition, messages in enumerate(inputs))
    return Fetched(EpochRange(epoch, Offsets(), Offsets(), CUT, SEED, 99), records)


def values(batch: pa.RecordBatch) -> list[str]:
    return [value.decode() for value in batch["value"].to_pylist()]


def test_records_of_several_partitions_take_turns() -> None:
    batch = to_batch(fetched([message(0, n) for n in (4, 5, 6)], [message(1, 9)], [message(2, 1), message(2, 2)]))

    assert values(batch) == ["0:4", "1:9", "2:1", "0:5", "2:2", "0:6"]
    assert batch["seq"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert batch["epoch"].to_pylist() == [7] * 6


@settings(derandomize=True, database=None, deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_the_order_is_that_of_a_merge_which_takes_one_record_of_each_input_in_turn(counts: list[int]) -> None:
    inputs = [[message(partition, n) for n in range(count)] for partition, count in enumerate(counts)]
    waiting = [[f"{partition}:{n}" for n in range(count)] for partition, count in enumerate(counts)]
    merged = []
    while any(waiting):
        merged += [queue.pop(0) for queue in waiting if queue]

    assert values(to_batch(fetched(*inputs))) == merged


def test_every_column_is_that_of_the_record() -> None:
    batch = to_batch(fetched([message(3, 41, topic="flights")]))

    assert batch.schema == SCHEMA
    assert batch.to_pylist() == [
        {
            "key": b"k",
            "value": b"3:41",
            "topic": "flights",
            "partition": 3,
            "offset": 41,
            "timestamp": datetime.fromtimestamp(CREATED // 1_000, UTC).replace(microsecond=123_000),
            "timestampType": 0,
            "epoch": 7,
            "seq": 0,
            "epoch_time": datetime.fromtimestamp(CUT // 1_000, UTC).replace(microsecond=373_000),
            "epoch_seed": SEED,
            "answers": None,
        }
    ]


def test_answers_stay_with_their_records() -> None:
    epoch = fetched([message(0, n) for n in (4, 5, 6)], [message(1, 9)])
    asked = (Answered("score", ("a", None, "c", "d")), Answered("rate", ("r",) * 4))

    rows = to_batch(replace(epoch, answers=asked)).to_pylist()
    assert [(row["value"].decode(), dict(row["answers"])) for row in rows] == [
        ("0:4", {"score": "a", "rate": "r"}),
        ("1:9", {"score": "d", "rate": "r"}),
        ("0:5", {"score": None, "rate": "r"}),
        ("0:6", {"score": "c", "rate": "r"}),
    ]


def test_a_time_given_by_the_broker_is_told_from_one_given_by_the_producer() -> None:
    batch = to_batch(fetched([message(0, 0, (1, CREATED)), message(0, 1, (2, CREATED))]))

    assert batch["timestampType"].to_pylist() == [0, 1]


def test_records_without_key_or_value_are_null() -> None:
    bare = Message(topic="in", partition=0, offset=0, key=None, value=None, timestamp=(1, CREATED))

    (row,) = to_batch(fetched([bare])).to_pylist()
    assert (row["key"], row["value"]) == (None, None)


def test_an_epoch_may_be_empty() -> None:
    assert to_batch(fetched([], [])).num_rows == 0
    assert to_batch(replace(fetched([], []), answers=(Answered("score", ()),))).num_rows == 0
    assert to_batch(fetched()).schema == SCHEMA
