"""Whether the operator may see the jobs and pods of each namespace that it is to look after.

A namespace that is deleted takes the operator's Role with it, so that it is as one in which rights are missing: 403. kopf
tries the watches there again and again (`wiring.Backoffs`). Here it is said, and the passes over its jobs are put off.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from urllib3.exceptions import HTTPError

from tandem.logs import get_logger
from tandem.manifest import KIND
from tandem_operator.api import Api, ApiError
from tandem_operator.loop import Pass
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.store import Key

_log = get_logger(__name__)

LOOK_S: Final = 30.0
"""So often each namespace is looked at, and a job in a closed one."""
SAY_S: Final = 600.0
"""So often it is said that one is still closed."""
_KINDS: Final = (KIND, "Pod")
_REMEDY: Final = (
    "Its jobs run on, but nobody looks after them; all other namespaces are looked after. Create the namespace if there is "
    "none, and give the operator its Role there (helm upgrade), or take it out of watchNamespaces"
)
_REMEDY_EVERYWHERE: Final = "Jobs run on, but nobody looks after them. Give the operator its ClusterRole (helm upgrade)"


def _refusal(api: Api, namespace: str) -> ApiError | None:
    """Why the operator may not see the jobs and pods of a namespace ("": of all); None: it may.

    Raises what says nothing about that: `ApiError` of a busy server, urllib3's errors.
    """
    for kind in _KINDS:
        try:
            api.list(kind, namespace, most=1)
        except ApiError as error:
            if error.status in (403, 404):
                return error
            raise
    return None


class Reach:
    """The namespaces; none: all. Used in the event loop only; what blocks runs in threads.

    `monotonic_s` : any monotonic clock, s.
    """

    def __init__(
        self,
        api: Api,
        namespaces: Sequence[str],
        metrics: OperatorMetrics,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._namespaces, self._metrics = api, tuple(namespaces) or ("",), metrics
        self._monotonic_s = monotonic_s
        self._said_s: dict[str, float] = {}

    def is_closed(self, namespace: str) -> bool:
        """Whether the operator was last refused there."""
        return namespace in self._said_s or "" in self._said_s

    def guarding(self, reconcile: Pass) -> Pass:
        """The same, but put off for jobs in a closed namespace."""

        async def guarded(key: Key) -> float | None:
            return LOOK_S if self.is_closed(key.namespace) else await reconcile(key)

        return guarded

    async def watch(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            for namespace in self._namespaces:
                try:
                    await self.look(namespace)
                except Exception as error:  # else nobody would look any more, and a closed namespace stayed closed
                    _log.warning("namespace_not_looked_at", namespace=namespace or "*", reason=repr(error))
            await asyncio.sleep(LOOK_S)

    async def look(self, namespace: str) -> None:
        """Look once. Where nothing can be learnt, all stays as it is."""
        try:
            refused = await asyncio.to_thread(_refusal, self._api, namespace)
        except (ApiError, HTTPError):
            return
        self._metrics.closed(namespace, refused is not None)
        if refused is None:
            if self._said_s.pop(namespace, None) is not None:
                _log.info("namespace_open", namespace=namespace or "*")
        elif self._monotonic_s() >= self._said_s.get(namespace, float("-inf")) + SAY_S:
            self._said_s[namespace] = self._monotonic_s()
            remedy = _REMEDY if namespace else _REMEDY_EVERYWHERE
            _log.warning("namespace_closed", namespace=namespace or "*", reason=str(refused), remedy=remedy)
