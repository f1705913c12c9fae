"""Who reads the inputs ahead of the cuts: what is followed, what is waited for, and for how long."""

from __future__ import annotations

import pytest

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import NotAllowedError
from tandem.orderer.counted import Counted, sizes_before
from tandem.orderer.sizes import InputSizes
from tandem.protocol.values import Offsets, TopicPartition
from unit.orderer.fake_inputs import A, B, Error, FakeConsumer, Message, Now, at


@pytest.mark.parametrize("tables", [frozenset(), frozenset({"in"})])
def test_nothing_counts_as_read_before_it_is_followed_nor_where_a_table_is_read_to_its_end_first(
    nowhere: KafkaConnection, tables: frozenset[str]
) -> None:
    sizes = InputSizes(nowhere, {"in": "read_committed"}, 1_000, 10, tables)
    assert sizes.read_to() == {}
    sizes.follow(Offsets({A: 3}), (A, B), 0.0)
    assert sizes.read_to() == ({} if tables else {A: 3, B: 0})
    sizes.close()


def test_an_orderer_that_followed_in_vain_for_long_rests(nowhere: KafkaConnection) -> None:
    sizes = InputSizes(nowhere, {"in": "read_committed"}, 1_000, 10)
    sizes.follow(at(0, 0), (A, B), 0.0)
    sizes.meanwhile(1_000.0)
    assert sizes.read_to() == {A: 0, B: 0}
    sizes.meanwhile(5_000.0)
    assert sizes.read_to() == {}
    sizes.close()


def test_an_input_is_silent_only_since_something_of_it_is_waited_for(
    nowhere: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is heard of an empty input for hours: that is no reason to connect again."""
    monkeypatch.setattr("tandem.orderer.sizes.SILENCE_S", 0.0)
    sizes = InputSizes(nowhere, {"in": "read_committed"}, 1_000, 10)
    sizes.follow(at(0, 0), (A, B), 0.0)
    for followed in ({A: 0, B: 0}, {}):  # it is connected again by the second: nothing came since the first
        assert sizes.bounded(at(0, 0), at(1, 0), 0, 0.0) == at(0, 0)
        assert sizes.read_to() == followed
    sizes.close()


def test_a_partition_of_which_nothing_comes_is_silent_though_another_delivers(
    sizes: InputSizes, now: Now, consumers: list[FakeConsumer]
) -> None:
    for second in range(8):
        consumers[0].coming.append(Message(A, second))
        sizes.bounded(at(second, 0), at(second + 1, 1), 0, 0.0)
        now.s += 1.0
    sizes.follow(at(8, 0), (A, B), 0.0)
    assert len(consumers) == 2


def test_a_partition_that_gets_on_is_not_silent_however_far_its_end_is(
    sizes: InputSizes, now: Now, consumers: list[FakeConsumer]
) -> None:
    for offset in range(8):
        consumers[0].coming.append(Message(B, offset))
        sizes.read_to()
        sizes.bounded(at(0, 0), at(0, 9), 0, 0.0)
        now.s += 1.0
    sizes.follow(at(0, 0), (A, B), 0.0)
    assert len(consumers) == 1


def test_a_paused_partition_is_resumed_before_it_is_given_back(
    sizes: InputSizes, consumers: list[FakeConsumer]
) -> None:
    """librdkafka remembers the pause of a partition that is assigned again."""
    consumers[0].coming.extend(Message(A, offset) for offset in range(200))
    sizes.meanwhile(0.0)
    sizes.meanwhile(0.0)
    assert consumers[0].paused == {A}
    sizes.meanwhile(5_000.0)
    assert (consumers[0].paused, sizes.read_to()) == (set(), {})


def test_what_is_counted_ahead_is_bounded_for_all_partitions_together(
    now: Now,  # noqa: ARG001
    consumers: list[FakeConsumer],
    nowhere: KafkaConnection,
) -> None:
    full = [TopicPartition("in", number) for number in range(8)]
    sizes = InputSizes(nowhere, {"in": "read_committed"}, 1_000_000, 10)
    sizes.follow(Offsets(), (*full, TopicPartition("in", 8)), 0.0)
    consumers[0].coming.extend(Message(tp, offset) for tp in full for offset in range(21))
    sizes.meanwhile(0.0)
    sizes.meanwhile(0.0)
    assert consumers[0].paused == set(full), "more than two epochs of each"


def test_a_right_that_was_taken_away_for_a_moment_is_no_reason_to_end_while_nothing_is_waited_for(
    sizes: InputSizes, now: Now, consumers: list[FakeConsumer]
) -> None:
    """That it is back, only a record shows."""
    consumers[0].coming.append(Message(A, 0, Error(29)))
    sizes.meanwhile(0.0)
    now.s += 3_600.0
    sizes.follow(at(0, 0), (A, B), 0.0)
    sizes.bounded(at(0, 0), at(1, 0), 0, 0.0)
    now.s += 20.0
    sizes.bounded(at(0, 0), at(1, 0), 0, 0.0)
    now.s += 20.0
    with pytest.raises(NotAllowedError):
        sizes.bounded(at(0, 0), at(1, 0), 0, 0.0)


def test_another_consumer_follows_after_one_that_did_not_find_a_topic(
    sizes: InputSizes, now: Now, consumers: list[FakeConsumer]
) -> None:
    """Its reading has ended, which nothing would show before the next record is waited for."""
    consumers[0].coming.append(Message(A, 0, Error(3)))
    sizes.meanwhile(0.0)
    sizes.follow(at(0, 0), (A, B), 0.0)
    assert len(consumers) == 1, "it is given a moment"
    now.s += 3.0
    sizes.follow(at(0, 0), (A, B), 0.0)
    sizes.follow(at(0, 0), (A, B), 0.0)
    assert len(consumers) == 2


def test_a_short_epoch_is_found_without_a_look_at_all_that_is_counted_behind_it() -> None:
    compared: list[int] = []

    class Offset(int):
        def __lt__(self, other: int) -> bool:
            compared.append(self)
            return int(self) < other

    counted = Counted(0, 0)
    for offset in range(1_000):
        counted.take(Offset(offset), 7)
    found = sizes_before(counted, 10)
    assert (found.offsets, found.weights, found.to) == (tuple(range(10)), (7,) * 10, 10)
    assert len(compared) < 1_020, "each was compared once when it was taken"
