"""What librdkafka says: once in a while each, in Tandem's log, and never without end while Kafka is away."""

import json
import socket
import time
from collections.abc import Iterator

import pytest
import structlog
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem import logs
from tandem.kafka.client import KafkaConnection
from tandem.kafka.client_log import CLIENT_LOG, ClientLog, without_times
from tandem.kafka.errors import ConnectionFailedError, ProducerLostError
from tandem.kafka.fencing import Fencer
from tandem.kafka.plain_producer import PlainProducer
from tandem.kafka.topics import Topics
from tandem.kafka.transactions import TransactionalProducer
from tandem.logs import Repeats

REFUSED = "b-1:9092/1: Connect to ipv4#10.0.0.1:9092 failed: Connection refused"
AFTER = f"{REFUSED} (after 0ms in state CONNECT)"
AGAIN = f"{REFUSED} (after 12ms in state CONNECT, 30 identical error(s) suppressed)"


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens, as long as the test runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def structured() -> Iterator[None]:
    logs.configure("INFO", replica="r")
    yield
    structlog.reset_defaults()


def test_the_first_of_each_passes_at_once_and_the_next_after_a_while_with_how_many_there_were() -> None:
    repeats = Repeats(every_s=30.0, same=without_times)

    assert repeats.passes("FAIL", AFTER, 0.0) == 0
    assert [repeats.passes("FAIL", AGAIN, at_s) for at_s in (0.1, 29.9)] == [None, None]
    assert repeats.passes("FAIL", REFUSED.replace("b-1", "b-2"), 1.0) == 0
    assert repeats.passes("SASL", AFTER, 1.0) == 0
    assert repeats.passes("FAIL", AFTER, 30.0) == 2
    assert repeats.passes("FAIL", AFTER, 59.0) is None
    assert repeats.passes("FAIL", AFTER, 90.0) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Timed out 1 in-flight (after 60012ms, timeout #0)", "Timed out 1 in-flight (after 60944ms, timeout #7)"),
        (AFTER, REFUSED),
    ],
)
def test_how_long_it_took_is_no_news(one: str, other: str) -> None:
    repeats = Repeats(same=without_times)

    assert repeats.passes("REQTMOUT", one, 0.0) == 0
    assert repeats.passes("REQTMOUT", other, 1.0) is None


def test_texts_that_are_always_new_do_not_fill_the_memory_nor_the_log() -> None:
    repeats = Repeats(every_s=30.0, most=5)

    passed = [repeats.passes("FAIL", f"text {number}", 1.0) for number in range(100)]

    assert len([one for one in passed if one is not None]) == 6
    assert repeats.passes("FAIL", "text 50", 40.0) == 0, "what is long over makes room"


@pytest.mark.usefixtures("structured")
def test_a_line_is_one_of_tandems_log(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = [0.0]
    log = ClientLog(lambda: now_s[0])
    for at_s in (0.0, 1.0, 2.0, 31.0):
        now_s[0] = at_s
        log.log(40, "%s [%s] %s", "FAIL", "rdkafka#consumer-1", f"[thrd:b-1:9092/1]: {AFTER}")
    log.log(20, "%s [%s] %s", "PARTCNT", "rdkafka#producer-1", "Topic t partition count changed from 1 to 2")

    first, second, third = map(json.loads, capsys.readouterr().err.splitlines())

    assert (first["event"], first["level"], first["replica"], first["reason"]) == ("kafka_client", "error", "r", AFTER)
    assert "repeated" not in first
    assert second["repeated"] == 2
    assert (third["level"], third["facility"]) == ("info", "PARTCNT")


@pytest.mark.usefixtures("structured")
def test_a_consumer_writes_one_line_while_kafka_is_away(
    capfd: pytest.CaptureFixture[str], nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CLIENT_LOG, "_repeats", Repeats(same=without_times))
    consumer = Consumer(KafkaConnection({"bootstrap.servers": nobody}).consumer())
    consumer.assign([KafkaTopicPartition("t", 0, 0)])
    said, deadline = "", time.monotonic() + 10.0
    while not said and time.monotonic() < deadline:
        consumer.poll(0.1)
        said = capfd.readouterr().err
    for _ in range(10):
        consumer.poll(0.1)
    consumer.close()

    lines = [json.loads(line)["reason"] for line in (said + capfd.readouterr().err).splitlines()]
    assert len([line for line in lines if "Connection refused" in line]) == 1


def test_a_command_says_once_what_kept_it_from_kafka(capfd: pytest.CaptureFixture[str], nobody: str) -> None:
    with pytest.raises(ConnectionFailedError, match=f"no answer from Kafka at {nobody} .*Connection refused\\. Check"):
        Topics(KafkaConnection({"bootstrap.servers": nobody}).silent, 1.0).partitions(["t"])

    assert capfd.readouterr() == ("", "")


def test_spares_that_nobody_polls_write_nothing(capfd: pytest.CaptureFixture[str], nobody: str) -> None:
    fencer = Fencer(KafkaConnection({"bootstrap.servers": nobody}))
    fencer.expect("owner")
    time.sleep(1.0)
    assert capfd.readouterr() == ("", "")


def test_who_asks_for_debug_gets_every_line_from_the_client_itself(
    capfd: pytest.CaptureFixture[str], nobody: str
) -> None:
    connection = KafkaConnection({"bootstrap.servers": nobody, "debug": "broker"})
    for one in (connection, connection.silent):
        assert "logger" not in one.plain_producer()
        producer = Producer(one.plain_producer())
        with pytest.raises(KafkaException):
            producer.list_topics(timeout=0.5)
        assert "%7|" in capfd.readouterr().err


def test_a_user_who_wants_no_lines_gets_none() -> None:
    assert "logger" not in KafkaConnection({"log_level": "0"}).admin()
    assert KafkaConnection({"log_level": "3"}).admin()["logger"] is CLIENT_LOG
    assert KafkaConnection({"log_level": "3"}).silent.consumer()["log_level"] == "0"


@pytest.mark.usefixtures("structured")
def test_a_producer_that_rests_says_what_it_has_to(
    capfd: pytest.CaptureFixture[str], nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CLIENT_LOG, "_repeats", Repeats(same=without_times))
    producer = PlainProducer(KafkaConnection({"bootstrap.servers": nobody}))
    producer.start(1.0)
    said = ""
    deadline = time.monotonic() + 10.0
    while not said and time.monotonic() < deadline:
        producer.rest()
        said = capfd.readouterr().err
    producer.close()

    assert "Connection refused" in json.loads(said)["reason"]


@pytest.mark.usefixtures("structured")
def test_a_producer_that_cannot_be_initialised_has_said_why(
    capfd: pytest.CaptureFixture[str], nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CLIENT_LOG, "_repeats", Repeats(same=without_times))
    producer = TransactionalProducer(KafkaConnection({"bootstrap.servers": nobody}), "owner")

    with pytest.raises(ProducerLostError):
        producer.start(1.0)

    assert "Connection refused" in capfd.readouterr().err
