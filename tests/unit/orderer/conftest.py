"""Readers of inputs whose consumers and clock are the test's."""

from __future__ import annotations

import pytest

from tandem.kafka import patience
from tandem.kafka.client import KafkaConnection
from tandem.orderer import sizes as module
from tandem.orderer.sizes import InputSizes
from unit.orderer.fake_inputs import A, B, FakeConsumer, Now, at


@pytest.fixture
def nowhere() -> KafkaConnection:
    """Of a broker that is not there."""
    return KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    made = Now()
    monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(patience.Denied.__init__, "__defaults__", (made.monotonic,))
    return made


@pytest.fixture
def consumers(monkeypatch: pytest.MonkeyPatch) -> list[FakeConsumer]:
    FakeConsumer.made = []
    monkeypatch.setattr(module, "Consumer", FakeConsumer)
    monkeypatch.setattr(module, "learn", lambda *_: None)
    return FakeConsumer.made


@pytest.fixture
def sizes(now: Now, consumers: list[FakeConsumer], nowhere: KafkaConnection) -> InputSizes:  # noqa: ARG001
    made = InputSizes(nowhere, {"in": "read_committed"}, 1_000_000, 10)
    made.follow(at(0, 0), (A, B), 0.0)
    return made
