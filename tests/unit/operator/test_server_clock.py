"""The time that ages are compared with is the API server's, which wrote when things began."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from kubernetes import client

from tandem_operator.api import Api, ApiError
from tandem_operator.observed import PodPhase, TaskSeen
from tandem_operator.server_clock import ServerClock

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


class Server(ThreadingHTTPServer):
    """It answers with that status, and the time NOW_MS."""

    status = 200


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        body = json.dumps({"items": []}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp: float | None = None) -> str:  # noqa: ARG002, of the base class
        return formatdate(NOW_MS / 1000, usegmt=True)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(5)


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize("ahead_ms", [HOUR_MS, -HOUR_MS])
def test_an_operator_whose_clock_is_wrong_has_the_servers_time_from_its_first_answer_on(
    server: Server, ahead_ms: int, status: int
) -> None:
    clock = ServerClock(lambda: NOW_MS + ahead_ms)
    configuration = client.Configuration(host=f"http://127.0.0.1:{server.server_port}")
    configuration.retries = False
    api, server.status = Api(client.ApiClient(configuration), dated=clock.saw), status
    with nullcontext() if status == 200 else pytest.raises(ApiError):
        api.list("Pod", "shop")
    assert clock.now_ms() == NOW_MS
    pending = TaskSeen("task", "uid", PodPhase.PENDING, created_ms=NOW_MS - 1_000)
    assert not pending.has_failed(clock.now_ms()), "it is a second old"


@pytest.mark.parametrize("off_ms", [-4_000, 0, 999, 4_000])
def test_a_clock_that_is_nearly_right_is_not_corrected(off_ms: int) -> None:
    clock = ServerClock(lambda: NOW_MS + off_ms)
    clock.saw(formatdate(NOW_MS / 1000, usegmt=True))
    assert clock.now_ms() == NOW_MS + off_ms


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_an_answer_without_a_time_changes_nothing(date: str) -> None:
    clock = ServerClock(lambda: NOW_MS + HOUR_MS)
    clock.saw(formatdate(NOW_MS / 1000, usegmt=True))
    clock.saw(date)
    assert clock.now_ms() == NOW_MS


def test_a_clock_that_is_put_right_is_taken_as_it_is() -> None:
    off_ms = HOUR_MS
    clock = ServerClock(lambda: NOW_MS + off_ms)
    clock.saw(formatdate(NOW_MS / 1000, usegmt=True))
    off_ms = 0
    clock.saw(formatdate(NOW_MS / 1000, usegmt=True))
    assert clock.now_ms() == NOW_MS
