"""A fetch is given up when nothing comes, and not while records come, however slowly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from tandem.intake import fetch
from tandem.intake.fetch import InputReader
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.protocol.values import Offsets, TopicPartition

HERE, THERE = TopicPartition("in", 0), TopicPartition("in", 1)


class Clock:
    """Time goes by while a consumer is polled."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


class Slow:
    """Consumers that bring the `messages` of a world, one for each poll that lasts `each_s`.

    `skips` : how many records of aborted transactions each goes past meanwhile, up to `skips_to`; `at`: where it is.
    """

    skips, skips_to, at = 0, 1_000_000, 0

    def __init__(self, clock: Clock, messages: Iterator[Message], each_s: float) -> None:
        self.clock, self.messages, self.each_s = clock, messages, each_s
        self.made_at: list[float] = []
        self.settings: dict[str, Any] = {}

    def __call__(self, settings: dict[str, Any]) -> Slow:
        self.made_at.append(self.clock.now_s)
        self.settings = settings
        self.at = 0
        return self

    def position(self, partitions: list[Any]) -> list[Any]:
        return partitions  # none of which has an offset

    def consume(self, _count: int, _timeout_s: float) -> list[Message]:
        return []

    def poll(self, _timeout_s: float) -> Message | None:
        self.clock.now_s += self.each_s
        self.at = min(self.at + self.skips, self.skips_to)
        if "stats_cb" in self.settings:
            self.settings["stats_cb"](json.dumps({"topics": {"in": {"partitions": {"0": {"next_offset": self.at}}}}}))
        return next(self.messages, None)

    def ignore(self, *_given: Any) -> None:
        """Nothing to do."""

    incremental_assign = assign = pause = resume = close = list_topics = ignore


MakeWorld = Callable[[Sequence[Message | None], float], Slow]


@pytest.fixture
def make_world(monkeypatch: pytest.MonkeyPatch) -> MakeWorld:
    def make(messages: Sequence[Message | None], each_s: float) -> Slow:
        clock = Clock()
        world = Slow(clock, iter(messages), each_s)  # type: ignore[arg-type]
        monkeypatch.setattr(fetch, "time", clock)
        monkeypatch.setattr(fetch, "Consumer", world)
        return world

    return make


def record(offset: int, at: TopicPartition = HERE) -> Message:
    return Message(topic=at.topic, partition=at.partition, offset=offset, value=b"v")


def end(offset: int, at: TopicPartition = HERE) -> Message:
    return Message(
        topic=at.topic, partition=at.partition, offset=offset, error=KafkaError(KafkaError._PARTITION_EOF, "end")
    )


def fetched(ends: dict[TopicPartition, int], timeout_s: float = inf) -> list[int]:
    reader = InputReader(KafkaConnection({"bootstrap.servers": "nobody:9092"}), "read_committed")
    return [len(messages) for _, messages in reader.fetch(Offsets(), Offsets(ends), timeout_s)]


def test_an_epoch_whose_records_come_slowly_is_fetched_whole(make_world: MakeWorld) -> None:
    make_world([record(offset) for offset in range(100)], 4.0)

    assert fetched({HERE: 100}) == [100]


def test_the_end_of_a_partition_is_progress_too(make_world: MakeWorld) -> None:
    make_world([*([None] * 20), end(50), *([None] * 20), record(50)], 4.0)

    assert fetched({HERE: 51}) == [1]


def test_where_nothing_comes_it_is_given_up_with_what_to_look_at(make_world: MakeWorld) -> None:
    world = make_world([record(0)], 1.0)

    with pytest.raises(ReadTimeoutError) as failure:
        fetched({HERE: 2})

    assert 120 < world.clock.now_s - 101 < 125
    assert str(failure.value) == (
        "no record came for 120 s of input in/0 (to 2). See whether the brokers that lead these partitions answer; whether "
        "a producer left a transaction open; and whether a quota holds the job's user back (consumer_byte_rate or "
        "request_percentage: kafka-configs.sh --entity-type users)"
    )


