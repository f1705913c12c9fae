"""The embedded Kafka is real: it serves, stops, dies, comes back, freezes, and keeps its data."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from integration.waiting import PATIENCE_S, eventually, gone
from integration.written_job import create_topics, transactional_producer
from tandem.devservers import BrokerSettings, EmbeddedError, KafkaBroker, ServerError
from tandem.waiting import Deadline

pytestmark = pytest.mark.integration

USERS = {"alice": "right-password"}


def produce(bootstrap: str, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0


def consume(bootstrap: str, topic: str, until: bytes, isolation: str = "read_committed") -> list[bytes]:
    """All values from the start up to the first `until`."""
    config = {"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": isolation}
    consumer = Consumer({**config, "enable.auto.commit": False, "allow.auto.create.topics": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen: list[bytes] = []
    deadline = Deadline(PATIENCE_S)
    try:
        while until not in seen:
            assert not deadline.passed, f"{until!r} did not come; seen so far: {seen}"
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None, message.error()
                seen.append(message.value() or b"")
        return seen
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker for the tests of this file to maltreat, with a second listener that wants a password."""
    with KafkaBroker(tmp_path_factory.mktemp("mortal"), sasl_users=USERS) as broker:
        yield broker


@pytest.fixture
def mortal_kafka(mortal: KafkaBroker) -> KafkaBroker:
    """The same, running whatever the test before did to it."""
    if not mortal.running:
        mortal.start()
    mortal.resume()
    return mortal


def test_a_produced_record_is_consumed(kafka: KafkaBroker, topic_prefix: str) -> None:
    create_topics(kafka.bootstrap, {topic_prefix: 1})
    produce(kafka.bootstrap, topic_prefix, b"one", b"two")
    assert consume(kafka.bootstrap, topic_prefix, until=b"two") == [b"one", b"two"]


def test_only_committed_transactions_are_visible(kafka: KafkaBroker, topic_prefix: str) -> None:
    create_topics(kafka.bootstrap, {topic_prefix: 1})
    producer = transactional_producer(kafka.bootstrap, topic_prefix)

    producer.begin_transaction()
    producer.produce(topic_prefix, b"aborted")
    producer.flush(PATIENCE_S)
    assert consume(kafka.bootstrap, topic_prefix, until=b"aborted", isolation="read_uncommitted") == [b"aborted"]
    producer.abort_transaction(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic_prefix, b"committed")
    producer.commit_transaction(PATIENCE_S)

    assert consume(kafka.bootstrap, topic_prefix, until=b"committed") == [b"committed"]


def test_a_second_producer_of_a_transactional_id_fences_the_first(kafka: KafkaBroker, topic_prefix: str) -> None:
    create_topics(kafka.bootstrap, {topic_prefix: 1})
    zombie = transactional_producer(kafka.bootstrap, topic_prefix)
    transactional_producer(kafka.bootstrap, topic_prefix)

    zombie.begin_transaction()
    zombie.produce(topic_prefix, b"late")
    with pytest.raises(KafkaException) as failure:
        zombie.commit_transaction(PATIENCE_S)

    assert failure.value.args[0].code() == KafkaError._FENCED
    zombie.purge()
    assert zombie.flush(PATIENCE_S) == 0


