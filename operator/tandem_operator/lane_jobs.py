"""The jobs of a job's lanes, and their pods, as the watches show them, and as the API server itself has them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

from tandem.manifest import KIND, ReplicatedStreamJob
from tandem_operator.actions import Action, Apply
from tandem_operator.api import Api, ApiError
from tandem_operator.begun import Begun
from tandem_operator.lane_seen import LaneSeen, seen_lanes
from tandem_operator.lanes_end import LanesLeft
from tandem_operator.lanes_kept import lost_lanes, may_lack_lanes
from tandem_operator.resources.names import JOB, LANES_OF
from tandem_operator.status import Status, read_status
from tandem_operator.store import Key, Store


class LaneJobs:
    """Of all jobs with lanes. What blocks runs in threads; the store is used in the event loop only."""

    def __init__(self, api: Api, store: Store) -> None:
        self._api, self._store = api, store

    def seen(self, begun: Begun) -> dict[int, LaneSeen]:
        """Lane → its job, as far as the watches have reported."""

        return self._seen(begun, lambda name: len(self._store.pods(Key(begun.key.namespace, name))))

    def _seen(self, begun: Begun, pods_of: Callable[[str], int]) -> dict[int, LaneSeen]:
        return seen_lanes(begun.uid, self._store.lanes(begun.key), pods_of)

    async def with_pods(self, begun: Begun) -> dict[int, LaneSeen]:
        """The same, with as many pods as the API server has: the watches may not have said yet, as after a start of the
        operator. Raises `ApiError`.
        """
        labels = {LANES_OF: begun.key.name}
        pods = await asyncio.to_thread(self._api.list, "Pod", begun.key.namespace, labels)
        counts = Counter(pod["metadata"]["labels"].get(JOB, "") for pod in pods)
        return self._seen(begun, lambda name: counts[name])

    async def listed(self, begun: Begun) -> dict[int, LaneSeen]:
        """The same, after the API server was asked what else there is. Raises `ApiError`."""
        for body in await asyncio.to_thread(self._api.list, KIND, begun.key.namespace, {LANES_OF: begun.key.name}):
            self._store.see_job(body, gone=False)
        return self.seen(begun)

    async def are_there_still(self, begun: Begun, old: Status) -> bool:
        """Whether a job whose status says nothing (it is new, or its status was lost) has some. Raises `ApiError`."""
        return old.observed_generation is None and bool(await self.listed(begun))

    async def lost(self, begun: Begun) -> tuple[ReplicatedStreamJob, tuple[Apply, ...], tuple[Action, ...]] | None:
        """What makes the lanes again that a job has lost whose spec is no good, see `lost_lanes`. Raises `ApiError`."""
        if not may_lack_lanes(begun.body, read_status(begun.body.get("status", {}))):
            return None
        if lost_lanes(begun.body, self.seen(begun)) is None:
            return None
        return lost_lanes(begun.body, await self.listed(begun))

    async def left(self, begun: Begun) -> LanesLeft:
        """What the API server has of the lanes of a job that is deleted. Raises `ApiError`."""
        where, labels = begun.key.namespace, {LANES_OF: begun.key.name}
        jobs = await asyncio.to_thread(self._api.list, KIND, where, labels)
        pods = await asyncio.to_thread(self._api.list, "Pod", where, labels)
        return LanesLeft.of(begun.uid, jobs, pods)


def is_refused_alike(action: Action, refused: Iterable[tuple[Action, ApiError]]) -> bool:
    """Whether it makes or changes the job of a lane, and another one was refused for what this one would be refused for.

    That is: the server is busy or out of order, or a quota is used up, which stops no change of what is there.
    """
    if not _is_lane(action):
        return False
    causes = [error for one, error in refused if _is_lane(one)]
    is_new = isinstance(action, Apply) and action.is_new
    return any(error.is_passing or (is_new and error.is_quota) for error in causes)


def _is_lane(action: Action) -> bool:
    return isinstance(action, Apply) and action.object["kind"] == KIND
