"""docs/tutorials/kubernetes.md, from step 4 on: the job as it stands in docs/kubernetes, the commands as written.

The cluster, the image and the operator are those of all tests here, and so is Kafka: its Service has the page's name.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from cluster.conftest import ROOT
from cluster.kubernetes import Kubectl, service
from integration.workload import Cluster
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

PAGE = (ROOT / "docs" / "tutorials" / "kubernetes.md").read_text()
READY_S = 300.0
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


def type_line(kubectl: Kubectl, line: str) -> str:
    """Type a command of the page, in the namespace of the test; what it printed."""
    assert f"\n    {line}\n" in PAGE, f"the page has no command: {line}"
    return kubectl(*shlex.split(line)[1:], timeout_s=READY_S + 10)


def pods(kubectl: Kubectl, component: str) -> list[str]:
    found = kubectl.list("pods", f"tandem.dev/job=orders,app.kubernetes.io/component={component}")
    return [pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"]]


def test_the_quick_starts_job_counts_orders_whatever_dies(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
    orders: Orders,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    kubectl.apply(*service("kafka", 9092, servers.kafka.bootstrap))
    type_line(kubectl, "kubectl apply -f docs/kubernetes/orders.yaml")
    type_line(kubectl, "kubectl wait --for=condition=Ready --timeout=5m rsj/orders")
    # Ready is a job with one replica at the head; the one that is killed below may be that.
    kubectl("wait", "--for=condition=Replicated", f"--timeout={READY_S:.0f}s", "rsj/orders", timeout_s=READY_S + 10)
    head, row = type_line(kubectl, "kubectl get rsj").splitlines()
    shown = {column: row[head.index(column) :].split()[0] for column in ("ACTIVE", "PHASE")}
    assert shown == {"ACTIVE": "2/2", "PHASE": "Running"}, row
    assert len(type_line(kubectl, "kubectl get pods -l tandem.dev/job=orders -o wide").splitlines()) == 1 + 4
    orders.send(100)
    kubectl.wait(orders.have_all_come, 60, "the counts of 100 orders")

    generator = pods(kubectl, "generator")[0]
    kubectl("delete", "pod", generator, "--grace-period=0", "--force")
    goes_on(kubectl, orders, "generator")
    type_line(
        kubectl,
        "kubectl delete pod -l tandem.dev/job=orders,app.kubernetes.io/component=member,tandem.dev/index=0"
        " --grace-period=0 --force",
    )
    goes_on(kubectl, orders, "member")

    assert all(counts == sorted(set(counts)) for counts in orders.counts.values())
    assert "Events:" in kubectl("describe", "rsj", "orders")
    type_line(kubectl, "kubectl delete -f docs/kubernetes/orders.yaml -f docs/kubernetes/kafka.yaml --ignore-not-found")
    kubectl.wait(lambda: not pods(kubectl, "member") and not pods(kubectl, "generator"), 60, "no pod is left")


def goes_on(kubectl: Kubectl, orders: Orders, component: str) -> None:
    """Counts come without the pod that was deleted, and it has a successor."""
    orders.send(100)
    kubectl.wait(orders.have_all_come, 20, f"counts without a {component}")
    kubectl.wait(lambda: len(pods(kubectl, component)) == 2, 60, f"a successor of the {component}")
