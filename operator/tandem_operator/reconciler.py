"""One pass over one job: observe, plan, act."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from tandem.logs import get_logger
from tandem.manifest import KIND, ManifestError
from tandem_operator.act import Actor, Target
from tandem_operator.actions import Action, Object, SetStatus
from tandem_operator.api import Api, ApiError
from tandem_operator.manifests import job_of
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.observe import observe
from tandem_operator.owned import Owned
from tandem_operator.plan import plan
from tandem_operator.plan.invalid import refuse
from tandem_operator.reports import Reports
from tandem_operator.resources import Settings
from tandem_operator.resources.names import JOB
from tandem_operator.shown import gauges
from tandem_operator.store import Key, Store

_log = get_logger(__name__)

STEADY_S: Final = 10.0
"""How often a job is looked at that is as it should be."""
RESTLESS_S: Final = 2.0
"""And one that is on its way."""


class Reconciler:
    """Called by the loop. What blocks runs in threads; the store is used in the event loop only."""

    def __init__(
        self,
        api: Api,
        store: Store,
        reports: Reports,
        settings: Settings,
        metrics: OperatorMetrics,
        me: str,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._api, self._store, self._reports, self._settings = api, store, reports, settings
        self._metrics, self._now_ms = metrics, now_ms
        self._actor = Actor(api, settings, me)
        self._owned = Owned(api)
        self._known: set[str] = set()

    async def reconcile(self, key: Key) -> float:
        """A pass; returns after how many seconds the next one is due. Raises `ApiError` if something was refused."""
        body = self._store.jobs.get(key)
        if body is None or "deletionTimestamp" in body["metadata"]:
            return STEADY_S
        uid = body["metadata"]["uid"]
        if uid not in self._known:
            await self._acquaint(key, uid)
        try:
            job = job_of(body)
        except ManifestError as error:
            for action in refuse(body, error, self._now_ms()):
                self._saw(await asyncio.to_thread(self._actor.tell, key, uid, action))
            return STEADY_S
        target = Target(job, uid)
        has_executors = bool(job.spec.executors.instances)
        objects = await asyncio.to_thread(self._owned.of, key, uid, has_executors, time.monotonic())
        observed = await observe(key, job, self._store, objects, self._reports, self._now_ms())
        actions = plan(observed, self._settings)
        try:
            for action in actions:
                await self._act(key, target, action)
        except ApiError as error:
            if error.is_terminating:
                return STEADY_S
            raise
        status = next((dict(action.status) for action in actions if isinstance(action, SetStatus)), observed.status)
        self._metrics.show(key.namespace, key.name, gauges(job, status))
        return RESTLESS_S if actions or status.get("phase") not in ("Running", "Suspended") else STEADY_S

    def forget(self, key: Key) -> None:
        """The job is gone."""
        self._owned.forget(key)
        self._metrics.forget(key.namespace, key.name)

    async def _acquaint(self, key: Key, uid: str) -> None:
        """The watches may not have told yet which pods the job has."""
        for pod in await asyncio.to_thread(self._api.list, "Pod", key.namespace, {JOB: key.name}):
            self._store.see_pod(pod, gone=False)
        self._known.add(uid)

    async def _act(self, key: Key, target: Target, action: Action) -> None:
        try:
            changed = await asyncio.to_thread(self._actor.carry_out, target, action)
        except ApiError:
            self._owned.forget(key)
            raise
        self._owned.changed(key, action)
        self._saw(changed)

    def _saw(self, thing: Object | None) -> None:
        """What the API server answered is newer than what the watches have told."""
        if thing is not None and thing["kind"] == KIND:
            self._store.see_job(thing, gone=False)
        elif thing is not None:
            self._store.see_pod(thing, gone=False)
