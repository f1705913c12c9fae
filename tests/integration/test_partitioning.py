"""Whether the partitions of a real topic follow what a manifest says, seen in the newest records of all lanes."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from prometheus_client import CollectorRegistry, generate_latest

from integration.avro_records import ORDER, avro
from integration.counting_lanes import counting_job, refused
from integration.formatted import manifest
from integration.registry_server import RegistryServer
from integration.waiting import eventually
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.formats.resolved import Formats
from tandem.intake.parsing import Intake
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest import SinkSpec, SourceSpec
from tandem.process.info import RefusedError
from tandem.replica.partitioning import PartitionedSources, PartitioningWatch, refuse_scattered
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
LANES = 2


class Fed:
    """A topic of four partitions, the input of a source."""

    def __init__(self, connection: KafkaConnection, topic: str) -> None:
        self.connection, self.topic = connection, topic
        Topics(connection).ensure([NewTopic(topic, 4)])
        assert eventually(lambda: topic in Topics(connection).all())
        self._producer = Producer({"bootstrap.servers": connection.properties["bootstrap.servers"]})

    def feed(self, partition: int, *keys: str, value: bytes = b"") -> None:
        for key in keys:
            self._producer.produce(self.topic, value, key, partition=partition)
        assert self._producer.flush(30) == 0

    def source(self, **more: object) -> SourceSpec:
        return SourceSpec.model_validate({"name": "orders", "topics": (self.topic,), **more})

    def sources(self, source: SourceSpec, intake: Intake | None = None) -> PartitionedSources:
        return PartitionedSources(self.connection, intake or Intake([source], 1_000), {source.name}, LANES)


@pytest.fixture
def fed(connection: KafkaConnection, topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> Fed:
    monkeypatch.setattr("tandem.replica.partitioning._READ_S", 60.0)  # a replica looks again, a test does not
    return Fed(connection, topic_prefix)


def test_a_topic_that_is_partitioned_as_it_should_be_is_taken_also_if_it_is_empty(fed: Fed) -> None:
    refuse_scattered(fed.sources(fed.source()))
    fed.feed(0, "a", "b")
    fed.feed(1, "c")
    fed.feed(2, "a")
    refuse_scattered(fed.sources(fed.source()))


def test_a_job_that_would_count_a_key_in_two_lanes_is_refused(fed: Fed) -> None:
    fed.feed(0, "a", "b")
    fed.feed(3, "c", "b")
    with pytest.raises(RefusedError, match=rf"'b' is in {fed.topic}/0 \(lane 0\) and {fed.topic}/3 \(lane 1\)"):
        refuse_scattered(fed.sources(fed.source()))


def test_what_was_there_before_a_job_that_begins_at_the_end_does_not_count(fed: Fed) -> None:
    fed.feed(0, "a")
    fed.feed(1, "a")
    source = fed.source(startingOffsets="latest")
    sources = fed.sources(source)
    assert sources.scattered(source) is None
    fed.feed(2, "b")
    assert sources.scattered(source) is None
    fed.feed(3, "b")
    found = sources.scattered(source)
    assert found is not None
    assert found.value == "'b'"


def test_of_a_long_topic_only_the_newest_records_are_read(fed: Fed) -> None:
    fed.feed(0, "old", *(f"k{number}" for number in range(200)))
    fed.feed(1, "old")
    assert fed.sources(fed.source()).scattered(fed.source()) is None
    fed.feed(1, "k7")
    assert fed.sources(fed.source()).scattered(fed.source()) is not None


def test_a_column_of_a_registry_is_compared_as_it_is_decoded(
    fed: Fed, registry: RegistryServer, topic_prefix: str
) -> None:
    source = fed.source(format="avro", partitionedBy="id")
    schema = {**ORDER, "name": "Order"}
    for partition, number in ((0, 1), (1, 2), (2, 1)):
        fed.feed(partition, "k", value=avro(registry, fed.topic, {"id": f"o{number}", "tags": []}, schema))
    given = manifest(registry, source, SinkSpec(name="out", topic=f"{topic_prefix}-out"))
    formats = Formats.of(given, {}, {})
    intake = Intake(given.spec.sources, 1_000, decoding=formats.decoding(given))
    assert fed.sources(source, intake).scattered(source) is None
    fed.feed(3, "k", value=avro(registry, fed.topic, {"id": "o1", "tags": []}, schema))
    found = fed.sources(source, intake).scattered(source)
    assert found is not None
    assert (found.value, {tp.partition % LANES for tp in found.places}) == ("'o1'", {0, 1})


def test_while_the_job_runs_log_metric_and_report_say_it_until_it_is_over(fed: Fed) -> None:
    metrics = CollectorRegistry()
    reporter = Reporter("replica-0", "orders.lane-0.replica-0.1")
    watch = PartitioningWatch(
        fed.sources(fed.source()), ReplicaMetrics(metrics, "orders", "replica-0", 0), reporter, every_s=0.2
    )

    def shown(value: float) -> bool:
        line = f'tandem_source_scattered{{job_name="orders",lane="0",replica="replica-0",source="orders"}} {value}'
        return line in generate_latest(metrics).decode()

    fed.feed(0, "a")
    watch.start()
    try:
        assert eventually(lambda: shown(0.0))
        assert reporter.report().scattered == ""
        fed.feed(1, "a")
        assert eventually(lambda: shown(1.0))
        assert eventually(lambda: "'a' is in" in reporter.report().scattered)
        fed.feed(1, *(f"k{number}" for number in range(200)))
        assert eventually(lambda: shown(0.0))
        assert eventually(lambda: reporter.report().scattered == "")
    finally:
        watch.stop()
        watch.wait(30)


@pytest.mark.thorough
def test_a_replica_of_such_a_job_refuses_at_its_first_start(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, topic_prefix: str, tmp_path: Path
) -> None:
    with counting_job(tmp_path, Cluster(kafka, zookeeper), f"spread-{topic_prefix[-8:]}") as spread:
        fed = Fed(spread.cluster.connection, f"{spread.name}-in")
        fed.feed(0, "ann")
        fed.feed(1, "ann")
        said = refused(spread.manifest, tmp_path / "run", "--lane", "1")
        assert "source events is not partitioned by the record's key" in said
        assert f"'ann' is in {fed.topic}/0 (lane 0) and {fed.topic}/1 (lane 1)" in said