def test_who_has_less_time_is_obeyed_though_records_come(make_world: MakeWorld) -> None:
    world = make_world([record(offset) for offset in range(100)], 4.0)

    with pytest.raises(ReadTimeoutError, match=r"not all records came within 15 s of input in/0 \(to 100\)"):
        fetched({HERE: 100}, 15.0)

    assert world.clock.now_s - 100 < 20


def test_of_many_partitions_some_are_named(make_world: MakeWorld) -> None:
    make_world([], 1.0)

    with pytest.raises(ReadTimeoutError, match=r"in/4 \(to 1\) and 2 more partitions\. See"):
        fetched({TopicPartition("in", number): 1 for number in range(7)})


def test_an_end_that_is_said_again_is_no_progress(make_world: MakeWorld) -> None:
    make_world([end(1)] * 1_000, 1.0)

    with pytest.raises(ReadTimeoutError, match="no record came for 120 s of input in/0"):
        fetched({HERE: 2})


def test_records_of_a_partition_that_is_not_waited_for_are_no_progress(make_world: MakeWorld) -> None:
    make_world([record(offset, THERE) for offset in range(1_000)], 1.0)

    with pytest.raises(ReadTimeoutError, match="no record came for 120 s of input in/0"):
        fetched({HERE: 1, THERE: 1})


def test_each_client_is_given_more_time_than_the_one_before(make_world: MakeWorld) -> None:
    """An answer of a broker that takes ten seconds comes to none that is given up after five."""
    world = make_world([], 1.0)

    with pytest.raises(ReadTimeoutError):
        fetched({HERE: 1})

    times = world.made_at
    assert [round(later - before) for before, later in pairwise(times)] == [6, 11, 21, 41, 41]


def test_a_client_that_skips_aborted_records_is_not_silent_however_long_it_takes(make_world: MakeWorld) -> None:
    world = make_world([*([None] * 1_000), record(100_000)], 1.0)
    world.skips = 10

    assert fetched({HERE: 100_001}) == [1]
    assert len(world.made_at) == 2
    assert "stats_cb" in world.settings


def test_a_client_that_follows_a_silent_one_stays_while_epochs_come_and_has_the_same_time(
    make_world: MakeWorld,
) -> None:
    """What it holds for the next epoch, and an answer on its way, would be lost with it."""
    world = make_world([None, record(0), record(1), record(2)], 6.0)
    reader = InputReader(KafkaConnection({"bootstrap.servers": "nobody:9092"}), "read_committed")

    for start in range(3):
        reader.fetch(Offsets({HERE: start}), Offsets({HERE: start + 1}))
        reader.rest()

    assert len(world.made_at) == 2
    world.clock.now_s += 11
    reader.rest()
    assert len(world.made_at) == 3
    assert "stats_cb" not in world.settings


def test_the_same_records_skipped_again_are_no_progress(make_world: MakeWorld) -> None:
    """Behind them, a transaction may be open for ever."""
    world = make_world([], 1.0)
    world.skips, world.skips_to = 10, 100

    with pytest.raises(ReadTimeoutError, match="no record came for 120 s of input in/0"):
        fetched({HERE: 100_001})


def test_who_wants_to_know_hears_that_a_broker_holds_the_consumer_back(make_world: MakeWorld) -> None:
    from confluent_kafka import ThrottleEvent

    world = make_world([record(0)], 1.0)
    heard: list[tuple[str, float]] = []
    reader = InputReader(
        KafkaConnection({"bootstrap.servers": "nobody:9092"}), "read_committed", lambda *given: heard.append(given)
    )
    reader.fetch(Offsets(), Offsets({HERE: 1}))

    world.settings["throttle_cb"](ThrottleEvent("broker:9092", 0, 1.5))

    assert heard == [("broker:9092", 1.5)]
