"""State goes through a real Kafka from a real Spark's checkpoint to a follower, and a real Spark goes on from there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, gone, kafka_sink, raw_source, values
from tandem.checkpoint.position import EnginePosition
from tandem.devservers import KafkaBroker
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import build_session
from tandem.kafka.client import KafkaConnection
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest import SparkSpec
from tandem.protocol.codec import encode_marker
from tandem.protocol.shipping import ShippingTurn
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Marker
from tandem.shipping import (
    Delta,
    FollowedState,
    Follower,
    FollowerSettings,
    LocalBases,
    ShippedState,
    Shipper,
    ShipperSettings,
    StateIdentity,
)
from tandem.shipping.values import decode_delta
from tandem.snapshots.local import pin
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration

DEADLINE_S = 60.0
IDENTITY = StateIdentity("config", "format")
FILES = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that writes a full snapshot of its state every few epochs."""
    conf = {
        "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    }
    folder = tmp_path_factory.mktemp("spark")
    session = build_session("tests", "replica-0", SparkSpec(conf=conf), Jars.resolve().spark_classpath(), folder)
    yield session
    session.stop()


class Shipping:
    """A job whose epochs are computed by the test, its two topics, and who ships and follows."""

    def __init__(self, spark: SparkSession, broker: KafkaBroker, prefix: str, folder: Path) -> None:
        self.connection = KafkaConnection({"bootstrap.servers": broker.bootstrap})
        self.commits, self.checkpoints = f"{prefix}.commits", f"{prefix}.checkpoints"
        Topics(self.connection).ensure([NewTopic(self.commits), NewTopic(self.checkpoints)])
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 60_000})
        self._spark, self._folder = spark, folder
        self._parts = ExitStack()
        self.checkpoint = folder / "one" / "checkpoint"
        self.shippers: list[Shipper] = []
        self.job = self.started(folder / "one", EnginePosition())

    def close(self) -> None:
        self._parts.close()

    def started(self, folder: Path, after: EnginePosition) -> Job:
        job = Job(self._spark, folder, [raw_source("events", "in")], [kafka_sink()])
        events = job.sources["events"]
        counts = events.groupBy("key").agg(F.count("*").alias("n"), F.max("value").alias("v"))
        job.start(counts.select("key", F.concat_ws(" ", "n", F.col("v").cast("string")).alias("value")), after)
        self._parts.callback(job.stop)
        return job

    def ships(self, name: str, bound_ms: float = 1.0, most_bytes: int = 1_000_000) -> Shipper:
        shipper = Shipper(
            self.connection,
            ShipperSettings(self.checkpoints, most_bytes),
            ShippedState(IDENTITY, name, self.checkpoint),
            ShippingTurn(name, AdaptiveTimeout(bound_ms, bound_ms)),
        )
        shipper.start()
        self._parts.callback(shipper.stop)
        self.shippers.append(shipper)
        return shipper

    def follows(self, checkpoint: Path, name: str = "followed") -> Follower:
        follower = Follower(
            self.connection,
            FollowerSettings(self.commits, self.checkpoints, IDENTITY),
            LocalBases(lambda: [checkpoint]),
            self._folder / name,
        )
        follower.start()
        self._parts.callback(follower.stop)
        return follower

    def computes(self, epochs: range, job: Job | None = None) -> list[list[str]]:
        return [sorted(values((job or self.job).run(epoch, records(epoch)))) for epoch in epochs]

    def publishes(self, epochs: range) -> list[list[str]]:
        """Compute epochs, and publish them once they are committed."""
        rows = []
        for epoch in epochs:
            rows += self.computes(range(epoch, epoch + 1))
            self.job.committed(epoch)
            self._producer.produce(self.commits, encode_marker(Marker(epoch, 0, "a", "", 0, epoch * 10)), partition=0)
            self._producer.flush(DEADLINE_S)
            for shipper in self.shippers:
                shipper.published(epoch)
        return rows

    def deltas(self, epochs: int) -> list[Delta]:
        """What is in the topic, once it has so many different epochs."""
        found: list[Delta] = []
        with LogTail(self.connection, {self.checkpoints: 0}) as tail:

            def enough() -> bool:
                found.extend(decode_delta(record.value) for record in tail.poll(0.1))
                return len({delta.epoch for delta in found}) >= epochs

            assert wait_until(enough, Deadline(DEADLINE_S)), f"only {[delta.epoch for delta in found]} were shipped"
        return found


