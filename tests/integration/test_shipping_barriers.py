"""State that is committed at barriers goes through a real Kafka, from replicas that turn over behind different epochs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import NewTopic, Topics
from tandem.protocol.codec import encode_marker
from tandem.protocol.shipping import ShippingTurn
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Marker
from tandem.shipping import (
    Delta,
    Follower,
    FollowerSettings,
    LocalBases,
    ShippedState,
    Shipper,
    ShipperSettings,
)
from tandem.shipping.values import decode_delta
from tandem.snapshots.local import pin
from tandem.waiting import Deadline, wait_until
from unit.shipping.batches import commit, read, replica, state_at
from unit.shipping.builders import IDENTITY

pytestmark = pytest.mark.integration

DEADLINE_S = 60.0


class Shipping:
    """A job's two topics, and who ships and follows."""

    def __init__(self, broker: KafkaBroker, prefix: str, folder: Path) -> None:
        self.connection = KafkaConnection({"bootstrap.servers": broker.bootstrap})
        self.commits, self.checkpoints = f"{prefix}.commits", f"{prefix}.checkpoints"
        Topics(self.connection).ensure([NewTopic(self.commits), NewTopic(self.checkpoints)])
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 60_000})
        self._folder, self.parts = folder, ExitStack()
        self._published = -1
        self.shippers: list[Shipper] = []

    def ships(self, name: str, checkpoint: Path, bound_ms: float) -> Shipper:
        shipper = Shipper(
            self.connection,
            ShipperSettings(self.checkpoints, 1_000_000, at_barriers=True),
            ShippedState(IDENTITY, name, checkpoint),
            ShippingTurn(name, AdaptiveTimeout(bound_ms, bound_ms)),
        )
        shipper.start()
        self.parts.callback(shipper.stop)
        self.shippers.append(shipper)
        return shipper

    def follows(self, base: Path) -> Follower:
        follower = Follower(
            self.connection,
            FollowerSettings(self.commits, self.checkpoints, IDENTITY),
            LocalBases(lambda: [base]),
            self._folder / "followed",
        )
        follower.start()
        self.parts.callback(follower.stop)
        return follower

    def publishes(self, last: int) -> None:
        for epoch in range(self._published + 1, last + 1):
            self._producer.produce(self.commits, encode_marker(Marker(epoch, 0, "a", "", 0, epoch * 10)), partition=0)
        self._producer.flush(DEADLINE_S)
        self._published = last
        for shipper in self.shippers:
            shipper.published(last)

    def shipped(self, last: int) -> list[Delta]:
        """What is in the topic, once that epoch is."""
        found: list[Delta] = []
        with LogTail(self.connection, {self.checkpoints: 0}) as tail:

            def enough() -> bool:
                found.extend(decode_delta(record.value) for record in tail.poll(0.1))
                return any(delta.epoch == last for delta in found)

            assert wait_until(enough, Deadline(DEADLINE_S)), f"only {[delta.epoch for delta in found]} were shipped"
        return found


@pytest.fixture
def shipping(kafka: KafkaBroker, topic_prefix: str, tmp_path: Path) -> Iterator[Shipping]:
    made = Shipping(kafka, topic_prefix, tmp_path)
    yield made
    made.parts.close()


def test_who_takes_over_to_ship_goes_on_with_its_own_barriers_and_the_state_follows(
    shipping: Shipping, tmp_path: Path
) -> None:
    one, other = replica(tmp_path / "a", 12, 24), replica(tmp_path / "b", 6, 18, 30, 42)
    base = pin(one, 12, tmp_path / "base")
    first = shipping.ships("a", one, bound_ms=1.0)
    follower = shipping.follows(base.folder)
    shipping.publishes(29)
    assert follower.wait_for(24, DEADLINE_S)

    first.stop()
    shipping.shippers.remove(first)
    shipping.ships("b", other, bound_ms=300.0)
    shipping.publishes(45)

    assert follower.wait_for(42, DEADLINE_S), f"followed to {follower.epoch}"
    assert [(delta.epoch, delta.shipper) for delta in shipping.shipped(42)][-2:] == [(30, "b"), (42, "b")]
    position = follower.hand_over(tmp_path / "promoted")
    assert position is not None
    assert position.epoch == 42
    assert read(tmp_path / "promoted") == state_at(42)


def test_what_is_not_published_or_not_committed_is_not_shipped(shipping: Shipping, tmp_path: Path) -> None:
    active = replica(tmp_path / "a", 12, 24)
    shipping.ships("a", active, bound_ms=1.0)
    shipping.publishes(23)
    assert [delta.epoch for delta in shipping.shipped(12)] == [12]
    shipping.publishes(40)
    assert [delta.epoch for delta in shipping.shipped(24)] == [12, 24]
    commit(active, 2, 24, 36)
    assert [(delta.epoch, delta.number, delta.after) for delta in shipping.shipped(36)][-1] == (36, 2, 24)
