"""The adapters over confluent-kafka do on a real broker what the protocol takes for granted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from integration.written_job import PATIENCE_S, WrittenJob, create_topics, everything, marker, transactional_producer
from tandem.core.events import LogRecord, MarkerRecord
from tandem.devservers import KafkaBroker
from tandem.engine.interface import StoppedError
from tandem.intake.fetch import InputReader
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, ReadTimeoutError
from tandem.kafka.history import config_at, cut_at, last_marker, markers_back_to, watermarks
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import Topics
from tandem.protocol.codec import decode_marker, decode_proposal, encode_marker
from tandem.protocol.values import Claim, Config, Cut, Offsets, Proposal
from tandem.protocol.values import TopicPartition as TP  # noqa: N817
from tandem.replica.failure import FirstFailure
from tandem.replica.log_events import LogEvents
from tandem.replica.reader import LogReader
from tandem.topics.declared import LogTopics
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration


# Reading logs --------------------------------------------------------------------------------------------------------


class Read:
    """What the one reader of a replica hands on of a commits topic."""

    def __init__(self, kafka: KafkaBroker, topic: str, wait_ms: int = 100) -> None:
        self.epochs: list[int] = []
        self.failure = FirstFailure()
        properties = {"bootstrap.servers": kafka.bootstrap, "fetch.wait.max.ms": str(wait_ms)}
        tail = LogTail(KafkaConnection(properties), {topic: 0})
        events = LogEvents(tail, LogTopics("ordering", topic))
        self.reader = LogReader(events, self._take, self.failure)
        self.reader.start()

    def _take(self, event: LogRecord | MarkerRecord) -> None:
        assert isinstance(event, MarkerRecord)
        self.epochs.append(event.marker.epoch)


@pytest.fixture(params=[False, True], ids=["alone", "with others"])
def read(kafka: KafkaBroker, topic: str, request: pytest.FixtureRequest) -> Iterator[Read]:
    read = Read(kafka, topic)
    if request.param:
        read.reader.expect()
    yield read
    read.reader.stop()
    assert read.failure.error is None


def write(producer: Producer, topic: str, number: int, commit: bool) -> None:
    """A marker in a transaction of its own, which ends well or is aborted."""
    producer.begin_transaction()
    producer.produce(topic, encode_marker(marker(number, 1, number)), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    (producer.commit_transaction if commit else producer.abort_transaction)(PATIENCE_S)


def test_reading_to_the_end_passes_over_aborted_and_control_records(kafka: KafkaBroker, topic: str, read: Read) -> None:
    producer = transactional_producer(kafka.bootstrap, topic)
    for number, commit in enumerate((True, False, True, False, False)):
        write(producer, topic, number, commit)

    read.reader.read_to_end(PATIENCE_S)
    assert read.epochs == [0, 2]
    read.reader.read_to_end(PATIENCE_S)
    assert read.epochs == [0, 2]


def test_reading_to_the_end_waits_for_an_open_transaction(kafka: KafkaBroker, topic: str, read: Read) -> None:
    producer = transactional_producer(kafka.bootstrap, topic)
    read.reader.read_to_end(PATIENCE_S)
    assert read.epochs == []
    producer.begin_transaction()
    producer.produce(topic, encode_marker(marker(7, 1, 7)), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    with pytest.raises(ReadTimeoutError, match="read to"):
        read.reader.read_to_end(3)
    producer.commit_transaction(PATIENCE_S)
    read.reader.read_to_end(PATIENCE_S)
    assert read.epochs == [7]


def test_reading_to_the_end_does_not_wait_until_the_broker_answers_its_reader(
    kafka: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tandem.replica.reader._PROBE_S", PATIENCE_S)  # a busy machine is slow
    read = Read(kafka, topic, wait_ms=60_000)
    read.reader.expect()
    producer = transactional_producer(kafka.bootstrap, topic)
    for number, commit in ((0, True), (1, False), (2, True), (3, False)):
        write(producer, topic, number, commit)
        read.reader.read_to_end(PATIENCE_S)  # what ends a transaction stands behind its last record
        assert read.epochs == [0, 2][: number // 2 + 1]
    read.reader.stop()
    assert read.failure.error is None


def test_who_reads_to_the_end_is_let_go_when_the_reader_stops(kafka: KafkaBroker, topic: str) -> None:
    read = Read(kafka, topic)
    producer = transactional_producer(kafka.bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, encode_marker(marker(7, 1, 7)), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(read.reader.read_to_end, PATIENCE_S)
        assert not wait_until(waiting.done, Deadline(1.0), 0.02)
        read.reader.stop()
        with pytest.raises(StoppedError):
            waiting.result(PATIENCE_S)
    producer.abort_transaction(PATIENCE_S)


def test_a_tail_of_two_topics_starts_each_where_it_is_told(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = WrittenJob(kafka.bootstrap, topic_prefix)
    job.run([0, 1, 2])

    with LogTail(job.connection, {job.ordering: 2, job.commits: 2}) as tail:
        records = everything(tail)

    assert [decode_proposal(r.value) for r in records if r.topic == job.ordering] == [
        Cut(epoch, job.positions(10 * (epoch + 1)), 1_000 + epoch, 0, "orderer-0") for epoch in (1, 2)
    ]
    assert [decode_marker(r.value).epoch for r in records if r.topic == job.commits] == [1, 2]


def test_a_tail_whose_next_record_was_deleted_says_so(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = WrittenJob(kafka.bootstrap, topic_prefix)
    job.run([0, 1, 2])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_records([TopicPartition(job.ordering, 0, 3)])[TopicPartition(job.ordering, 0)].result(PATIENCE_S)

    with (
        LogTail(job.connection, {job.ordering: 1}) as tail,
        pytest.raises(LostInputError, match=r"ordering/0: offset 1"),
    ):
        everything(tail)


# Finding one's place -------------------------------------------------------------------------------------------------


def test_topics_that_were_just_made_are_at_their_beginning(
    connection: KafkaConnection, kafka: KafkaBroker, topic_prefix: str
) -> None:
    names = [f"{topic_prefix}-{number}" for number in range(50)]
    create_topics(kafka.bootstrap, dict.fromkeys(names, 1))
    assert {watermarks(connection, name, PATIENCE_S) for name in reversed(names)} == {(0, 0)}


def test_a_reader_that_is_connected_finds_a_topic_that_is_new_to_it_at_once(
    kafka: KafkaBroker, topic_prefix: str
) -> None:
    names = [f"{topic_prefix}.{number}" for number in range(6)]
    create_topics(kafka.bootstrap, dict.fromkeys(names, 1))
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for name in names:
        producer.produce(name, b"record", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    reader = InputReader(KafkaConnection({"bootstrap.servers": kafka.bootstrap}), "read_committed")
    took: list[float] = []
    try:
        for name in names:
            started = time.monotonic()
            ((_, records),) = reader.fetch(Offsets({TP(name, 0): 0}), Offsets({TP(name, 0): 1}), PATIENCE_S)
            assert [message.value() for message in records] == [b"record"]
            took.append(time.monotonic() - started)
    finally:
        reader.close()
    assert min(took[1:]) < 0.5, f"each took {took} s, librdkafka's second"


def test_the_newest_markers_of_a_long_topic_are_found(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = WrittenJob(kafka.bootstrap, topic_prefix)
    job.write_markers(*(marker(epoch, 0, epoch) for epoch in range(3_000)))

    newest = markers_back_to(job.connection, job.commits, None)
    assert newest[-1] == (2_999, marker(2_999, 0, 2_999))
    assert len(newest) < 200, "the whole topic was read for its last marker"

    for epoch in (2_999, 2_700, 5, 0):
        found = [m.epoch for _, m in markers_back_to(job.connection, job.commits, epoch)]
        assert found[0] <= epoch
        assert found == list(range(found[0], 3_000))
    assert [m.epoch for _, m in markers_back_to(job.connection, job.commits, -1)] == list(range(3_000))


def test_the_last_marker_is_found_behind_many_aborted_ones(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = WrittenJob(kafka.bootstrap, topic_prefix)
    assert last_marker(job.connection, job.commits) is None
    job.run([0])
    for _ in range(3):
        job.producer.begin_transaction()
        for _ in range(40):
            job.producer.produce(job.commits, b"aborted", partition=0)
        assert job.producer.flush(PATIENCE_S) == 0
        job.producer.abort_transaction(PATIENCE_S)

    assert last_marker(job.connection, job.commits) == marker(0, 4, 1)


def test_config_and_cuts_are_found_in_the_ordering_topic(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = WrittenJob(kafka.bootstrap, topic_prefix)
    job.run([0, 1])

    assert config_at(job.connection, job.ordering, 0) == Config(0, "c0ffee", job.positions(0), "replica-0")
    assert cut_at(job.connection, job.ordering, 2).epoch == 1
    with pytest.raises(ValueError, match="no cut at offset 0"):
        cut_at(job.connection, job.ordering, 0)


# Proposals -----------------------------------------------------------------------------------------------------------


def test_an_appender_and_a_tail_survive_a_broker_restart(own_kafka: KafkaBroker) -> None:
    connection = KafkaConnection({"bootstrap.servers": own_kafka.bootstrap})
    create_topics(own_kafka.bootstrap, {"log": 1})
    appender = ProposalAppender(connection, "log")
    before, after = Claim(0, 0, "before"), Claim(1, 0, "after")
    seen: list[Proposal] = []

    def arrives(proposal: Proposal) -> bool:
        seen.extend(decode_proposal(r.value) for r in tail.poll(0.1))
        return proposal in seen

    with LogTail(connection, {"log": 0}) as tail:
        appender.append(before)
        assert wait_until(lambda: arrives(before), Deadline(PATIENCE_S))

        own_kafka.kill()
        lost = Cut(0, Offsets(), 0, 0, "while it was away")
        for _ in range(50):
            appender.append(lost)
            seen.extend(decode_proposal(r.value) for r in tail.poll(0.1))  # five seconds: longer than a proposal lives
        own_kafka.start()

        deadline = Deadline(PATIENCE_S)
        while not arrives(after):
            appender.append(after)  # as whoever still wants it does
            assert not deadline.passed
    appender.close()

    assert seen[0] == before
    assert set(seen) <= {before, lost, after}


@pytest.mark.thorough
def test_ends_are_found_again_after_a_broker_restart(own_kafka: KafkaBroker) -> None:
    create_topics(own_kafka.bootstrap, {"log": 1})
    topics = Topics(KafkaConnection({"bootstrap.servers": own_kafka.bootstrap}), 5.0)
    assert topics.ends({"log": 1}) == {TP("log", 0): 0}

    own_kafka.restart()

    def found() -> bool:
        try:
            return bool(topics.ends({"log": 1}) == {TP("log", 0): 0})
        except KafkaException:  # it has just come up
            return False

    assert wait_until(found, Deadline(PATIENCE_S))
