"""Transactions of epochs and fencing, on a real broker."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from integration.command import completed
from integration.fenced_producers import PARTITIONS
from integration.written_job import PATIENCE_S, create_topics, everything
from tandem.devservers import KafkaBroker
from tandem.kafka import batches
from tandem.kafka.client import KafkaConnection
from tandem.kafka.fencing import Fencer
from tandem.kafka.given_up import give_up
from tandem.kafka.headers import EPOCH_HEADER, INDEX_HEADER
from tandem.kafka.plain_producer import PlainProducer
from tandem.kafka.producer import Producer
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import RowsRefusedError
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import NewTopic, Topics
from tandem.kafka.transactions import TransactionalProducer
from tandem.protocol.actions import Outcome
from tandem.protocol.transaction_time import LONGEST_S
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration

TESTS = Path(__file__).parent.parent


def record(topic: str, value: bytes) -> OutputRecord:
    return OutputRecord(topic, None, value, (), 0)


def values(connection: KafkaConnection, topic: str, start: int = 0) -> list[bytes | None]:
    """What a reader of committed records finds up to the end."""
    with LogTail(connection, {topic: start}) as tail:
        return [found.value for found in everything(tail)]


def is_visible_uncommitted(connection: KafkaConnection, topic: str) -> bool:
    consumer = Consumer(connection.consumer("read_uncommitted"))
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=5.0, cached=False)[1] > 0
    except KafkaException:  # a new topic's broker may not know yet that it leads it
        return False
    finally:
        consumer.close()


def test_fencing_an_open_transaction_needs_no_new_connection_and_its_commit_fails(
    connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = TransactionalProducer(connection, topic)
    owner.start(PATIENCE_S)
    fencer = Fencer(connection)
    fencer.expect(topic)

    def refuse(*_: object) -> None:
        raise AssertionError("it connects only now: the producer that is kept ready was of no use")

    def fenced_in_the_middle() -> Iterator[OutputRecord]:
        yield record(topic, b"row")
        assert wait_until(lambda: is_visible_uncommitted(connection, topic), Deadline(PATIENCE_S))
        with monkeypatch.context() as patch:
            patch.setattr("tandem.kafka.fencing.Producer", refuse)
            patch.setattr("tandem.kafka.fencing._SPARE_S", PATIENCE_S)  # a slow broker gets no new producer
            fencer.fence(topic, PATIENCE_S)

    outcome = owner.publish(fenced_in_the_middle(), record(topic, b"marker"), PATIENCE_S)

    assert outcome is Outcome.FENCED
    assert values(connection, topic) == []


def test_who_is_fenced_while_its_requests_are_under_way_lives_on(kafka: KafkaBroker, topic_prefix: str) -> None:
    """In a process of its own: librdkafka would end it (`given_up`), after some 20 times."""
    create_topics(kafka.bootstrap, {topic_prefix: PARTITIONS})
    command = [sys.executable, "-m", "integration.fenced_producers", kafka.bootstrap, topic_prefix, "40"]

    done = completed(command, cwd=TESTS)

    assert done.returncode == 0, done.stderr[-2_000:]


def test_a_fatal_error_is_an_exception_of_kafka_whatever_else_the_client_has_to_report(
    connection: KafkaConnection, topic: str
) -> None:
    """confluent-kafka raises what `except Exception` does not catch where reports of deliveries follow the error."""
    for _ in range(5):
        owner = Producer(connection.transactional(topic, 30_000))
        owner.init_transactions(PATIENCE_S)
        owner.begin_transaction()
        Fencer(connection).fence(topic, PATIENCE_S)
        reported = list[KafkaError | None]()

        def is_useless(owner: Producer = owner, reported: list[KafkaError | None] = reported) -> bool:
            try:
                owner.produce(topic, b"row", partition=0, on_delivery=lambda error, _: reported.append(error))
            except KafkaException:
                return True
            return False

        assert wait_until(is_useless, Deadline(PATIENCE_S), interval_s=0.001)

        with pytest.raises(KafkaException):
            owner.flush(PATIENCE_S)
        give_up(owner)
        assert wait_until(lambda owner=owner: len(owner) == 0, Deadline(PATIENCE_S))


def test_an_owner_that_is_fenced_while_it_hands_over_rows_says_that_it_was(
    connection: KafkaConnection, topic: str
) -> None:
    """And not only that its producer is of no use any more, which would be reported as a refusal by Kafka."""
    owner = TransactionalProducer(connection, topic)
    owner.start(PATIENCE_S)

    def fenced_at_the_first() -> Iterator[OutputRecord]:
        yield record(topic, b"row")
        assert wait_until(lambda: is_visible_uncommitted(connection, topic), Deadline(PATIENCE_S))
        Fencer(connection).fence(topic, PATIENCE_S)
        deadline = Deadline(PATIENCE_S)
        while not deadline.passed:
            yield record(topic, b"row")
            time.sleep(0.001)

    assert owner.publish(fenced_at_the_first(), record(topic, b"marker"), PATIENCE_S) is Outcome.FENCED
    assert owner.failures[-1].error.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


@pytest.mark.parametrize("is_ready", [False, True], ids=["idle", "with its transaction begun"])
def test_an_idle_owner_that_was_fenced_cannot_commit(connection: KafkaConnection, topic: str, is_ready: bool) -> None:
    owner = TransactionalProducer(connection, topic)
    owner.start(PATIENCE_S)
    if is_ready:
        owner.ready()

    Fencer(connection).fence(topic, PATIENCE_S)

    assert owner.publish([record(topic, b"late")], record(topic, b"marker"), PATIENCE_S) is Outcome.FENCED
    assert owner.publish([], record(topic, b"marker"), PATIENCE_S) is Outcome.UNKNOWN  # unusable until it is renewed
    assert values(connection, topic) == []


def test_a_renewed_producer_publishes_rows_and_marker_together(connection: KafkaConnection, topic: str) -> None:
    owner = TransactionalProducer(connection, topic)
    owner.start(PATIENCE_S)
    Fencer(connection).fence(topic, PATIENCE_S)
    assert owner.publish([record(topic, b"late")], record(topic, b"marker"), PATIENCE_S) is Outcome.FENCED

    owner.start(PATIENCE_S)

    assert owner.publish([record(topic, b"row")], record(topic, b"marker"), PATIENCE_S) is Outcome.COMMITTED
    assert values(connection, topic) == [b"row", b"marker"]


def test_who_gets_ready_however_often_publishes_as_everybody(connection: KafkaConnection, topic: str) -> None:
    owner = TransactionalProducer(connection, topic)
    owner.ready()
    for renewed in (b"1", b"2"):
        owner.start(PATIENCE_S)
        for number in (b"-1", b"-2"):
            owner.ready()
            owner.ready()
            assert owner.publish([], record(topic, renewed + number), PATIENCE_S) is Outcome.COMMITTED
        owner.ready()

    assert values(connection, topic) == [b"1-1", b"1-2", b"2-1", b"2-2"]


def test_a_broker_takes_the_longest_transactions(connection: KafkaConnection, topic: str) -> None:
    owner = TransactionalProducer(connection, topic)
    owner.start(PATIENCE_S, LONGEST_S)

    assert owner.publish([record(topic, b"row")], record(topic, b"marker"), PATIENCE_S) is Outcome.COMMITTED


def test_an_id_can_be_fenced_again_and_by_several(connection: KafkaConnection, topic: str) -> None:
    one, other = Fencer(connection, most=1), Fencer(connection)
    for expected in (topic, f"{topic}-2", f"{topic}-3"):
        one.expect(expected)

    one.fence(topic, PATIENCE_S)
    other.fence(topic, PATIENCE_S)
    one.fence(topic, PATIENCE_S)

    owner = TransactionalProducer(connection, topic)
    owner.start(PATIENCE_S)
    assert owner.publish([], record(topic, b"marker"), PATIENCE_S) is Outcome.COMMITTED


def test_a_commit_that_a_dead_broker_never_answers_is_of_unknown_outcome(own_kafka: KafkaBroker) -> None:
    connection = KafkaConnection({"bootstrap.servers": own_kafka.bootstrap})
    create_topics(own_kafka.bootstrap, {"out": 1})
    owner = TransactionalProducer(connection, "owner")
    owner.start(PATIENCE_S)
    assert owner.publish([], record("out", b"first"), PATIENCE_S) is Outcome.COMMITTED

    own_kafka.pause()
    outcome = owner.publish([record("out", b"row")], record("out", b"second"), 1.0)
    own_kafka.resume()

    assert outcome is Outcome.UNKNOWN
    owner.start(PATIENCE_S)
    assert owner.publish([], record("out", b"third"), PATIENCE_S) is Outcome.COMMITTED
    assert values(connection, "out") in ([b"first", b"third"], [b"first", b"row", b"second", b"third"])


def test_which_row_a_topic_refuses_is_asked_when_the_transaction_is_tried_again(
    kafka: KafkaBroker, connection: KafkaConnection, topic: str
) -> None:
    """To serve a report for each record costs a third of a transaction's time, so none are asked while all goes well."""
    create_topics(kafka.bootstrap, {f"{topic}-marks": 1})
    Topics(connection).ensure([NewTopic(f"{topic}-latest", config={"cleanup.policy": "compact"})])
    headers = [[(EPOCH_HEADER, b"7"), (INDEX_HEADER, b"%d" % index)] for index in range(2)]
    rows = [OutputRecord(f"{topic}-latest", key, b"row", headers[i], 0) for i, key in enumerate((b"k", None))]
    mark = record(f"{topic}-marks", b"marker")
    owner = TransactionalProducer(connection, topic)

    owner.start(PATIENCE_S)
    assert owner.publish(rows, mark, PATIENCE_S) is Outcome.UNKNOWN
    owner.start(PATIENCE_S)
    with pytest.raises(RowsRefusedError) as refused:
        owner.publish(rows, mark, PATIENCE_S)
    owner.start(PATIENCE_S)
    assert owner.publish(rows[:1], mark, PATIENCE_S) is Outcome.COMMITTED

    assert [one.record for one in refused.value.refusals] == rows[1:]
    assert values(connection, f"{topic}-latest") == [b"row"]
    assert values(connection, f"{topic}-marks") == [b"marker"]


def test_the_epoch_after_batches_are_made_as_usual_again_is_published(
    connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most once, rows of an epoch whose end is not known are given up: also of one that was never sent."""
    owner = PlainProducer(connection)
    owner.start(PATIENCE_S)
    owner._batches.refused(is_known=False)
    monkeypatch.setattr(batches, "_CAREFUL_S", 0.0)
    for epoch in (b"1", b"2", b"3"):
        assert owner.publish([record(topic, epoch)], record(topic, b"marker"), PATIENCE_S) is Outcome.COMMITTED
    assert values(connection, topic) == [b"1", b"marker", b"2", b"marker", b"3", b"marker"]
