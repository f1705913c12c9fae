"""Taking part in something through ZooKeeper without ever waiting for it.

Nothing that is decided in ZooKeeper is needed for safety: the ordering log decides. So every call has a deadline (kazoo
queues requests while it is disconnected), rounds are repeated until they succeed, and a failed one is only logged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from tandem.logs import get_logger
from tandem.waits import Task

_log = get_logger(__name__)

CALL_DEADLINE_S = 1.0
ROUND_S = 0.25

ZOOKEEPER_ERRORS = (KazooException, KazooTimeoutError)
"""What every method of `Nodes` may raise."""


class Nodes:
    """Nodes below `root`, each call with a deadline. Names are relative to `root`; those that begin with / are not.

    `changed` is called, from a thread of the client, when something that was read has changed.
    """

    def __init__(self, client: KazooClient, root: str, changed: Callable[[], None] = lambda: None) -> None:
        self._client = client
        self._root = root
        self._changed = changed

    def ensure(self, *folders: str) -> None:
        """Make the folders."""
        for folder in folders:
            self._client.ensure_path_async(self._at(folder)).get(timeout=CALL_DEADLINE_S)

    def children(self, folder: str = "") -> list[str]:
        """The names in a folder."""
        names: list[str] = self._client.get_children_async(self._at(folder), watch=self._on_event).get(
            timeout=CALL_DEADLINE_S
        )
        return names

    def value(self, name: str) -> bytes:
        """The value of a node."""
        value: bytes = self._client.get_async(self._at(name), watch=self._on_event).get(timeout=CALL_DEADLINE_S)[0]
        return value

    def values(self, folder: str) -> dict[str, bytes]:
        """The nodes in a folder with their values; none if there is no such folder."""
        found = {}
        try:
            names = self.children(folder)
        except NoNodeError:
            return {}
        for name in names:
            try:
                found[name] = self.value(f"{folder}/{name}")
            except NoNodeError:
                continue  # gone meanwhile
        return found

    def create(self, name: str, value: bytes, sequence: bool = False) -> bool:
        """Make an ephemeral node; False if it is there already."""
        try:
            self._client.create_async(self._at(name), value, ephemeral=True, sequence=sequence).get(
                timeout=CALL_DEADLINE_S
            )
        except NodeExistsError:
            return False
        return True

    def write(self, name: str, value: bytes) -> None:
        """Change the value of a node."""
        self._client.set_async(self._at(name), value).get(timeout=CALL_DEADLINE_S)

    def remove(self, name: str) -> None:
        """Remove a node, if it is there."""
        try:
            self._client.delete_async(self._at(name)).get(timeout=CALL_DEADLINE_S)
        except NoNodeError:
            return

    def replace(self, name: str, value: bytes, only_while: str) -> bool:
        """Put an ephemeral node of ours in the place of somebody's, in one step, if the node `only_while` exists."""
        transaction = self._client.transaction()
        transaction.check(self._at(only_while), -1)
        transaction.delete(self._at(name))
        transaction.create(self._at(name), value, ephemeral=True)
        results = transaction.commit_async().get(timeout=CALL_DEADLINE_S)
        return not any(isinstance(result, Exception) for result in results)

    def _at(self, name: str) -> str:
        return name if name.startswith("/") else f"{self._root}/{name}".rstrip("/")

    def _on_event(self, _event: object) -> None:
        # One bound method for all watches: kazoo keeps each of them once, however often it is given.
        self._changed()


class Member(Nodes):
    """A session in ZooKeeper, and a thread that calls `round` whenever something may have changed.

    `options` : arguments of KazooClient: hosts, timeout (s), TLS and credentials.
    `what` : what this member takes part in, for its thread and the log.
    `path` : the root of the nodes; made when ZooKeeper answers, as are `folders` in it.
    `round` : called while ZooKeeper answers, every quarter of a second and at once when what it has read changes.
    `suspended` : called when the connection is lost, when a round fails, and at the end.
    `task` : says when ZooKeeper does not answer.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        what: str,
        path: str,
        round_: Callable[[Member], None],
        suspended: Callable[[], None],
        folders: Sequence[str] = ("",),
        task: Task | None = None,
    ) -> None:
        retry = {"max_tries": -1, "delay": 0.05, "max_delay": 0.5}
        self._session = KazooClient(**options, connection_retry=retry)
        self._news = threading.Event()
        super().__init__(self._session, path, self._news.set)
        self._what = what
        self._task = task or Task()
        self._away = f"ZooKeeper at {options.get('hosts')} for the {what}"
        self._folders = folders
        self._round = round_
        self._suspended = suspended
        self._made_folders = False
        self._said = ""  # why the last round failed
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        self.connected = False
        self.has_news = True
        """Whether the present round was asked for, or something that was read has changed."""

    def start(self) -> None:
        """Begin to take part; returns at once, whether or not ZooKeeper can be reached."""
        self._session.add_listener(self._state_changed)
        self._session.start_async()
        self._thread.start()

    def stop(self) -> None:
        """End the session: its nodes are removed at once, so that nobody waits for its time-out."""
        self._stopped.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(CALL_DEADLINE_S * 4)
        self._task.ends()
        self._suspended()
        self._session.stop()
        self._session.close()

    def wake(self) -> None:
        """Ask for a round now."""
        self._news.set()

    def _state_changed(self, state: str) -> None:
        self.connected = state == KazooState.CONNECTED
        if not self.connected:
            self._suspended()
        self._news.set()

    def _is_away(self, why: str) -> None:
        self._task.begins(self._away)
        self._task.at(why, _goes_on)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.has_news = self._news.wait(ROUND_S)
            self._news.clear()
            if not self.connected:
                self._is_away("no connection")
                continue
            if self._stopped.is_set():
                break
            try:
                if not self._made_folders:
                    self.ensure(*self._folders)
                    self._made_folders = True
                self._round(self)
                if not self.connected:  # lost while the round took what it had read for true
                    self._suspended()
                else:
                    self._task.ends()
                self._said = ""
            except Exception as error:  # also of a node that somebody else wrote: the next round may succeed
                self._failed(error)
                self._suspended()

    def _failed(self, error: Exception) -> None:
        """Rounds come each quarter of a second: one reason is logged once, and the status says it as long as it lasts."""
        reason = repr(error)
        if reason != self._said:
            is_known = isinstance(error, ZOOKEEPER_ERRORS)
            _log.warning("zookeeper_round_failed", what=self._what, reason=reason, exc_info=not is_known)
            self._said = reason
        self._is_away(reason)


def _goes_on() -> str:
    return (
        "A job that runs goes on, but no standby gets a slot, no switchover is carried out, and orderers propose only in "
        "each other's silence. See whether its servers run, and can be reached from here"
    )
