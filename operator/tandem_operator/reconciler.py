"""One pass over one job: observe, plan, act."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from tandem.logs import get_logger
from tandem.manifest import KIND, ManifestError, ReplicatedStreamJob
from tandem_operator.act import Actor, Target
from tandem_operator.actions import Action, CreatePod, Delete, DeletePod, Emit, Object, SetStatus, Switch
from tandem_operator.api import Api, ApiError
from tandem_operator.begun import AT_ONCE_S, RESTLESS_S, STEADY_S, Begun, Clocks, UnseenError, seeing
from tandem_operator.cache_refresher import CacheRefresher
from tandem_operator.lane_change import lanes_now
from tandem_operator.lane_jobs import LaneJobs, is_refused_alike
from tandem_operator.lanes import has_lanes, plan_lanes
from tandem_operator.lanes_end import plan_end
from tandem_operator.manifests import job_of
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.observe import observe, pods_of, tasks_of
from tandem_operator.observed import Observed
from tandem_operator.one_lane import (
    as_one_lane,
    cleared,
    is_between,
    is_over,
    may_have_one_lane,
    plan_one_lane,
    surplus_objects,
)
from tandem_operator.owned import OwnedObjects
from tandem_operator.patience import Patience
from tandem_operator.plan import plan
from tandem_operator.plan.deletion import released
from tandem_operator.plan.invalid import last_working, refuse, unseen
from tandem_operator.plan.refused import Refusal, only_now, waits, words_of
from tandem_operator.reports import Reports
from tandem_operator.resources import Settings
from tandem_operator.resources.names import CLEANUP
from tandem_operator.shown import gauges
from tandem_operator.status import Status, read_status
from tandem_operator.store import Key, Store

_log = get_logger(__name__)

Planned = Callable[[Observed, Settings], Sequence[Action]]

_STAFFING: Final = (CreatePod, DeletePod, Delete, Switch)
"""Actions that are unsafe on a stale cache: who else is there must be known for certain."""
_WORDS: Final = (Emit, SetStatus)
"""What concerns the job itself; everything else is a deed."""


class Reconciler:
    """Called by the loop. What blocks runs in threads; the store is used in the event loop only.

    `me` : the operator's name, as its events tell it.
    `clocks` : by default those of this machine.
    """

    def __init__(
        self,
        api: Api,
        store: Store,
        reports: Reports,
        settings: Settings,
        metrics: OperatorMetrics,
        me: str,
        clocks: Clocks | None = None,
    ) -> None:
        clocks = clocks or Clocks()
        self._api, self._store, self._reports, self._settings = api, store, reports, settings
        self._metrics, self._now_ms, self._monotonic_s = metrics, clocks.now_ms, clocks.monotonic_s
        self._actor = Actor(api, settings, me)
        self._owned = OwnedObjects(api)
        self._lane_jobs = LaneJobs(api, store)
        self._cache_refresher = CacheRefresher(api, store)
        self._patience = Patience()

    async def reconcile(self, key: Key) -> float | None:
        """A pass; returns after how many seconds the next one is due, None: the job is gone.

        Raises `ApiError` if something was refused, after everything else was carried out.
        """
        known = self._store.jobs.get(key)
        if known is None:
            return None
        uid = known["metadata"]["uid"]
        now_s = self._monotonic_s()
        try:
            return await self._looked_at(key, uid, now_s)
        except UnseenError as error:
            body = self._store.jobs.get(key, known)
            begun = Begun(key, uid, body, self._store.fingerprint(key), now_s)
            await self._stands_still(begun, unseen(body, str(error), self._now_ms()))
            raise error.refused from error

    async def _looked_at(self, key: Key, uid: str, now_s: float) -> float | None:
        if not await seeing(self._cache_refresher.renew(key, uid, now_s)):
            self.forget(key)
            return RESTLESS_S if key in self._store.jobs else None
        body = self._store.jobs[key]
        if "deletionTimestamp" in body["metadata"] and CLEANUP not in body["metadata"].get("finalizers", ()):
            return STEADY_S
        begun = Begun(key, uid, body, self._store.fingerprint(key), now_s)
        try:
            job = job_of(body)
        except ManifestError as error:
            again_s, refused = await self._repair(begun, error)
        else:
            old = read_status(body.get("status", {}))
            try:
                is_whole = has_lanes(job, old) or (
                    job.spec.lane_of is None and await self._lane_jobs.are_there_still(begun, old)
                )
                again_s, refused = await (self._lanes(begun, job) if is_whole else self._pass(begun, job))
            except ManifestError as error:  # with the number of lanes that it changes from or to, it is no good job
                again_s, refused = STEADY_S, await self._goes_on(begun, error)
        if refused is not None:
            raise refused
        return again_s if key in self._store.jobs else None

    async def _repair(self, begun: Begun, error: ManifestError) -> tuple[float, ApiError | None]:
        """A pass over a job whose spec is no good."""
        objects = await seeing(asyncio.to_thread(self._owned.of, begun.key, begun.uid, False, begun.now_s))
        job = last_working(begun.body, objects)
        if job is not None and not is_between(read_status(begun.body.get("status", {}))):
            return await self._pass(begun, job, str(error))
        return STEADY_S, await self._goes_on(begun, error)

    async def _goes_on(self, begun: Begun, error: ManifestError) -> ApiError | None:
        """Nothing is known of a revision that works: what is lost of lanes is made again, nothing else is done."""
        lost = await self._lane_jobs.lost(begun)
        refused = await self._do(begun.key, Target(lost[0], begun.uid), lost[1]) if lost else ()
        words = (*(lost[2] if lost and not refused else ()), *refuse(begun.body, error, self._now_ms()))
        return await self._stands_still(begun, words) or (refused[0][1] if refused else None)

    async def _pass(
        self, begun: Begun, job: ReplicatedStreamJob, invalid: str = "", planned: Planned = plan
    ) -> tuple[float, ApiError | None]:
        """When the next one is due, and the first error."""
        key, uid = begun.key, begun.uid
        objects = await self._owned.seen(begun, job)
        observed = await observe(begun.body, job, self._store, objects, self._reports, self._now_ms(), invalid)
        if observed.is_silent:
            self._cache_refresher.mark_unresponsive(key)
        actions = planned(observed, self._settings)
        if any(isinstance(one, _STAFFING) for one in actions) and not await self._is_as_it_was(begun):
            return AT_ONCE_S, None
        refused = await self._do(key, Target(job, uid), actions)
        first = refused[0][1] if refused else None
        if first is not None and first.is_terminating:
            await self._let_go(key, Target(job, uid), observed)
            return STEADY_S, None
        words = self._words(key, observed, actions, refused)
        error = await self._tell(begun, words)
        status = self._shown(begun, words)
        is_restless = actions or status.get("phase") not in ("Running", "Suspended")
        return RESTLESS_S if is_restless else STEADY_S, first or error

    async def _lanes(self, begun: Begun, job: ReplicatedStreamJob) -> tuple[float, ApiError | None]:
        """A pass over a job with lanes, each of which is a job of its own."""
        key, target = begun.key, Target(job, begun.uid)
        if "deletionTimestamp" in begun.body["metadata"]:
            return await self._pass(begun, job, planned=partial(plan_end, left=await self._lane_jobs.left(begun)))
        old = read_status(begun.body.get("status", {}))
        had_one = may_have_one_lane(job, old) and not await self._lane_jobs.are_there_still(begun, old)
        if had_one and (passed := await self._one_lane(begun, job, old)) is not None:
            return passed
        lanes, change = self._lane_jobs.seen(begun), old.lane_change
        if len(lanes) < lanes_now(job.spec.lanes, change):  # only the API server knows that one is not there
            lanes = await self._lane_jobs.listed(begun)
        if change is not None and change.stage == "Stopping" and all(one.as_job.has_stopped for one in lanes.values()):
            lanes = await self._lane_jobs.with_pods(begun)
        if job.spec.lanes == 1 and not lanes and change is None:
            return await self._pass(begun, job)
        tasks = tasks_of(begun.body, self._store)
        actions = plan_lanes(begun.body, job, lanes, self._settings, self._now_ms(), tasks=tasks)
        if change is None and job.spec.lanes > 1:  # what a task of an earlier change had is needed by nobody
            actions = (*surplus_objects(job, await self._owned.seen(begun, job)), *actions)
        refused = await self._do(key, target, actions)
        first = refused[0][1] if refused else None
        if first is not None and first.is_terminating:
            return STEADY_S, None
        said = self._patience.worth_saying(key, refused)
        if said is not None:
            actions = plan_lanes(begun.body, job, lanes, self._settings, self._now_ms(), str(said[1]), tasks)
        words = [action for action in actions if isinstance(action, _WORDS)]
        error = await self._tell(begun, words if said is not None or first is None else ())
        status = self._shown(begun, words)
        return STEADY_S if status.get("phase") in ("Running", "Suspended") else RESTLESS_S, first or error

    async def _stands_still(self, begun: Begun, words: Sequence[Action]) -> ApiError | None:
        """Nothing is done for a job but to say why; returns the first error."""
        error = await self._tell(begun, words)
        self._shown(begun, words)
        return error

    def _shown(self, begun: Begun, words: Iterable[Action]) -> Mapping[str, object]:
        """The status with what was said in a pass, after the metrics show it."""
        before = begun.body.get("status", {})
        status = next((dict(word.status) for word in words if isinstance(word, SetStatus)), before)
        if begun.key in self._store.jobs:
            self._metrics.show(*begun.key, gauges(begun.body, status))
        return status

    async def _one_lane(
        self, begun: Begun, job: ReplicatedStreamJob, old: Status
    ) -> tuple[float, ApiError | None] | None:
        """A pass over a job that has one lane and is to have several; None: nothing is left of the one."""
        objects = await self._owned.seen(begun, job)
        planned: Planned
        is_there = bool(surplus_objects(job, objects) or pods_of(begun.body, self._store))
        if is_over(old, is_there):
            if not is_there:
                return None
            planned = cleared
        else:
            planned = partial(plan_one_lane, body=begun.body, wanted=job.spec.lanes)
        body = as_one_lane(begun.body, old)
        return await self._pass(replace(begun, body=body), job_of(body), planned=planned)

    async def _is_as_it_was(self, begun: Begun) -> bool:
        """Whether the API server itself has the spec and the pods that the pass began with. Raises `ApiError`."""
        is_there = await self._cache_refresher.renew(begun.key, begun.uid, begun.now_s, is_due=True)
        return is_there and self._store.fingerprint(begun.key) == begun.fingerprint

    async def _let_go(self, key: Key, target: Target, observed: Observed) -> None:
        """In a namespace that is being deleted no task can run: a job in it goes, and its topics and snapshots stay."""
        if observed.deleting:
            _log.warning("topics_stay", namespace=key.namespace, job_name=key.name, reason="its namespace is deleted")
            await self._do(key, target, released(observed))

    def forget(self, key: Key) -> None:
        """The job is gone."""
        self._patience.forget(key)
        self._cache_refresher.forget(key)
        self._owned.forget(key)
        self._metrics.forget(key.namespace, key.name)

    async def _do(self, key: Key, target: Target, actions: Iterable[Action]) -> Sequence[tuple[Action, ApiError]]:
        """Carry out what can be carried out; returns what was refused. Nothing follows if the namespace is being deleted."""
        refused: list[tuple[Action, ApiError]] = []
        for action in actions:
            lacking = [one for one, _ in refused]
            if isinstance(action, _WORDS) or waits(action, lacking, target.job.spec.suspend):
                continue
            if is_refused_alike(action, refused):
                continue
            try:
                changed = await asyncio.to_thread(self._actor.carry_out, target, action)
            except ApiError as error:
                self._owned.forget(key)
                if error.is_terminating:
                    return [(action, error)]
                refused.append((action, error))
            else:
                self._owned.changed(key, action)
                self._saw(changed)
        return refused

    def _words(
        self, key: Key, observed: Observed, actions: Sequence[Action], refused: Sequence[tuple[Action, ApiError]]
    ) -> Sequence[Action]:
        """What is to be reported."""
        said = self._patience.worth_saying(key, refused)
        if not refused:
            return [action for action in actions if isinstance(action, _WORDS)]
        if said is None:
            return only_now(actions)
        return words_of(observed, self._settings, actions, Refusal(said[0], str(said[1]), said[1].is_passing))

    async def _tell(self, begun: Begun, words: Iterable[Action]) -> ApiError | None:
        """Events and the status; returns the first error. A job whose status is not found is gone.

        A job that somebody has changed since the pass began is looked at again first: its status may be another one by now.
        """
        first, key, uid = None, begun.key, begun.uid
        for word in words:
            try:
                self._saw(await asyncio.to_thread(self._actor.tell, key, uid, begun.version, word))
            except ApiError as error:
                if isinstance(word, SetStatus) and error.status == 404:
                    self._store.drop_job(key, uid)
                elif isinstance(word, SetStatus) and self._patience.is_conflict(key, error):
                    self._cache_refresher.forget(key)
                elif not error.is_terminating:
                    first = first or error
        return first

    def _saw(self, thing: Object | None) -> None:
        """What the API server answered is newer than what the watches have reported."""
        if thing is not None and thing["kind"] == KIND:
            self._patience.agreed(self._store.see_job(thing, gone=False))
        elif thing is not None:
            self._store.see_pod(thing, gone=False)
