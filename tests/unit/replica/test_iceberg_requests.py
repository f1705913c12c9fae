"""A REST catalog that accepts and never answers does not hold an epoch for ever: it is tried again, on new connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import load_catalog

from tandem.replica.iceberg import IcebergWriter
from tandem.replica.iceberg_catalog import IcebergTable
from tandem.replica.iceberg_requests import BoundedSession
from tandem.replica.table_errors import TableUnreachableError
from unit.replica.iceberg_tables import rows

CONFIG = "/v1/config"
TABLE = "/v1/namespaces/shop/tables/orders"
TOKENS = "/v1/oauth/tokens"
ANSWERS = {CONFIG: b'{"defaults": {}, "overrides": {}}', TOKENS: b'{"access_token": "t", "token_type": "bearer"}'}

SILENCE_S = 10.0
"""How long the server keeps a connection without an answer: without a timeout, the client sees its end."""


class Catalog(ThreadingHTTPServer):
    """A catalog that answers nothing about tables, and says nothing on the path `silent`."""

    daemon_threads = True

    def __init__(self, silent: str) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.silent, self.over = silent, threading.Event()
        self.asked: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that is gone."""

    def table(self, **options: str) -> IcebergTable:
        uri = f"http://127.0.0.1:{self.server_port}"
        return IcebergTable("lake", "shop.orders", {"type": "rest", "uri": uri, **options}, "job", timeouts=(5.0, 0.2))


class Requests(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"  # which keeps connections
    server: Catalog

    def do_GET(self) -> None:
        """Answer, or keep silent until the test is over."""
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        if path == self.server.silent:
            self.close_connection = True
            self.server.over.wait(SILENCE_S)
            return
        answer = ANSWERS.get(path, b"{}")
        self.send_response(200 if path in ANSWERS else 404)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self) -> None:
        """As for GET."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing to log."""


@contextmanager
def catalog(silent: str) -> Iterator[Catalog]:
    with Catalog(silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join(SILENCE_S)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("silent", [CONFIG, TOKENS, TABLE])
def test_a_catalog_that_never_answers_is_tried_again_and_asked_from_the_start(silent: str) -> None:
    with catalog(silent) as server:
        writer = IcebergWriter(server.table(credential="id:secret"), 0)
        for tries in (1, 2):
            with pytest.raises(TableUnreachableError, match=r"[Rr]ead timed out.*It is tried again"):
                writer.write(0, rows(pa.string(), "a"), [0])
            assert server.asked.count(silent) == tries

    assert server.asked.count(CONFIG) == (0 if silent == TOKENS else 2)


def test_a_request_through_an_adapter_that_signs_it_ends_too() -> None:
    with catalog(TABLE) as server, BoundedSession(5.0, 0.2) as session:
        uri = f"http://127.0.0.1:{server.server_port}"
        session.mount(uri, requests.adapters.HTTPAdapter())  # as pyiceberg does with rest.sigv4-enabled
        with pytest.raises(requests.ReadTimeout):
            session.get(uri + TABLE)


def test_connections_that_carry_nothing_are_probed() -> None:
    with catalog(TABLE) as server, BoundedSession(5.0, 5.0) as session:
        found = session.get(f"http://127.0.0.1:{server.server_port}{CONFIG}", stream=True)

        assert found.raw.connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0


def test_catalogs_of_the_users_code_keep_their_sessions() -> None:
    with catalog(TABLE) as server:
        table = server.table()

        ours = table.catalog()
        theirs: Any = load_catalog("theirs", **table.options)

    assert isinstance(ours._session, BoundedSession)
    assert type(theirs._session) is requests.Session
