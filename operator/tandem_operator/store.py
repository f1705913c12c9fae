"""What the watches have reported: every job, and our pods by job. Memory only; filled again by listing after a start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tandem_operator import trim
from tandem_operator.resources.names import JOB, LANES_OF
from tandem_operator.trim import Body

Fingerprint = tuple[object, ...]
"""Who is there of a job; what changes otherwise leaves it equal."""


class Key(NamedTuple):
    """A job."""

    namespace: str
    name: str


@dataclass
class Store:
    """Used by one thread, the event loop's.

    `stale` : jobs of which a watch has listed again, so that it may have missed what is gone.
    """

    jobs: dict[Key, Body] = field(default_factory=dict)
    stale: set[Key] = field(default_factory=set)
    _pods: dict[Key, dict[str, Body]] = field(default_factory=dict)
    _nodes: dict[str, bool] = field(default_factory=dict)

    def see_job(self, body: Body, gone: bool) -> Key:
        """A job was seen, or deleted."""
        key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
        if gone:
            self.drop_job(key, body["metadata"]["uid"])
        elif _is_news(self.jobs.get(key), body):
            self.jobs[key] = trim.of_job(body)
        return key

    def answered(self, key: Key, before: Body | None, body: Body) -> None:
        """The API server itself has answered how a job is. `before`: what was known when it was asked.

        That is taken in even if its version is an older one, as after etcd was restored; not if the watches have meanwhile
        brought something newer.
        """
        if self.jobs.get(key) is before:
            self.jobs[key] = trim.of_job(body)
        else:
            self.see_job(body, gone=False)

    def drop_job(self, key: Key, uid: str) -> None:
        """The job with that uid is gone, however that became known; not one that has its name by now."""
        known = self.jobs.get(key)
        if known is not None and known["metadata"]["uid"] == uid:
            del self.jobs[key]
            self.stale.discard(key)

    def lanes(self, key: Key) -> tuple[Body, ...]:
        """The jobs that are lanes of a job."""
        return tuple(
            body
            for (namespace, _), body in sorted(self.jobs.items())
            if namespace == key.namespace and body["metadata"].get("labels", {}).get(LANES_OF) == key.name
        )

    def see_pod(self, body: Body, gone: bool) -> Key:
        """A pod of ours was seen, or deleted."""
        metadata = body["metadata"]
        key = Key(metadata["namespace"], metadata.get("labels", {}).get(JOB, ""))
        pods = self._pods.setdefault(key, {})
        if gone:
            pods.pop(metadata["name"], None)
            if not pods:
                self._pods.pop(key)
        elif _is_news(pods.get(metadata["name"]), body):
            pods[metadata["name"]] = trim.of_pod(body)
        return key

    def named(self, key: Key) -> dict[str, Body]:
        """The pods of a job by their names."""
        return dict(self._pods.get(key, {}))

    def fingerprint(self, key: Key) -> Fingerprint:
        """What is there of a job: its generation, and its pods, with those that are being deleted marked."""
        job = self.jobs.get(key)
        pods = ((pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"]) for pod in self.pods(key))
        return (None if job is None else (job["metadata"]["uid"], job["metadata"].get("generation")), *pods)

    def relisted(self, key: Key, before: Mapping[str, Body], bodies: Iterable[Body]) -> None:
        """The pods of a job were listed; `before`: those `named` when that began. Those of them not in the answer are gone.

        And those that the watches have meanwhile reported as gone do not come back with an answer that is older. Versions
        are taken as in `answered`.
        """
        now = self.named(key)
        gone_meanwhile = {_uid(pod) for name, pod in before.items() if name not in now or _uid(now[name]) != _uid(pod)}
        listed = {_uid(body): body for body in bodies}
        for uid, body in listed.items():
            name = body["metadata"]["name"]
            if name in now and now[name] is before.get(name):
                self._pods[key][name] = trim.of_pod(body)
            elif uid not in gone_meanwhile:
                self.see_pod(body, gone=False)
        pods = self._pods.get(key, {})
        for name, pod in before.items():
            if _uid(pod) not in listed and name in pods and _uid(pods[name]) == _uid(pod):
                del pods[name]
        if not pods:
            self._pods.pop(key, None)

    def see_node(self, body: Body, gone: bool) -> tuple[Key, ...]:
        """A node was seen; the jobs with pods on it, if that changes something for them."""
        name = body["metadata"]["name"]
        ready = not gone and any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in body.get("status", {}).get("conditions", ())
        )
        before = self._nodes.get(name)
        self._nodes[name] = ready
        if before is None or before == ready:
            return ()
        return tuple(
            key for key, pods in self._pods.items() if any(pod["spec"].get("nodeName") == name for pod in pods.values())
        )

    def pods(self, key: Key) -> tuple[Body, ...]:
        """The pods of a job, by name."""
        return tuple(pod for _, pod in sorted(self._pods.get(key, {}).items()))

    def is_lost(self, node: str) -> bool:
        """Whether Kubernetes takes the node for dead. Nodes without a report are taken for alive."""
        return not self._nodes.get(node, True)


def _uid(body: Body) -> str:
    return str(body["metadata"]["uid"])


def _is_news(known: Body | None, body: Body) -> bool:
    is_same = known is not None and known["metadata"]["uid"] == body["metadata"]["uid"]
    return known is None or not is_same or _version(known) <= _version(body)


def _version(body: Body) -> int:
    # Kubernetes 1.35 promises that resource versions of one resource can be compared as numbers (KEP-5504).
    text = str(body["metadata"].get("resourceVersion", "0"))
    return int(text) if text.isdigit() else 0
