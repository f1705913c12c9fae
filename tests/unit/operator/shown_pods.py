"""A job's pods as Kubernetes shows them, and what a pass sees of the job by them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from tandem.manifest import ReplicatedStreamJob, parse
from tandem.status.report import OrdererReport, ReplicaReport
from tandem_operator.observe import observe
from tandem_operator.observed import Observed, PodSeen
from tandem_operator.store import Key, Store

KEY = Key("default", "flights")
SPEC = {
    "job": {"module": "tandem.examples.flights.job"},
    "kafka": {"bootstrapServers": "kafka:9092"},
    "zookeeper": {"connect": "zk:2181"},
    "sources": [{"name": "flights", "topics": ["flights"]}],
    "sinks": [{"name": "delays", "topic": "delays"}],
}
BODY: dict[str, Any] = {
    "apiVersion": "tandem.dev/v1alpha1",
    "kind": "ReplicatedStreamJob",
    "metadata": {"name": "flights", "namespace": "default", "uid": "job-uid", "generation": 3},
    "spec": SPEC,
}
Answers = dict[tuple[str, int], ReplicaReport | OrdererReport]


class Told:
    """Answers as if they came over the network; remembers who was asked."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.asked: list[tuple[str, int]] = []

    async def of(self, addresses: Iterable[tuple[str, int]]) -> Answers:
        self.asked = list(addresses)
        return {at: self._answers[at] for at in self.asked if at in self._answers}


def job() -> ReplicatedStreamJob:
    metadata = {"name": "flights", "namespace": "default"}
    return parse({"apiVersion": BODY["apiVersion"], "kind": BODY["kind"], "metadata": metadata, "spec": SPEC})


def pod(index: int, component: str = "member", **status: Any) -> dict[str, Any]:
    labels = {
        "tandem.dev/job": "flights",
        "tandem.dev/index": str(index),
        "app.kubernetes.io/component": component,
    }
    metadata = {
        "name": f"flights-replica-{index}-aaaaa",
        "namespace": "default",
        "uid": f"uid-{index}",
        "labels": labels,
        "annotations": {"tandem.dev/template": "t1"},
        "creationTimestamp": "2026-11-21T20:00:00Z",
        "ownerReferences": [{"uid": "job-uid"}],
    }
    running = {"phase": "Running", "podIP": f"10.0.0.{index}", **status}
    return {"metadata": metadata, "spec": {"nodeName": f"n{index}"}, "status": running}


def seen(*pods: dict[str, Any], answers: Answers | None = None, dead_node: str = "") -> tuple[Observed, Told]:
    store, told = Store(), Told(answers or {})
    store.see_job(BODY, gone=False)
    for one in pods:
        store.see_pod(one, gone=False)
    if dead_node:
        store.see_node({"metadata": {"name": dead_node}, "status": {}}, gone=False)
    return asyncio.run(observe(BODY, job(), store, (), told, 5)), told  # type: ignore[arg-type]


def only(observed: Observed) -> PodSeen:
    (one,) = observed.pods
    return one
