"""`kubectl tandem` where the API server is away, or the operator newer: one message, and a request is waited for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.config import kube_config
from typer.testing import CliRunner, Result

from tandem_operator.plugin import cli
from tandem_operator.plugin.cli import app

DROPPED = 0
"""Instead of an HTTP status: the connection is closed without a word."""
ATTEMPTS = 4
"""Of urllib3, where a connection breaks."""
JOB = {"metadata": {"name": "flights", "namespace": "default"}}


class ApiServer:
    """Takes requests. `answers`: how the next questions about the job are answered; then, that the request is done."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.asked = 0
        self.phase = "Running"
        self._request = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def job(self) -> dict[str, Any]:
        """The job, which is a list of no pods, too."""
        request = {"value": self._request, "outcome": "Done", "message": "replica-0 is active"}
        return {**JOB, "status": {"phase": self.phase, "requests": {"promote": request}}, "items": []}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked += 1
                self._answer(server.answers.pop(0) if server.answers else 200)

            def do_PATCH(self) -> None:
                change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server._request = change["metadata"]["annotations"]["tandem.dev/promote"]
                self._answer(200)

            def _answer(self, status: int) -> None:
                if status == DROPPED:
                    self.close_connection = True
                    return
                refusal = {"reason": "NotFound" if status == 404 else "", "message": "told"}
                body = json.dumps(server.job() if status == 200 else refusal).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Silent."""

        return Handler


@pytest.fixture
def server() -> Iterator[ApiServer]:
    made = ApiServer()
    yield made
    made.close()


@pytest.fixture
def plugin(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command, for the cluster of `server`."""
    path = tmp_path / "kubeconfig"
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": server.address}}],
        "users": [{"name": "me", "user": {}}],
    }
    path.write_text(json.dumps(config))
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(path))
    return lambda *arguments: CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(
    "command", [("status", "flights"), ("promote", "flights", "replica-0"), ("suspend", "flights")]
)
def test_a_server_that_cannot_be_reached_is_told_in_one_line(
    server: ApiServer, plugin: Callable[..., Result], command: tuple[str, ...]
) -> None:
    server.close()

    told = plugin(*command)

    assert (told.exit_code, told.stdout) == (1, "")
    assert isinstance(told.exception, SystemExit)
    assert len(told.stderr.splitlines()) == 1
    assert told.stderr.startswith("The API server cannot be reached: ")
    assert "Connection refused" in told.stderr


def test_a_request_is_waited_for_while_the_server_is_away_for_a_moment(
    server: ApiServer, plugin: Callable[..., Result]
) -> None:
    server.answers = [*[DROPPED] * ATTEMPTS, 503, 429]

    told = plugin("promote", "flights", "replica-0")

    assert (told.exit_code, told.stdout, told.stderr) == (0, "replica-0 is active\n", "")
    assert server.asked == ATTEMPTS + 3


def test_the_end_of_the_wait_says_that_nobody_answered(server: ApiServer, plugin: Callable[..., Result]) -> None:
    server.answers = [503] * 100

    told = plugin("promote", "flights", "replica-0", "--timeout", "0.1")

    assert told.exit_code == 1
    assert "Not done within 0 s; it is still requested. The API server does not answer: told." in told.stderr


def test_a_job_that_is_gone_is_not_waited_for(server: ApiServer, plugin: Callable[..., Result]) -> None:
    server.answers = [404] * 100

    told = plugin("promote", "flights", "replica-0")

    assert (told.exit_code, server.asked) == (1, 1)
    assert told.stderr == "There is no job flights in namespace default\n"


def test_who_watches_sees_the_job_again_and_that_nobody_answers_meanwhile(
    server: ApiServer, plugin: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter((False, False, True))
    monkeypatch.setattr(cli, "stop_on_signals", lambda: SimpleNamespace(wait=lambda _: next(looks)))
    server.answers = [200, 200, 503, 200, 200]

    told = plugin("status", "flights", "--watch")

    assert told.exit_code == 0, told.output
    assert [line for line in told.stdout.splitlines() if line.startswith("NOT")] == [
        "NOT SAFE: not Ready, not Replicated, not OrderingAvailable",
        "NOT KNOWN: The API server does not answer: told",
        "NOT SAFE: not Ready, not Replicated, not OrderingAvailable",
    ]


def test_the_watch_ends_when_the_job_is_gone(
    server: ApiServer, plugin: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "stop_on_signals", lambda: SimpleNamespace(wait=lambda _: False))
    server.answers = [200, 200, 404]

    told = plugin("status", "flights", "--watch")

    assert (told.exit_code, told.stderr) == (1, "There is no job flights in namespace default\n")


def test_a_status_of_a_newer_operator_is_reported_as_that_and_holds_no_request_up(
    server: ApiServer, plugin: Callable[..., Result]
) -> None:
    server.phase = "Contemplating"

    shown = plugin("status", "flights")

    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr == "The status of flights was written by a newer operator: update kubectl-tandem\n"
    asked = plugin("promote", "flights", "replica-0")
    assert (asked.exit_code, asked.stdout) == (0, "replica-0 is active\n")
