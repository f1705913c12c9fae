"""An operator with an API server in mind, whose watches tell what they are asked to tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tandem.manifest import KIND
from tandem_operator.actions import CreatePod
from tandem_operator.api import ApiError
from tandem_operator.begun import Clocks
from tandem_operator.manifests import job_of
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.plan import plan
from tandem_operator.reconciler import Reconciler
from tandem_operator.store import Key, Store
from unit.operator.operator_builders import SETTINGS, UID, tree
from unit.operator.tiny_api import TinyApi
from unit.operator.tiny_cluster import TinyCluster

KEY = Key("streaming", "flights")
TERMINATING = ApiError(403, "Forbidden", "is being terminated", ("NamespaceTerminating",))


class Nobody:
    """No pod answers. `meanwhile`: what happens while they are asked."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] = lambda: None

    async def of(self, _: Iterable[tuple[str, int]]) -> dict[tuple[str, int], object]:
        self.meanwhile()
        return {}


class World:
    """An operator, its API server, and watches that tell nothing but the job's birth."""

    def __init__(self, **spec: Any) -> None:
        self.registry = CollectorRegistry()
        self.metrics = OperatorMetrics(self.registry)
        self.api, self.store = TinyApi(self.metrics.asked), Store()
        body = tree(**{"replicas": 2, **spec})
        self.body = self.api.put({**body, "metadata": {**body["metadata"], "uid": UID, "generation": 1}})
        self.store.see_job(self.body, gone=False)
        self.now_s = 0.0
        self.reports = Nobody()
        self.reconciler = self._reconciler()

    def _reconciler(self) -> Reconciler:
        return Reconciler(
            self.api,
            self.store,
            self.reports,  # type: ignore[arg-type]
            SETTINGS,
            self.metrics,
            "me",
            Clocks(lambda: 1_800_000_000_000 + int(self.now_s * 1000), lambda: self.now_s),
        )

    def restarts(self) -> None:
        """Another operator takes the place of one that was killed, and knows nothing but what its watches tell."""
        self.api.refuse = lambda *_: None
        self.store = Store()
        self.reconciler = self._reconciler()
        self.watch()

    def passes(self, seconds: float = 2.0) -> float | None:
        self.now_s += seconds
        return asyncio.run(self.reconciler.reconcile(KEY))

    def requests(self) -> dict[str, float]:
        """How many there were of each verb so far, as the operator's metrics tell."""
        samples = (sample for family in self.registry.collect() for sample in family.samples)
        return {s.labels["verb"]: s.value for s in samples if s.name == "tandem_operator_api_requests_total"}

    def refused(self) -> ApiError:
        with pytest.raises(ApiError) as caught:
            self.passes()
        return caught.value

    def first_pod(self) -> dict[str, Any]:
        """The pod that the job gets first."""
        actions = plan(TinyCluster(job_of(self.body)).observed(), SETTINGS)
        return next(dict(action.pod) for action in actions if isinstance(action, CreatePod))

    def pods_seen(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.store.pods(KEY)]

    def watch(self) -> None:
        """The watches tell what has changed since."""
        there = {pod["metadata"]["name"]: pod for pod in self.api.list("Pod", KEY.namespace)}
        for pod in self.store.pods(KEY):
            if pod["metadata"]["name"] not in there:
                self.store.see_pod(pod, gone=True)
        for pod in there.values():
            self.store.see_pod(pod, gone=False)
        jobs = self.api.list(KIND, KEY.namespace)
        for job in jobs or list(self.store.jobs.values()):
            self.store.see_job(job, gone=not jobs)

    @property
    def job(self) -> dict[str, Any]:
        """The job, as the API server has it."""
        return self.api.objects[KIND, KEY.name]
