"""A scoring service to try the example with: it answers at random, so two calls get two answers.

`python -m tandem.examples.enrich.service` serves on localhost:8901, and with the argument `0.0.0.0` to everybody.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import SystemRandom
from threading import Lock, Thread
from types import TracebackType

_RANDOM = SystemRandom()


class ScoreService:
    """Serves on `address` from the start on. `given`: payment → all scores that were ever given for it."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self.given: dict[int, list[float]] = defaultdict(list)
        self._lock = Lock()
        self._server = ThreadingHTTPServer((host, port), self._handler())
        self.address = f"{host}:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    def __enter__(self) -> ScoreService:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Refuse connections from now on."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def wait(self) -> None:
        """Serve until the process is ended."""
        self._thread.join()

    def score(self, payment: str) -> float | None:
        """A score for a payment, another one each time; None for what is no payment."""
        try:
            number = int(json.loads(payment)["id"])
        except (ValueError, KeyError, TypeError):
            return None
        score = round(_RANDOM.random(), 12)
        with self._lock:
            self.given[number].append(score)
        return score

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                payments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps([service.score(payment) for payment in payments]).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Silent."""

        return Handler


def main() -> None:
    """Serve until interrupted."""
    service = ScoreService(8901, *sys.argv[1:2])
    print(f"scores at http://{service.address}/scores", flush=True)
    try:
        service.wait()
    except KeyboardInterrupt:
        service.close()


if __name__ == "__main__":
    main()
