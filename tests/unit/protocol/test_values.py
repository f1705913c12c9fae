"""Offsets are the same in every replica."""

from tandem.protocol.values import Offsets, TopicPartition
from unit.protocol.builders import at


def test_positions_are_in_the_order_of_topic_then_partition() -> None:
    shuffled = Offsets({TopicPartition("b", 0): 1, TopicPartition("a", 10): 2, TopicPartition("a", 2): 3})
    assert list(shuffled) == [TopicPartition("a", 2), TopicPartition("a", 10), TopicPartition("b", 0)]


def test_positions_with_the_same_offsets_are_equal_and_hash_alike() -> None:
    some = Offsets({TopicPartition("a", 0): 1, TopicPartition("b", 0): 2})
    same = Offsets([(TopicPartition("b", 0), 2), (TopicPartition("a", 0), 1)])
    assert some == same
    assert hash(some) == hash(same)
    assert some != at(1, 2)


def test_records_are_counted_since_earlier_positions_and_from_zero_for_a_new_input() -> None:
    assert at(5, 7).records_since(at(2)) == 3 + 7


def test_positions_show_themselves_readably() -> None:
    assert repr(at(3, 4)) == "Offsets(in/0:3, in/1:4)"
