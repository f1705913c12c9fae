"""Requests to a REST catalog end: pyiceberg 0.12 waits for an answer for ever, also on a connection that is half open."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from pyiceberg.catalog import rest
from requests import PreparedRequest, Response, Session
from requests.adapters import DEFAULT_POOLBLOCK, HTTPAdapter
from urllib3.connection import HTTPConnection

_KEEPALIVE: Final = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""Seconds without traffic until the first probe, between two, and how many are lost; where the system has them."""

_timeouts: ContextVar[tuple[float, float] | None] = ContextVar("timeouts_of_catalogs", default=None)


class _KeptAlive(HTTPAdapter):
    def init_poolmanager(
        self, connections: int, maxsize: int, block: bool = DEFAULT_POOLBLOCK, **pool_kwargs: Any
    ) -> None:
        options = [*HTTPConnection.default_socket_options, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        options += [
            (socket.IPPROTO_TCP, getattr(socket, name), value)
            for name, value in _KEEPALIVE.items()
            if hasattr(socket, name)
        ]
        super().init_poolmanager(connections, maxsize, block, socket_options=options, **pool_kwargs)


class BoundedSession(Session):
    """A session whose requests have timeouts, s, also through an adapter that is mounted later; its sockets are probed.

    connect_s : until there is a connection. read_s : between two pieces of an answer.
    """

    def __init__(self, connect_s: float, read_s: float) -> None:
        super().__init__()
        self._bounds = (connect_s, read_s)
        for scheme in ("http://", "https://"):
            self.mount(scheme, _KeptAlive())

    def send(self, request: PreparedRequest, **kwargs: Any) -> Response:
        """Send it, with a timeout unless it has one. Raises `requests.RequestException`."""
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self._bounds
        return super().send(request, **kwargs)


@contextmanager
def bounded(connect_s: float, read_s: float) -> Iterator[None]:
    """REST catalogs that this thread makes within have a `BoundedSession`, from their first request on."""
    making: Any = rest
    making.Session = _session
    token = _timeouts.set((connect_s, read_s))
    try:
        yield
    finally:
        _timeouts.reset(token)


def _session() -> Session:
    """In the place of `Session`, as pyiceberg calls it. Catalogs of the user's code have what they had."""
    timeouts = _timeouts.get()
    return Session() if timeouts is None else BoundedSession(*timeouts)
