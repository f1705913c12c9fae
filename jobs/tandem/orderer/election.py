"""Who leads: an election in ZooKeeper that only ever decides who proposes first.

Two processes may both believe for a while that they lead; the ordering log keeps that harmless. What matters here is
that nobody waits for ZooKeeper: every call has a deadline (kazoo queues requests while it is disconnected), and a
suspended connection ends the belief at once.
"""

from __future__ import annotations

import threading
import uuid
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


class Election:
    """Holds an ephemeral, sequential node below `path` whenever ZooKeeper answers; the lowest node leads.

    Parameters
    ----------
    options : arguments of KazooClient: hosts, timeout (s), TLS and credentials.
    name : who takes part, for whoever reads the node.
    on_change : called with whether this process leads now, from a thread of the election.
    """

    def __init__(
        self, options: Mapping[str, Any], path: str, name: str, on_change: Callable[[bool], None] = lambda _: None
    ) -> None:
        self._client = KazooClient(**options, connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5})
        self._path = path
        self._name = name
        self._on_change = on_change
        self._guid = uuid.uuid4().hex
        self._leading = False
        self._connected = False
        self._made_path = False
        self._stopped = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)

    @property
    def leading(self) -> bool:
        """Whether this process believes that it leads."""
        return self._leading

    def start(self) -> None:
        """Begin to take part; returns at once, whether or not ZooKeeper can be reached."""
        self._client.add_listener(self._state_changed)
        self._client.start_async()
        self._thread.start()

    def stop(self) -> None:
        """Resign: the node is removed, so that the next one leads without waiting for the session's end."""
        self._stopped.set()
        self._news.set()
        self._thread.join(CALL_DEADLINE_S * 4)
        self._set(False)
        self._client.stop()
        self._client.close()

    def _state_changed(self, state: str) -> None:
        self._connected = state == KazooState.CONNECTED
        if not self._connected:
            self._set(False)
        self._news.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._news.wait(ROUND_S)
            self._news.clear()
            if not self._connected or self._stopped.is_set():
                continue
            try:
                leads = self._round()
            except (KazooException, KazooTimeoutError) as error:
                _log.warning("election_round_failed", reason=repr(error))
                leads = False
            self._set(leads and self._connected)

    def _round(self) -> bool:
        """Make sure that our node is there, and look whose is the lowest."""
        if not self._made_path:
            self._client.ensure_path_async(self._path).get(timeout=CALL_DEADLINE_S)
            self._made_path = True
        nodes = self._nodes()
        if not any(self._guid in node for node in nodes):
            # The reply to an earlier creation may have been lost: the guid in the name tells that it worked.
            try:
                self._client.create_async(
                    f"{self._path}/{self._guid}-", self._name.encode(), ephemeral=True, sequence=True
                ).get(timeout=CALL_DEADLINE_S)
            except NodeExistsError:
                _log.info("election_node_exists", name=self._name)
            nodes = self._nodes()
        return bool(nodes) and self._guid in nodes[0]

    def _nodes(self) -> list[str]:
        children = self._client.get_children_async(self._path, watch=lambda _: self._news.set())
        return sorted(children.get(timeout=CALL_DEADLINE_S), key=lambda node: int(node.rpartition("-")[2]))

    def _set(self, leads: bool) -> None:
        if leads != self._leading:
            self._leading = leads
            _log.info("leadership", leading=leads, name=self._name)
            self._on_change(leads)
