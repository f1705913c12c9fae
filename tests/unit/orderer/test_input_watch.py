"""What an orderer makes of what the brokers say about its inputs: patience where they may err, an end where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tandem.kafka.admin import Asked
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, MissingTopicError, RecreatedTopicError, TopicMismatchError
from tandem.kafka.topics import Topics
from tandem.orderer.inputs import InputWatch
from tandem.protocol.values import Offsets, TopicPartition

NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
KNOWN = (("in", "first"),)


class Brokers(Topics):
    """Answers as the test says, without any broker."""

    def __init__(self) -> None:
        super().__init__(NOWHERE)
        self.there: dict[str, int] = {"in": 2}
        self.id, self.stable, self.end = "first", 10, 10
        self.still: list[str] = []  # what they answer before `id`

    def all(self) -> dict[str, int]:
        return dict(self.there)

    def ids(self, names: Iterable[str]) -> dict[str, str]:
        now = self.still.pop(0) if self.still else self.id
        return {name: now for name in names if name in self.there}

    def ends(self, topics: Asked, isolation_level: str = "read_committed", timeout_s: float | None = None) -> Offsets:
        del timeout_s
        return self._at(topics, self.stable if isolation_level == "read_committed" else self.end)

    def beginnings(self, topics: Asked) -> Offsets:
        return self._at(topics, 0)

    @staticmethod
    def _at(topics: Asked, offset: int) -> Offsets:
        numbers = {name: range(some) if isinstance(some, int) else some for name, some in topics.items()}
        return Offsets({TopicPartition(name, p): offset for name, some in numbers.items() for p in some})


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def watch(brokers: Brokers) -> InputWatch:
    watch = InputWatch(NOWHERE, {"in": "read_committed"})
    watch._topics = brokers
    watch.refresh(Offsets(), 0.0)
    return watch


def looks(watch: InputWatch, *seconds: float, read: int = 0) -> None:
    for second in seconds:
        watch.refresh(Offsets({TopicPartition("in", 0): read, TopicPartition("in", 1): read}), second * 1_000, KNOWN)


def test_one_answer_without_the_topic_stops_nobody(watch: InputWatch, brokers: Brokers) -> None:
    brokers.there = {}
    looks(watch, 6)
    brokers.there = {"in": 2}
    looks(watch, 8)
    assert watch.ends() == Offsets({TopicPartition("in", 0): 10, TopicPartition("in", 1): 10})


def test_positions_of_other_inputs_are_refused_as_soon_as_the_log_shows_them(watch: InputWatch) -> None:
    known = Offsets({TopicPartition("in", 0): 5})
    watch.refresh(known, 1.0)
    watch.refresh(known, 2.0)
    with pytest.raises(TopicMismatchError, match="other inputs than the job"):
        watch.refresh(Offsets({TopicPartition("another", 0): 5}), 3.0)


def test_a_topic_that_stays_away_is_refused_after_half_a_minute(watch: InputWatch, brokers: Brokers) -> None:
    brokers.there = {}
    looks(watch, 6, 20, 35)
    with pytest.raises(MissingTopicError, match="topic in does not exist"):
        looks(watch, 37)


def test_patience_begins_again_with_every_answer_that_has_the_topic(watch: InputWatch, brokers: Brokers) -> None:
    for start in (6, 40, 80):
        brokers.there = {}
        looks(watch, start, start + 20)
        brokers.there = {"in": 2}
        looks(watch, start + 25)


def test_at_the_first_look_a_missing_topic_is_refused_at_once(brokers: Brokers) -> None:
    watch = InputWatch(NOWHERE, {"in": "read_committed"})
    watch._topics, brokers.there = brokers, {}
    with pytest.raises(MissingTopicError):
        watch.refresh(Offsets(), 0.0)


def test_partitions_that_the_job_has_read_and_that_are_gone_are_refused(watch: InputWatch, brokers: Brokers) -> None:
    brokers.there = {"in": 1}
    looks(watch, 6)
    with pytest.raises(MissingTopicError, match="topic in has 1 partitions, but the job has read 2"):
        looks(watch, 37)


def test_at_the_first_look_they_are_refused_at_once(brokers: Brokers) -> None:
    watch = InputWatch(NOWHERE, {"in": "read_committed"})
    watch._topics, brokers.there = brokers, {"in": 1}
    with pytest.raises(MissingTopicError):
        looks(watch, 0, read=3)


def test_a_topic_with_another_id_is_refused_at_once_though_it_has_as_many_records(
    watch: InputWatch, brokers: Brokers
) -> None:
    brokers.id = "second"
    with pytest.raises(RecreatedTopicError, match=r"in \(its id was first, now it is second\)"):
        looks(watch, 6, read=10)


def test_no_cut_relies_on_an_old_look_at_the_ids(watch: InputWatch, brokers: Brokers) -> None:
    assert watch.are_same(KNOWN, 10_000.0)
    brokers.id = "second"
    assert watch.are_same(KNOWN, 10_100.0)
    with pytest.raises(RecreatedTopicError):
        watch.are_same(KNOWN, 10_300.0)


def test_while_a_topic_is_gone_nothing_is_cut(watch: InputWatch, brokers: Brokers) -> None:
    brokers.there = {}
    assert not watch.are_same(KNOWN, 10_000.0)


def test_where_brokers_give_no_ids_it_is_seen_by_what_is_missing(watch: InputWatch, brokers: Brokers) -> None:
    brokers.id = ""
    looks(watch, 6, read=10)
    assert watch.topic_ids == ()
    brokers.end = brokers.stable = 4
    with pytest.raises(LostInputError, match="the job has read up to 10, but the topic ends at 4"):
        looks(watch, 12, read=10)


def test_records_behind_an_open_transaction_count_as_waiting_and_are_named_while_it_lasts(
    watch: InputWatch, brokers: Brokers
) -> None:
    brokers.end = 14
    looks(watch, 6, 12)
    assert watch.held == ()
    looks(watch, 18)
    assert [(one.topic, one.partition, one.offset, one.records, one.seconds) for one in watch.held] == [
        ("in", 0, 10, 4, 12.0),
        ("in", 1, 10, 4, 12.0),
    ]
    available = watch.ends()
    assert available is not None
    assert watch.waiting(available, available) == 8
    assert "in/0: a producer's transaction has been open at offset 10 for 10 s or longer" in watch.held[0].words

    brokers.stable = 14
    looks(watch, 24)
    assert watch.held == ()


def test_transactions_that_come_and_go_hold_back_nothing(watch: InputWatch, brokers: Brokers) -> None:
    for look in range(1, 9):
        brokers.stable, brokers.end = 10 + look, 14 + look
        looks(watch, 6 * look)
        assert watch.held == ()


def test_of_a_lane_only_its_partitions_are_looked_at(brokers: Brokers) -> None:
    def odd(inputs: Mapping[str, int]) -> dict[str, range]:
        return {topic: range(1, count, 2) for topic, count in inputs.items()}

    watch = InputWatch(NOWHERE, {"in": "read_committed"}, odd)
    watch._topics = brokers
    brokers.there = {"in": 4}
    watch.refresh(Offsets(), 0.0)
    assert watch.ends() == Offsets({TopicPartition("in", 1): 10, TopicPartition("in", 3): 10})


def halves(inputs: Mapping[str, int]) -> dict[str, range]:
    """As the first of two lanes reads; see `partitions_read`."""
    if any(count % 2 for count in inputs.values()):
        raise TopicMismatchError("no multiple of spec.lanes: 2")
    return {topic: range(0, count, 2) for topic, count in inputs.items()}


@pytest.fixture
def lane(brokers: Brokers) -> InputWatch:
    watch = InputWatch(NOWHERE, {"in": "read_committed"}, halves)
    watch._topics = brokers
    watch.refresh(Offsets(), 0.0)
    return watch


def grown(lane: InputWatch, brokers: Brokers, partitions: int, *seconds: float) -> None:
    brokers.there = {"in": partitions}
    for second in seconds:
        lane.refresh(Offsets({TopicPartition("in", 0): 10}), second * 1_000, KNOWN)


def test_partitions_that_lanes_cannot_divide_are_refused_after_half_a_minute(
    lane: InputWatch, brokers: Brokers
) -> None:
    grown(lane, brokers, 5, 6, 20, 35)
    assert lane.ends() == Offsets({TopicPartition("in", 0): 10})
    with pytest.raises(TopicMismatchError, match="no multiple"):
        grown(lane, brokers, 5, 37)


def test_partitions_that_are_seen_one_after_the_other_are_read_once_lanes_can_divide_them(
    lane: InputWatch, brokers: Brokers
) -> None:
    grown(lane, brokers, 3, 6, 30)
    grown(lane, brokers, 4, 35, 41)
    grown(lane, brokers, 5, 47)
    assert lane.ends() == Offsets({TopicPartition("in", 0): 10, TopicPartition("in", 2): 10})


def test_a_loss_is_that_of_another_topic_though_the_brokers_name_it_late(watch: InputWatch, brokers: Brokers) -> None:
    brokers.id, brokers.still = "second", ["first", "first"]
    assert isinstance(watch.cause_of(LostInputError("deleted"), KNOWN), RecreatedTopicError)


def test_a_loss_of_the_same_topic_stays_what_it_is(watch: InputWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.kafka.topic_ids._NAMED_WITHIN_S", 0.0)
    loss = LostInputError("deleted")
    assert watch.cause_of(loss, KNOWN) is loss
    assert watch.cause_of(loss, ()) is loss
