"""Input that is gone before it was read is an error that says which, never a silent skip."""

from __future__ import annotations

import pytest

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, TopicMismatchError
from tandem.orderer.inputs import InputWatch, check_nothing_lost
from tandem.protocol.values import Offsets, TopicPartition


def at(*offsets: int) -> Offsets:
    return Offsets({TopicPartition("in", partition): offset for partition, offset in enumerate(offsets)})


def test_what_was_read_may_be_deleted_and_what_is_new_may_wait() -> None:
    check_nothing_lost(read_up_to=at(10, 5), beginnings=at(10, 0), ends=at(10, 9))


def test_a_new_partition_is_nothing_lost() -> None:
    check_nothing_lost(read_up_to=at(10), beginnings=at(0, 3), ends=at(10, 9))


def test_records_deleted_unread_are_named() -> None:
    with pytest.raises(LostInputError, match=r"in/1: records 5 to 6 were deleted before the job read them"):
        check_nothing_lost(read_up_to=at(10, 5), beginnings=at(10, 7), ends=at(10, 9))


def test_a_topic_that_ends_before_what_was_read_was_made_anew() -> None:
    with pytest.raises(LostInputError, match=r"in/0: the job has read up to 10, but the topic ends at 9"):
        check_nothing_lost(read_up_to=at(10, 5), beginnings=at(0, 0), ends=at(9, 9))


@pytest.mark.parametrize(
    ("topics", "said"),
    [(["in", "more"], "new is more"), (["renamed"], "new is renamed, missing is in"), (["more"], "missing is in")],
)
def test_other_inputs_than_those_of_the_log_are_refused_before_any_of_them_is_cut(topics: list[str], said: str) -> None:
    """Kafka is not even asked: it is not there."""
    watch = InputWatch(KafkaConnection({"bootstrap.servers": "127.0.0.1:1"}), dict.fromkeys(topics, "read_committed"))

    with pytest.raises(TopicMismatchError, match=rf"other inputs than the job: .*{said}.* change spec\.sources back"):
        watch.refresh(at(10, 5), 0.0)