def test_topics_are_never_created_by_themselves(kafka: KafkaBroker, topic_prefix: str) -> None:
    outcomes: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "topic.metadata.propagation.max.ms": 300})
    producer.produce(topic_prefix, b"lost", on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(PATIENCE_S) == 0
    assert [error and error.code() for error in outcomes] == [KafkaError.UNKNOWN_TOPIC_OR_PART]


def test_a_restarted_broker_keeps_its_address_and_its_data(mortal_kafka: KafkaBroker, topic_prefix: str) -> None:
    address, pid = mortal_kafka.bootstrap, mortal_kafka.pid
    create_topics(address, {topic_prefix: 1})
    produce(address, topic_prefix, b"before")

    mortal_kafka.restart()

    assert mortal_kafka.bootstrap == address
    assert gone(pid)
    produce(address, topic_prefix, b"after")
    assert consume(address, topic_prefix, until=b"after") == [b"before", b"after"]


def test_a_paused_broker_accepts_a_request_and_answers_it_after_its_resume(
    mortal_kafka: KafkaBroker, topic_prefix: str
) -> None:
    create_topics(mortal_kafka.bootstrap, {topic_prefix: 1})
    producer = Producer({"bootstrap.servers": mortal_kafka.bootstrap, "linger.ms": 0})
    producer.produce(topic_prefix, b"warm-up")
    assert producer.flush(PATIENCE_S) == 0

    mortal_kafka.pause()
    producer.produce(topic_prefix, b"meanwhile")
    unanswered_while_paused = producer.flush(1.0)
    mortal_kafka.resume()

    assert unanswered_while_paused == 1
    assert producer.flush(PATIENCE_S) == 0
    assert consume(mortal_kafka.bootstrap, topic_prefix, until=b"meanwhile") == [b"warm-up", b"meanwhile"]


@pytest.mark.parametrize(("password", "outcome"), [("right-password", "let in"), ("wrong-password", "refused")])
def test_sasl_lets_in_only_the_right_password(mortal_kafka: KafkaBroker, password: str, outcome: str) -> None:
    errors: list[int] = []
    config: dict[str, Any] = {
        "bootstrap.servers": mortal_kafka.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": password,
        "error_cb": lambda error: errors.append(error.code()),
    }
    client = AdminClient(config)
    answer = client.describe_cluster(request_timeout=PATIENCE_S)
    is_over = lambda: client.poll(0.05) >= 0 and (answer.done() or KafkaError._AUTHENTICATION in errors)  # noqa: E731
    eventually(is_over, 2 * PATIENCE_S)
    if KafkaError._AUTHENTICATION in errors:
        assert outcome == "refused"
    else:
        assert len(answer.result(timeout=0).nodes) == 1
        assert outcome == "let in"


def test_a_killed_broker_is_gone_at_once_and_comes_back_with_its_data(
    mortal_kafka: KafkaBroker, topic_prefix: str
) -> None:
    create_topics(mortal_kafka.bootstrap, {topic_prefix: 1})
    produce(mortal_kafka.bootstrap, topic_prefix, b"before")
    pid = mortal_kafka.pid

    mortal_kafka.kill()

    assert gone(pid)
    assert not mortal_kafka.running
    mortal_kafka.start()
    assert consume(mortal_kafka.bootstrap, topic_prefix, until=b"before") == [b"before"]


def test_a_stopped_broker_leaves_no_process_and_frees_its_port(mortal_kafka: KafkaBroker) -> None:
    pid = mortal_kafka.pid
    mortal_kafka.stop()
    assert gone(pid)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((mortal_kafka.settings.host, mortal_kafka.settings.port), timeout=1)


def test_a_password_that_would_break_out_of_the_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match="may only hold letters"):
        BrokerSettings(tmp_path, 1, 2, sasl_port=3, sasl_users={"mallory": 'x" user_admin="y'})


def test_a_wrong_broker_setting_is_told_with_the_end_of_the_log(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, extra={"num.io.threads": "many"})
    with pytest.raises(ServerError, match=r"(?s)cannot format .*num\.io\.threads"):
        broker.start()
    assert not broker.running


def test_a_broker_that_dies_early_tells_why_from_its_log(tmp_path: Path) -> None:
    formatted_by_a_stranger = tmp_path / "data" / "meta.properties"
    formatted_by_a_stranger.parent.mkdir()
    formatted_by_a_stranger.write_text("version=7\n")
    with pytest.raises(ServerError, match=r"(?s)kafka ended before it answered.*kafka\.log:.*meta\.properties"):
        KafkaBroker(tmp_path).start()
