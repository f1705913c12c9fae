"""A job on the cluster, fed and read from here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from cluster.kubernetes import Kubectl, Object, holds
from integration.traffic import PARTITIONS, Fed
from integration.workload import JOB, Cluster
from tandem.kafka.topics import NewTopic, Topics

START_S: Final = 240.0
RATE: Final = 200.0


def manifests(cluster: Cluster, name: str, code: str = JOB, **spec: Any) -> tuple[Object, Object]:
    """A ConfigMap with the job's code, and the job; `spec` overrides top-level fields."""
    body: Object = {
        "job": {"file": "job.py", "configMap": f"{name}-code"},
        "replicas": 2,
        "kafka": {"bootstrapServers": cluster.kafka.bootstrap},
        "zookeeper": {"connect": cluster.zookeeper.connect},
        "sources": [{"name": "events", "topics": [f"{name}-in"]}],
        "sinks": [{"name": sink, "topic": f"{name}-{sink}"} for sink in ("copies", "counts")],
        "ordering": {"mode": "leader", "minEpochInterval": "1s"},
        "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
        **spec,
    }
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-code"},
        "data": {"job.py": code},
    }
    job = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": name},
        "spec": body,
    }
    return config_map, job


class ClusterJob(Fed):
    """A job that runs on the cluster, fed and read. `applied_s`: when it was applied, of `time.monotonic`."""

    def __init__(self, kubectl: Kubectl, cluster: Cluster, name: str, applied_s: float) -> None:
        super().__init__(cluster.kafka.bootstrap, name, RATE)
        self.kubectl = kubectl
        self.cluster = cluster
        self._applied_s = applied_s
        self._is_deleted = False

    @property
    def first_output_s(self) -> float:
        """How long it took from `kubectl apply` to the first record that the reader saw."""
        return self.reader.times[0] - self._applied_s

    @property
    def status(self) -> Object:
        found: Object = self.kubectl.get("rsj", self.name).get("status", {})
        return found

    def pods(self) -> list[Object]:
        """The member pods that are not being deleted."""
        found = self.kubectl.list("pods", f"tandem.dev/job={self.name},app.kubernetes.io/component=member")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def pod_of(self, replica: str) -> Object:
        """The pod of a replica."""
        (pod,) = (pod for pod in self.pods() if f"-{replica}-" in pod["metadata"]["name"])
        return pod

    def publishing(self) -> tuple[str, Object]:
        """The replica that publishes, and its pod."""
        replica = self.publisher()
        return replica, self.pod_of(replica)

    def publisher(self) -> str:
        """The replica that publishes, as the status says: waits until it says so."""
        self.kubectl.wait(lambda: "publisher" in self.status, 30, "the status says who publishes")
        found: str = self.status["publisher"]
        return found

    def leader(self) -> str:
        """The replica beside the orderer that leads, as the status says: waits until it says so.

        It does not for a moment after a pass in which that orderer did not answer within the operator's second.
        """
        found: list[str] = []

        def is_told() -> bool:
            found[:] = [told for told in [self.status.get("leader")] if told]
            return bool(found)

        self.kubectl.wait(is_told, 30, "the status says who leads")
        return found[0].replace("orderer", "replica")

    def looked_at(self) -> datetime:
        """When the operator has last written what the replicas told it."""
        return datetime.fromisoformat(self.status["measuredAt"])

    def places(self) -> dict[str, str]:
        """Replica → node of its newest pod, as far as it has one."""
        pods = sorted(self.pods(), key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
        index = "tandem.dev/index"
        return {f"replica-{pod['metadata']['labels'][index]}": pod["spec"].get("nodeName", "") for pod in pods}

    def roles(self) -> dict[str, str]:
        """Replica → role, as the status shows it."""
        return {member["name"]: member["role"] for member in self.status.get("members", ())}

    def epochs(self) -> dict[str, int]:
        """Replica → the last epoch that it has computed, as the status shows it."""
        return {member["name"]: member.get("epoch", -1) for member in self.status.get("members", ())}

    def patch(self, spec: Object) -> None:
        """Change fields of the spec; None removes one."""
        self.kubectl("patch", "rsj", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def condition(self, name: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition; empty if it is not there yet."""
        found = next((one for one in self.status.get("conditions", ()) if one["type"] == name), None)
        return (found["status"], found["reason"], found["message"]) if found else ("", "", "")

    def when_known_to_work(self) -> None:
        """Wait until the job is as its spec asks, and the operator has kept that as a revision that works."""

        def known() -> bool:
            revision = self.status.get("revision", {})
            is_kept = bool(revision.get("current")) and revision["current"] == revision["target"]
            return is_kept and self.condition("Progressing")[1] == "Complete"

        self.kubectl.wait(known, 60, "what runs is known to work")

    def is_true(self, condition: str) -> bool:
        """Whether a condition holds, of this generation."""
        job = self.kubectl.get("rsj", self.name)
        observed = job.get("status", {}).get("observedGeneration")
        return observed == job["metadata"]["generation"] and holds(job, condition)

    def is_manned(self) -> bool:
        """Whether it has as many pods as it asks for, and all of them are ready: Kubernetes says so, not the operator."""
        spec, pods = self.kubectl.get("rsj", self.name)["spec"], self.pods()
        return len(pods) == spec["replicas"] + spec.get("standbys", 0) and all(holds(pod, "Ready") for pod in pods)

    def when_ready(self, deadline_s: float = START_S) -> None:
        """Wait until the job has all the replicas that it asks for at the head, and output flows."""

        def ready() -> bool:
            return self.is_true("Ready") and self.is_true("Replicated") and self.is_manned()

        self.kubectl.wait(ready, deadline_s, "Ready, Replicated, and a pod for each replica")
        self.flows_on(1)

    def when_elsewhere(self, replica: str, node: str) -> None:
        """Wait until a replica has a pod on another node than `node`."""
        self.wait(lambda: self.places().get(replica, node) not in ("", node), START_S, f"{replica} gets another pod")

    def when_staffed(self, active: int, standby: int, deadline_s: float = START_S) -> None:
        """Wait until so many replicas are active and at the head, and so many stand by, and output flows."""
        wanted = (f"{active}/{active}", f"{standby}/{standby}")

        def staffed() -> bool:
            status = self.status
            return (status.get("active"), status.get("standby")) == wanted and self.is_true("Replicated")

        self.kubectl.wait(staffed, deadline_s, f"{active} active and {standby} standbys")
        self.flows_on(1)

    def made_from(self) -> set[str]:
        """The templates of its pods."""
        return {pod["metadata"]["annotations"]["tandem.dev/template"] for pod in self.pods()}

    def when_rolled_back(self, good: set[str]) -> str:
        """Wait until the job runs as before, from the templates `good`; what it says about that."""
        self.wait(lambda: self.condition("Progressing")[1] == "RolledBack", 2 * START_S, "the job is rolled back")
        assert self.made_from() == good
        assert self.status["revision"]["failed"] == self.status["revision"]["target"]
        assert "RolledBack" in self.told()
        status, _, message = self.condition("Progressing")
        assert status == "False"
        return message

    def told(self) -> set[str]:
        """The reasons of all its events."""
        selector = f"involvedObject.name={self.name}"
        events = json.loads(self.kubectl("get", "events", "-o", "json", "--field-selector", selector))["items"]
        return {event["reason"] for event in events}

    def delete(self) -> None:
        """Delete the job when all that was sent until then has come out. What comes later is not looked at."""
        self.check_exactly_once()
        self.kubectl("delete", "rsj", self.name)
        self._is_deleted = True

    def account_for_all(self) -> None:
        """At the end: each record has come exactly once, in order."""
        if not self._is_deleted:
            self.check_exactly_once()

    def wait(self, condition: Callable[[], bool], deadline_s: float, what: str) -> None:
        self.kubectl.wait(condition, deadline_s, what)

    def story(self) -> str:
        return self.kubectl.story()


def submit(kubectl: Kubectl, cluster: Cluster, name: str, **spec: Any) -> float:
    """Make the topics that a job reads and writes, and apply it; returns when that began, of `time.monotonic`."""
    topics = [NewTopic(f"{name}-in", PARTITIONS), NewTopic(f"{name}-copies", 1), NewTopic(f"{name}-counts", 1)]
    Topics(cluster.connection).ensure(topics)
    applied_s = time.monotonic()
    kubectl.apply(*manifests(cluster, name, **spec))
    return applied_s


@contextmanager
def running_job(kubectl: Kubectl, cluster: Cluster, name: str, **spec: Any) -> Iterator[ClusterJob]:
    """A job that is ready; at the end each record must have come exactly once, in order."""
    job = ClusterJob(kubectl, cluster, name, submit(kubectl, cluster, name, **spec))
    try:
        job.when_ready()
        print(f"{name}: the first output came {job.first_output_s:.1f} s after kubectl apply")
        yield job
        job.account_for_all()
    finally:
        job.close()
