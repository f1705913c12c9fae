"""An id is initialised by short calls, one after the other: each asks at once, where one long call would wait."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from tandem.kafka.errors import NotAllowedError
from tandem.kafka.fencing import initialised


class Client:
    """Succeeds at the first call that is under way, or begins, at `ready_s`; until then each call takes all of its time."""

    def __init__(self, ready_s: float) -> None:
        self.now_s = 100.0
        self._ready_s = self.now_s + ready_s
        self.given: list[float] = []

    def init_transactions(self, timeout_s: float) -> None:
        self.given.append(timeout_s)
        if self.now_s + timeout_s < self._ready_s:
            self.now_s += timeout_s
            raise KafkaException(KafkaError(KafkaError.CONCURRENT_TRANSACTIONS))
        self.now_s = max(self.now_s, self._ready_s)

    def initialised_within(self, seconds: float) -> int:
        return initialised(self.init_transactions, self.now_s + seconds, lambda: self.now_s)


def test_the_first_call_may_be_enough() -> None:
    client = Client(0.004)
    assert client.initialised_within(1.0) == 1
    assert client.given == [0.005]


def test_the_broker_is_asked_every_few_milliseconds_at_first() -> None:
    client = Client(0.018)
    assert client.initialised_within(1.0) == 4
    assert client.given == [0.005] * 4


def test_and_less_often_the_longer_it_takes() -> None:
    client = Client(2.0)
    calls = client.initialised_within(10.0)
    assert 45 < calls < 65
    assert max(client.given) == 0.05
    assert client.given == sorted(client.given)


def test_it_ends_at_the_deadline_and_calls_once_at_least() -> None:
    client = Client(2.0)
    assert client.initialised_within(1.0) == 0
    assert 100.95 < client.now_s < 101.05
    calls = len(client.given)
    assert client.initialised_within(-1.0) == 0
    assert len(client.given) == calls + 1


def test_missing_rights_end_it_at_once_with_what_to_do() -> None:
    calls: list[float] = []

    def init_transactions(timeout_s: float) -> None:
        calls.append(timeout_s)  # the broker answers at once
        raise KafkaException(KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))

    with pytest.raises(NotAllowedError, match=r"Give the account the rights Write and Describe on transactional ids"):
        initialised(init_transactions, 110.0, lambda: 100.0 + len(calls))
    assert len(calls) == 1


def test_a_client_that_says_no_at_once_is_asked_no_more_often() -> None:
    client = Client(2.0)
    waited: list[float] = []

    def refused(_timeout_s: float) -> None:
        client.given.append(client.now_s)
        assert len(client.given) < 1_000
        raise KafkaException(KafkaError(KafkaError._STATE))

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        client.now_s += seconds

    assert initialised(refused, client.now_s + 1.0, lambda: client.now_s, sleep) == 0
    assert len(client.given) < 50
    assert max(waited) <= 0.05
    assert client.now_s == pytest.approx(101.0)
