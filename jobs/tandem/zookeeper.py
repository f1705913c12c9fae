"""Taking part in something through ZooKeeper without ever waiting for it.

Nothing that is decided in ZooKeeper is needed for safety: the ordering log decides. So every call has a deadline (kazoo
queues requests while it is disconnected), rounds are repeated until they succeed, and a failed one is only logged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from tandem.logs import get_logger

_log = get_logger(__name__)

CALL_DEADLINE_S = 1.0
ROUND_S = 0.25


class Member:
    """A session in ZooKeeper, and a thread that calls `round` whenever something may have changed.

    Parameters
    ----------
    options : arguments of KazooClient: hosts, timeout (s), TLS and credentials.
    what : what this member takes part in, for its thread and the log.
    path : the parent of the nodes; made when ZooKeeper answers.
    round : called while ZooKeeper answers, every quarter of a second and at once when the children of `path` change.
    suspended : called when the connection is lost, when a round fails, and at the end.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        what: str,
        path: str,
        round_: Callable[[Member], None],
        suspended: Callable[[], None],
    ) -> None:
        self._client = KazooClient(**options, connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5})
        self._what = what
        self._path = path
        self._round = round_
        self._suspended = suspended
        self._made_path = False
        self._stopped = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        self.connected = False

    def start(self) -> None:
        """Begin to take part; returns at once, whether or not ZooKeeper can be reached."""
        self._client.add_listener(self._state_changed)
        self._client.start_async()
        self._thread.start()

    def stop(self) -> None:
        """End the session: its nodes are removed at once, so that nobody waits for its time-out."""
        self._stopped.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(CALL_DEADLINE_S * 4)
        self._suspended()
        self._client.stop()
        self._client.close()

    def children(self) -> list[str]:
        """The names below `path`. Raises `KazooException`, `KazooTimeoutError`, as all that follows."""
        names: list[str] = self._client.get_children_async(self._path, watch=lambda _: self._news.set()).get(
            timeout=CALL_DEADLINE_S
        )
        return names

    def create(self, name: str, value: bytes, sequence: bool = False) -> bool:
        """Make an ephemeral node below `path`; False if it is there already."""
        try:
            self._client.create_async(f"{self._path}/{name}", value, ephemeral=True, sequence=sequence).get(
                timeout=CALL_DEADLINE_S
            )
        except NodeExistsError:
            return False
        return True

    def value(self, name: str) -> bytes:
        """The value of a node below `path`."""
        value: bytes = self._client.get_async(f"{self._path}/{name}").get(timeout=CALL_DEADLINE_S)[0]
        return value

    def _state_changed(self, state: str) -> None:
        self.connected = state == KazooState.CONNECTED
        if not self.connected:
            self._suspended()
        self._news.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._news.wait(ROUND_S)
            self._news.clear()
            if not self.connected or self._stopped.is_set():
                continue
            try:
                if not self._made_path:
                    self._client.ensure_path_async(self._path).get(timeout=CALL_DEADLINE_S)
                    self._made_path = True
                self._round(self)
            except (KazooException, KazooTimeoutError) as error:
                _log.warning("zookeeper_round_failed", what=self._what, reason=repr(error))
                self._suspended()
