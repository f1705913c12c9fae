"""Brokers whose answer on all topics takes long are waited for; those that give none are not waited for longer than that."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from tandem.kafka.admin import Admin
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ConnectionFailedError

NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})


class Clock:
    """Moves while a client waits."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


class Slow:
    """A client whose answers need so long: one that is not waited for is lost, and the next one comes behind it.

    `asked` : for how long each was waited for. `refusal`: heard when it is polled after the first.
    """

    def __init__(self, clock: Clock, needed_s: float) -> None:
        self.clock, self.needed_s = clock, needed_s
        self.free_s = clock.now_s
        self.asked: list[float] = []
        self.refusal: Any = None

    def list_topics(self, timeout: float) -> Any:
        self.asked.append(timeout)
        self.free_s = max(self.free_s, self.clock.now_s) + self.needed_s
        self.clock.now_s = min(self.free_s, self.clock.now_s + timeout)
        if self.clock.now_s < self.free_s:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "Local: Timed out"))
        return SimpleNamespace(topics={"orders": "there"})

    def poll(self, _timeout_s: float) -> None:
        if self.asked and self.refusal is not None:
            self.refusal()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("tandem.kafka.admin.time", made)
    return made


def admin_of(client: Slow) -> Admin:
    admin = Admin(NOWHERE, 10)
    admin._client = cast(AdminClient, client)
    return admin


@pytest.mark.parametrize("needed_s", [0.0, 0.4, 0.8, 1.5, 3.0])
def test_a_slow_answer_is_taken(clock: Clock, needed_s: float) -> None:
    assert admin_of(Slow(clock, needed_s)).topics() == {"orders": "there"}
    assert clock.now_s <= 110


def test_no_answer_is_waited_for_as_long_as_was_asked(clock: Clock) -> None:
    with pytest.raises(ConnectionFailedError, match=r"no answer from Kafka at 127\.0\.0\.1:1 within 10 s"):
        admin_of(Slow(clock, 100)).topics()
    assert clock.now_s == pytest.approx(110, abs=0.1)


def test_a_refusal_is_reported_at_once(clock: Clock) -> None:
    client = Slow(clock, 100)
    admin = admin_of(client)
    error = KafkaError(KafkaError._AUTHENTICATION, "wrong password")
    client.refusal = lambda: admin._on_error(error)

    with pytest.raises(ConnectionFailedError, match="refused the connection: wrong password"):
        admin.topics()
    assert client.asked == [0.5]


def test_there_is_a_real_client_whose_time_is_bounded_too() -> None:
    started_s = time.monotonic()
    with pytest.raises(ConnectionFailedError, match=r"spec\.kafka\.bootstrapServers"):
        Admin(NOWHERE, 0.3).topics()
    assert time.monotonic() - started_s < 5
