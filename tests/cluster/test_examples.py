"""The examples, applied as they stand: with a Service for each server that they name, and nothing else."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from cluster.conftest import ROOT
from cluster.kubernetes import Kubectl, Object, service
from integration.workload import Cluster
from tandem.examples.enrich.service import ScoreService
from tandem.examples.feeding import Feeder
from tandem.examples.flights.feed import FLIGHTS, events
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.thorough]

EXAMPLES = ROOT / "jobs" / "tandem" / "examples"
READY_S = 240.0
PAYMENTS = 200


def applied(kubectl: Kubectl, servers: Cluster, name: str, topics: list[str], *more: Object) -> None:
    """The example runs."""
    Topics(servers.connection).ensure([NewTopic(topic) for topic in topics])
    kafka = service("kafka", 9092, servers.kafka.bootstrap)
    kubectl.apply(*kafka, *service("zookeeper", 2181, servers.zookeeper.connect), *more)
    kubectl("apply", "-f", str(EXAMPLES / name / f"{name}.yaml"))
    kubectl("wait", "--for=condition=Ready", f"--timeout={READY_S:.0f}s", f"rsj/{name}", timeout_s=READY_S + 10)


def read(kubectl: Kubectl, servers: Cluster, topic: str, enough: Callable[[list[Object]], bool]) -> list[Object]:
    """The published rows of a topic, as soon as they are enough."""
    rows: list[Object] = []
    consumer = Consumer(
        {"bootstrap.servers": servers.kafka.bootstrap, "group.id": topic, "isolation.level": "read_committed"}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])

    def read_on() -> bool:
        rows.extend(json.loads(message.value() or b"{}") for message in consumer.consume(1_000, 0.2))
        return enough(rows)

    try:
        kubectl.wait(read_on, 120, f"rows of {topic}")
    finally:
        consumer.close()
    return rows


def test_flights_publishes_delays_and_alerts(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    applied(kubectl, servers, "flights", ["flights", "weather", "delays", "alerts"])
    feeder, enough = Feeder({"bootstrap.servers": servers.kafka.bootstrap}, events(), FLIGHTS, 500.0), threading.Event()
    feeding = threading.Thread(target=feeder.run, args=(enough,))
    feeding.start()  # all the while: windows close when later flights come
    try:
        for topic in ("delays", "alerts"):
            assert read(kubectl, servers, topic, bool)
    finally:
        enough.set()
        feeding.join(60)


def test_enrich_asks_the_service_and_publishes_each_payment_once(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    scores = ScoreService(host=os.environ["KUBE_LAB_HOST"])
    try:
        named = service("scores", 8901, scores.address)
        applied(kubectl, servers, "enrich", ["payments", "scored-payments"], *named)
        producer = Producer({"bootstrap.servers": servers.kafka.bootstrap})
        for number in range(PAYMENTS):
            producer.produce("payments", json.dumps({"id": number, "amount": 1.5}))
        assert producer.flush(60) == 0
        rows = read(kubectl, servers, "scored-payments", lambda rows: len(rows) >= PAYMENTS)
    finally:
        scores.close()
    assert Counter(row["id"] for row in rows) == Counter(range(PAYMENTS))
    assert all(row["score"] in scores.given[row["id"]] for row in rows)
