"""Which records an epoch was computed from is said in a few bytes: also where compaction takes one, the next time."""

from __future__ import annotations

from confluent_kafka import Message

from tandem.intake.fetch import Fetched
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

A, B = TopicPartition("in", 0), TopicPartition("in", 1)


def inputs(offsets: dict[TopicPartition, list[int]], ends: dict[TopicPartition, int]) -> str:
    records = tuple(
        (tp, [Message(topic=tp.topic, partition=tp.partition, offset=one) for one in found])
        for tp, found in offsets.items()
    )
    return Fetched(EpochRange(0, Offsets({A: 10}), Offsets(ends), 1, 1, 1), records).inputs


def test_the_same_records_are_told_alike() -> None:
    whole = {A: [10, 11, 12], B: [0, 2]}
    assert inputs(whole, {A: 13, B: 3}) == inputs(dict(whole), {A: 13, B: 3})
    assert inputs(whole, {A: 13, B: 3}).startswith("5:")


def test_another_record_that_is_missing_is_told_otherwise_though_there_are_as_many() -> None:
    found = {
        inputs({A: [10, 11, 12], B: [0, 1, 2]}, {A: 13, B: 3}),
        inputs({A: [10, 12], B: [0, 1, 2]}, {A: 13, B: 3}),
        inputs({A: [10, 11], B: [0, 1, 2]}, {A: 13, B: 3}),
        inputs({A: [10, 11, 12], B: [1, 2]}, {A: 13, B: 3}),
        inputs({A: [10, 11, 12], B: []}, {A: 13, B: 3}),
    }
    assert len(found) == 5
