"""kopf, and nothing but kopf: its watches feed the store and wake the loop.

No finalizers of kopf's, no timers, daemons or results of handlers: nothing that matters waits for kopf's queues (see its
docs/critiques), and jobs can be deleted while no operator runs, but for those that take their topics with them. What an
event says is taken in; what follows from it, a pass decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import kopf

from tandem_operator.crd.document import GROUP, PLURAL, VERSION
from tandem_operator.lanes import whole_of_body
from tandem_operator.resources.names import MANAGED_BY, MANAGER
from tandem_operator.store import Key, Store

_FIRST_S: Final = (1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0)
_THEN_S: Final = 30.0
_CHUNK: Final = 100
"""So many objects in one answer of a list: all nodes of a large cluster at once, with their images, fill the memory."""


class Backoffs:
    """Waits before the next tries of a request of kopf's, in s, without an end.

    kopf ends, for all namespaces, with the first request that it gives up: a watch in a namespace that is no more, or in
    which rights are missing (403), or at an API server that is out of order (5xx).
    """

    def __iter__(self) -> Iterator[float]:
        yield from _FIRST_S
        while True:
            yield _THEN_S


class Wakes(Protocol):
    """What the watches need of the loop."""

    def wake(self, key: Key) -> None:
        """Something happened to the job."""

    def forget(self, key: Key) -> None:
        """The job is gone."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where jobs are looked for: in these namespaces; in all of them if there are none named."""

    namespaces: tuple[str, ...] = ()

    @property
    def is_clusterwide(self) -> bool:
        """Whether the operator has rights on the whole cluster, and so sees nodes."""
        return not self.namespaces


class Intake:
    """What the watches tell is taken into the store, and the loop woken. `type` is kopf's: None for what it has listed."""

    def __init__(self, store: Store, loop: Wakes) -> None:
        self._store, self._loop = store, loop

    async def job_event(self, type: str | None, body: Mapping[str, Any], **_: object) -> None:
        """A job was listed, made, changed or deleted."""
        gone = type == "DELETED"
        key = self._store.see_job(body, gone)
        if gone and key not in self._store.jobs:
            self._loop.forget(key)
        else:
            self._look(type, key)
        whole = Key(key.namespace, whole_of_body(body))
        if whole in self._store.jobs:
            self._loop.wake(whole)

    async def pod_event(self, type: str | None, body: Mapping[str, Any], **_: object) -> None:
        """The same of a pod of ours."""
        key = self._store.see_pod(body, type == "DELETED")
        if key in self._store.jobs:
            self._look(type, key)

    async def node_event(self, type: str | None, body: Mapping[str, Any], **_: object) -> None:
        """The same of a node."""
        for key in self._store.see_node(body, type == "DELETED"):
            self._loop.wake(key)

    def _look(self, type: str | None, key: Key) -> None:
        if type is None:
            self._store.stale.add(key)
        self._loop.wake(key)


def registry_of(store: Store, loop: Wakes, scope: Scope) -> kopf.OperatorRegistry:
    """The handlers."""
    registry, intake = kopf.OperatorRegistry(), Intake(store, loop)
    kopf.on.login(registry=registry)(kopf.login_via_client)
    kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)(intake.job_event)
    kopf.on.event("", "v1", "pods", labels={MANAGED_BY: MANAGER}, registry=registry)(intake.pod_event)
    if scope.is_clusterwide:
        kopf.on.event("", "v1", "nodes", registry=registry)(intake.node_event)
    return registry


def settings() -> kopf.OperatorSettings:
    """kopf's settings: it posts nothing, writes nothing, and looks for no other operator."""
    found = kopf.OperatorSettings()
    found.posting.enabled = False
    found.peering.standalone = True
    found.scanning.disabled = True
    found.watching.label_selectors["", "v1", "pods"] = f"{MANAGED_BY}={MANAGER}"
    found.watching.server_timeout = 240
    found.watching.chunk_size = _CHUNK
    found.watching.connect_timeout = 10.0
    found.networking.request_timeout = 30.0
    found.networking.error_backoffs = Backoffs()
    found.process.ultimate_exiting_timeout = 20.0
    return found
