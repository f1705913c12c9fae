"""The job of the quick start, as it stands in docs/kubernetes, without ZooKeeper; and a generator and a replica die."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition

from cluster.conftest import ROOT
from cluster.kubernetes import Kubectl, Object
from integration.workload import Cluster
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

EXAMPLE: Path = ROOT / "docs" / "kubernetes" / "orders.yaml"
READY_S = 240.0
CUSTOMERS = 5


class Orders:
    """Feeds orders, reads the counts."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "counts", "isolation.level": "read_committed"}
        )
        self._consumer.assign([TopicPartition("counts", 0, 0)])
        self.sent = 0
        self.counts: dict[str, list[int]] = {}

    def send(self, orders: int) -> None:
        for number in range(self.sent, self.sent + orders):
            order = {"customer": f"c{number % CUSTOMERS}", "amount": 1}
            self._producer.produce("orders", json.dumps(order))
        self.sent += orders
        assert self._producer.flush(60) == 0

    def have_all_come(self) -> bool:
        """Read on; whether each customer's count is what was sent."""
        for message in self._consumer.consume(1_000, 0.2):
            row = json.loads(message.value() or b"")
            self.counts.setdefault(row["customer"], []).append(row["count"])
        last = {customer: counts[-1] for customer, counts in self.counts.items()}
        return last == {f"c{n}": self.sent // CUSTOMERS for n in range(CUSTOMERS)}

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def orders(servers: Cluster) -> Iterator[Orders]:
    Topics(servers.connection).ensure([NewTopic("orders"), NewTopic("counts")])
    made = Orders(servers.kafka.bootstrap)
    yield made
    made.close()


def example(servers: Cluster) -> list[Object]:
    """The file's objects, with the tests' broker."""
    code, job = yaml.safe_load_all(EXAMPLE.read_text())
    job["spec"]["kafka"]["bootstrapServers"] = servers.kafka.bootstrap
    job["spec"]["resources"] = {"requests": {"cpu": "100m", "memory": "1Gi"}}
    return [code, job]


def pods(kubectl: Kubectl, component: str) -> list[str]:
    found = kubectl.list("pods", f"tandem.dev/job=orders,app.kubernetes.io/component={component}")
    return [pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"]]


def test_the_quick_starts_job_counts_orders_whatever_dies(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
    orders: Orders,
) -> None:
    things = example(servers)
    kubectl.apply(*things)
    kubectl("wait", "--for=condition=Ready", f"--timeout={READY_S:.0f}s", "rsj/orders", timeout_s=READY_S + 10)
    # Ready is a job with one replica at the head; the one that is killed below may be that.
    kubectl("wait", "--for=condition=Replicated", f"--timeout={READY_S:.0f}s", "rsj/orders", timeout_s=READY_S + 10)
    orders.send(100)
    kubectl.wait(orders.have_all_come, 60, "the counts of 100 orders")

    for component in ("generator", "member"):
        gone = pods(kubectl, component)[0]
        kubectl("delete", "pod", gone, "--grace-period=0", "--force")
        orders.send(100)
        kubectl.wait(orders.have_all_come, 20, f"counts without {gone}")
        kubectl.wait(lambda: len(pods(kubectl, component)) == 2, 60, f"a successor of {gone}")  # noqa: B023

    assert all(counts == sorted(set(counts)) for counts in orders.counts.values())
    described = kubectl("describe", "rsj", "orders")
    assert "Events:" in described
    kubectl("delete", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
    kubectl.wait(lambda: not pods(kubectl, "member") and not pods(kubectl, "generator"), 60, "no pod is left")
