"""The objects beside pods that a job owns, as far as they were applied: remembered, and listed again now and then.

Nobody but the operator should change them; if somebody does, the next listing shows it. A ConfigMap cannot be changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from tandem.manifest import KIND as JOB_KIND
from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import Action, Apply, Create, Delete, Object
from tandem_operator.api import Api, ApiError
from tandem_operator.begun import Begun, seeing
from tandem_operator.observed import ObjectSeen
from tandem_operator.resources.names import APPLIED, JOB
from tandem_operator.resources.revisions import KIND as REVISION
from tandem_operator.store import Key

_KINDS: Final = ("ConfigMap", "ServiceAccount", "Service", "PodDisruptionBudget", "NetworkPolicy", REVISION)
_KINDS_OF_RIGHTS: Final = ("Role", "RoleBinding")
"""The operator may have no right to see them, if it was installed for jobs without executors."""
_AGAIN_S: Final = 300.0


class OwnedObjects:
    """What is known of one operator's jobs. Each job is used by one thread at a time."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen: dict[Key, dict[tuple[str, str], ObjectSeen]] = {}
        self._listed: dict[Key, tuple[str, float]] = {}

    def of(self, key: Key, uid: str, has_executors: bool, now_s: float) -> tuple[ObjectSeen, ...]:
        """The objects of a job; `now_s` is of a monotonic clock. Blocking at the first time, and every five minutes.

        Rights are looked for at the first time in any case: those of executors that the job had may have been left over.
        """
        known, listed_s = self._listed.get(key, ("", 0.0))
        is_first = known != uid
        if is_first or now_s - listed_s >= _AGAIN_S:
            self._seen[key] = self._list(key, uid, (*_KINDS, *(_KINDS_OF_RIGHTS if is_first or has_executors else ())))
            self._listed[key] = uid, now_s
        return tuple(self._seen[key].values())

    async def seen(self, begun: Begun, job: ReplicatedStreamJob) -> tuple[ObjectSeen, ...]:
        """The same in a pass, which is not blocked. Raises `UnseenError`, `ApiError`."""
        has_executors = bool(job.spec.executors.instances)
        return await seeing(asyncio.to_thread(self.of, begun.key, begun.uid, has_executors, begun.now_s))

    def changed(self, key: Key, action: Action) -> None:
        """An action was carried out. The jobs of lanes are jobs, and known as such."""
        known = self._seen.setdefault(key, {})
        match action:
            case Apply(thing) | Create(thing) if thing["kind"] != JOB_KIND:
                named = thing["kind"], thing["metadata"]["name"]
                before = known.get(named)
                known[named] = _seen(thing, "" if before is None else before.uid)
            case Delete(kind=kind, name=name):
                known.pop((kind, name), None)

    def forget(self, key: Key) -> None:
        """Whatever is known of the job may be wrong, or the job is gone."""
        self._seen.pop(key, None)
        self._listed.pop(key, None)

    def _list(self, key: Key, uid: str, kinds: Sequence[str]) -> dict[tuple[str, str], ObjectSeen]:
        found = {}
        for kind in kinds:
            for thing in self._things(kind, key):
                metadata = thing["metadata"]
                if any(owner["uid"] == uid for owner in metadata.get("ownerReferences", ())):
                    found[kind, metadata["name"]] = _seen(thing)
        return found

    def _things(self, kind: str, key: Key) -> Sequence[Object]:
        try:
            return self._api.list(kind, key.namespace, {JOB: key.name})
        except ApiError as error:
            if kind in _KINDS_OF_RIGHTS and error.status == 403:
                return ()  # then they cannot be made either, which is reported
            raise


def _seen(thing: Object, uid: str = "") -> ObjectSeen:
    """`uid` : of one that was there before what was applied."""
    kind, metadata = thing["kind"], thing["metadata"]
    applied = metadata.get("annotations", {}).get(APPLIED, "")
    return ObjectSeen(kind, metadata["name"], applied, None if kind == "ConfigMap" else thing, metadata.get("uid", uid))
