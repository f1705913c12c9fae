"""What a process of a job serves over HTTP: metrics, and what a kubelet and the operator ask.

/metrics   Prometheus' text format
/healthz   200, or 503 if a restart would help
/readyz    200 if it does what it is there for: computes at the log's head, or stands by
/status    the process's report, JSON
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from socketserver import ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from tandem.listening import listen
from tandem.status.report import Report, encode


class Health:
    """Stuck is: its main loop has not gone round for `loop_s`, or it is behind and has computed nothing for `epoch_s`.

    The second is generous: a single epoch may take minutes, and a restart would only begin it again.

    `clock_s` : any monotonic clock, s.
    """

    def __init__(
        self, loop_s: float = 60.0, epoch_s: float = 600.0, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._loop_s, self._epoch_s, self._clock_s = loop_s, epoch_s, clock_s
        self._beat_s: float | None = None
        self._epoch = -1
        self._moved_s = clock_s()
        self._is_paused = False

    def beat(self) -> None:
        """The main loop goes round."""
        if self._is_paused:
            self._is_paused, self._moved_s = False, self._clock_s()
        self._beat_s = self._clock_s()

    def pause(self) -> None:
        """The main loop does something else that takes as long as it takes; the next beat ends that."""
        self._beat_s, self._is_paused = None, True

    def progress(self, epoch: int, behind: int) -> None:
        """It has computed `epoch`, and is so many epochs behind."""
        if epoch != self._epoch or behind <= 0:
            self._epoch, self._moved_s = epoch, self._clock_s()

    @property
    def is_stuck(self) -> bool:
        """Whether a restart would help. Never before the first beat, nor in a pause: starting takes as long as it takes."""
        if self._beat_s is None:
            return False
        now = self._clock_s()
        return now - self._beat_s > self._loop_s or now - self._moved_s > self._epoch_s


if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Probes:
    """What is asked of a process; each is called in a thread of the server."""

    is_stuck: Callable[[], bool]
    is_ready: Callable[[], bool]
    report: Callable[[], Report]


class ProcessServer:
    """Serves on `port` (0: any free one; `port` tells which) of `address`, see `listening.listen`.

    Raises `OSError` if the port is taken.
    """

    def __init__(self, registry: CollectorRegistry, probes: Probes, port: int, address: str = LOOPBACK) -> None:
        self._server = _Server(listen(address, port))
        self._server.set_app(_app(make_wsgi_app(registry), probes))
        self.port = int(self._server.server_port)
        self._thread = Thread(target=self._server.serve_forever, name="http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(2)


class _Server(ThreadingMixIn, WSGIServer):
    """Of a socket that listens already; it does not ask a name server what the machine is called."""

    daemon_threads = True

    def __init__(self, listening: socket.socket) -> None:
        address = listening.getsockname()[:2]
        super().__init__(address, _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = address
        self.setup_environ()


class _Handler(WSGIRequestHandler):
    timeout = 10  # s; nobody keeps a thread by sending nothing

    def log_message(self, *args: Any) -> None:
        """Nothing: a scrape is no news."""


def _app(metrics: WSGIApplication, probes: Probes) -> WSGIApplication:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        match environ["PATH_INFO"]:
            case "/metrics":
                return metrics(environ, start_response)
            case "/healthz":
                stuck = probes.is_stuck()
                return _answer(start_response, not stuck, b"stuck\n" if stuck else b"ok\n")
            case "/readyz":
                ready = probes.is_ready()
                return _answer(start_response, ready, b"ready\n" if ready else b"not ready\n")
            case "/status":
                return _answer(start_response, True, encode(probes.report()), "application/json")
        start_response(_line(HTTPStatus.NOT_FOUND), [("Content-Type", "text/plain")])
        return [b"/metrics, /healthz, /readyz, /status\n"]

    return app


def _answer(start_response: StartResponse, good: bool, body: bytes, kind: str = "text/plain") -> Iterable[bytes]:
    status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
    start_response(_line(status), [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]


def _line(status: HTTPStatus) -> str:
    return f"{status.value} {status.phrase}"