@pytest.fixture
def shipping(spark: SparkSession, kafka: KafkaBroker, topic_prefix: str, tmp_path: Path) -> Iterator[Shipping]:
    made = Shipping(spark, kafka, topic_prefix, tmp_path)
    yield made
    made.close()


def records(epoch: int) -> list[Record]:
    """The input of an epoch, the same whenever it is asked for."""
    chance = random.Random(epoch)
    return [Record(f"{epoch}-{i}".encode(), b"k%d" % chance.randrange(7), "in", 0) for i in range(20)]


@pytest.mark.parametrize("provider", [ROCKSDB, FILES])
def test_spark_goes_on_from_followed_state_with_the_same_results(
    provider: str, spark: SparkSession, kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    shipping = Shipping(spark, kafka, topic_prefix, tmp_path)
    try:
        shipping.ships("a")
        shipping.publishes(range(5))
        base = tmp_path / "base"
        pin(shipping.checkpoint, 4, base)
        shipping.publishes(range(5, 20))
        follower = shipping.follows(base)
        assert follower.wait_for(19, DEADLINE_S), f"followed to {follower.epoch}"
        expected = shipping.computes(range(20, 26))
        shipping.job.stop()
        gone(shipping.checkpoint)

        position = follower.hand_over(tmp_path / "two" / "checkpoint")
        assert position == EnginePosition(19, 190)
        second = shipping.started(tmp_path / "two", position)
        assert shipping.computes(range(20, 26), second) == expected
    finally:
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        shipping.close()


def test_another_shipper_goes_on_where_the_first_stopped(shipping: Shipping) -> None:
    first = shipping.ships("a")
    shipping.publishes(range(3))
    shipping.deltas(3)
    shipping.ships("b", bound_ms=5_000.0)  # a busy machine is not silent
    shipping.publishes(range(3, 5))
    assert {delta.shipper for delta in shipping.deltas(5)} == {"a"}
    first.stop()
    shipping.shippers.remove(first)
    shipping.publishes(range(5, 8))
    assert [(d.epoch, d.shipper) for d in shipping.deltas(8)][5:] == [(5, "b"), (6, "b"), (7, "b")]


def test_two_shippers_at_once_do_no_harm(shipping: Shipping, tmp_path: Path) -> None:
    shipping.publishes(range(3))
    base = tmp_path / "base"
    pin(shipping.checkpoint, 2, base)
    shipping.ships("a")
    shipping.ships("b")
    follower = shipping.follows(base)
    shipping.publishes(range(3, 15))
    assert follower.wait_for(14, DEADLINE_S)
    expected = FollowedState(pin(shipping.checkpoint, 14, tmp_path / "expected"))
    assert expected.position == EnginePosition(follower.epoch, 140)


def test_large_changes_are_shipped_by_reference_and_followed_from_a_base(shipping: Shipping) -> None:
    shipping.ships("a", most_bytes=10)
    follower = shipping.follows(shipping.checkpoint)
    shipping.publishes(range(6))
    assert all("more than 10" in delta.left_out and not delta.files for delta in shipping.deltas(6))
    assert follower.wait_for(5, DEADLINE_S), "a checkpoint of this machine is a base"


@pytest.mark.thorough
def test_a_broker_that_is_away_neither_stops_the_job_nor_what_is_shipped_afterwards(
    spark: SparkSession, own_kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    shipping = Shipping(spark, own_kafka, topic_prefix, tmp_path)
    try:
        shipper = shipping.ships("a")
        shipping.publishes(range(3))
        shipping.deltas(3)
        own_kafka.kill()
        shipping.computes(range(3, 8))
        shipping.job.committed(7)
        for epoch in range(3, 8):
            shipper.published(epoch)
        own_kafka.start()
        assert [delta.epoch for delta in shipping.deltas(8)][-1] == 7
    finally:
        shipping.close()
