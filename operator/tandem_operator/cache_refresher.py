"""What the watches may not have reported: asked of the API server itself.

Before the first pass over a job and now and then again; after a watch had to list everything again, which says nothing of
what was deleted in between; and before a pod is made or taken away. For an operator that was cut off, or paused, comes back
with the world of then, beside the one that has taken its place: Kubernetes promises no Deployment that there is only one.

No version is named in what is asked: so the answer is never older than the question, and what was known before gives way to
it even if its version is higher, as after etcd was restored.
"""

from __future__ import annotations

import asyncio
from typing import Final

from tandem.manifest import KIND
from tandem_operator.actions import Object
from tandem_operator.api import Api, ApiError
from tandem_operator.resources.names import JOB, MANAGED_BY, MANAGER
from tandem_operator.store import Key, Store

_AGAIN_S: Final = 300.0
_SILENT_S: Final = 30.0
"""So soon while no pod of a job answers: they may all be gone, and of that a watch that lists again says nothing."""


class CacheRefresher:
    """With all jobs. What blocks runs in threads; the store is used in the event loop only."""

    def __init__(self, api: Api, store: Store) -> None:
        self._api, self._store = api, store
        self._made: dict[Key, tuple[str, float]] = {}
        self._due_s: dict[Key, float] = {}

    async def renew(self, key: Key, uid: str, now_s: float, is_due: bool = False) -> bool:
        """Take in the job and its pods, if that was not done at `now_s` (of a monotonic clock), and is due.

        Returns whether the job is still there, and the one with that uid. Raises `ApiError`.
        """
        is_due = is_due or now_s >= self._due_s.get(key, now_s) or key in self._store.stale
        known, made_s = self._made.get(key, ("", 0.0))
        if known == uid and (made_s == now_s or not is_due):
            return True
        self.forget(key)
        self._store.stale.discard(key)  # a listing from now on is a doubt again
        known_job, before = self._store.jobs.get(key), self._store.named(key)
        job = await asyncio.to_thread(self._job, key)
        if job is None:
            self._store.drop_job(key, uid)
            self._store.relisted(key, before, ())
            return False
        self._store.answered(key, known_job, job)
        if job["metadata"]["uid"] != uid:
            return False
        labels = {JOB: key.name, MANAGED_BY: MANAGER}
        self._store.relisted(key, before, await asyncio.to_thread(self._api.list, "Pod", key.namespace, labels))
        self._made[key], self._due_s[key] = (uid, now_s), now_s + _AGAIN_S
        return True

    def mark_unresponsive(self, key: Key) -> None:
        """No pod that should answer does."""
        if key in self._made:
            self._due_s[key] = min(self._due_s[key], self._made[key][1] + _SILENT_S)

    def forget(self, key: Key) -> None:
        """The job is gone, or what is known of it is in doubt."""
        self._made.pop(key, None)
        self._due_s.pop(key, None)

    def _job(self, key: Key) -> Object | None:
        try:
            return self._api.get(KIND, key.namespace, key.name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
