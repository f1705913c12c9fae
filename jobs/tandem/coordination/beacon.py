"""How others see that a process has ended: the kernel closes its connections when it dies, whatever it died of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from socket import socket

from tandem.coordination import beacon_process
from tandem.listening import is_everywhere, listen
from tandem.logs import get_logger

_log = get_logger(__name__)

_AGAIN_S = 1.0
_END_S = 5.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a beacon can be connected to."""

    host: str
    port: int

    def encode(self) -> bytes:
        """As the value of a node."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, value: bytes) -> Address | None:
        """The address in a node; None if it is none, as of another version."""
        try:
            fields = json.loads(value)
            return cls(str(fields["host"]), int(fields["port"]))
        except (ValueError, TypeError, KeyError):
            return None


def advertised_host(bound: str, environ: Mapping[str, str]) -> str | None:
    """How others reach what listens on `bound`: a pod that listens everywhere by its `POD_IP`; None if nobody knows."""
    return environ.get("POD_IP") or None if is_everywhere(bound) else bound


class Beacon:
    """Holds connections for as long as this process lives; on each it says who it is, and nothing more.

    A child process holds them, which dies with the thread that started it: see `beacon_process`. If it ends by itself,
    another one listens in its place, and to the others this process had ended for a moment.

    `incarnation` : who it is.
    `host`, `advertised` : where it listens, on any free port, and how others reach that.

    Raises `OSError` if it cannot listen there.
    """

    def __init__(self, incarnation: str, host: str, advertised: str) -> None:
        self._incarnation, self._host = incarnation, host
        server = listen(host, 0)
        self.address = Address(advertised, server.getsockname()[1])
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, args=(server,), name="beacon", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close all connections: processes that watch this one take it for ended."""
        with self._lock:
            self._stopped.set()
            if self._child is not None:
                self._child.kill()
        self._thread.join(_END_S)

    def _run(self, server: socket | None) -> None:
        while not self._stopped.is_set():
            try:
                server = server or listen(self._host, self.address.port)
                child = self._started(server)
            except OSError as error:
                _log.warning("beacon_not_started", reason=str(error), remedy="it is tried again each second")
                self._stopped.wait(_AGAIN_S)
                continue
            server.close()  # the child alone has it now: it ends with that one
            server = None
            if child is not None and not self._lived(child):
                self._stopped.wait(_AGAIN_S)
        if server is not None:
            server.close()

    def _lived(self, child: subprocess.Popen[bytes]) -> bool:
        """Wait for the end of the child; whether it was there for a while."""
        is_there = False
        try:
            child.wait(_AGAIN_S)
        except subprocess.TimeoutExpired:
            is_there = True
            child.wait()
        if not self._stopped.is_set():
            _log.warning("beacon_ended", exit_code=child.returncode, remedy="another one is started")
        return is_there

    def _started(self, server: socket) -> subprocess.Popen[bytes] | None:
        script = str(Path(beacon_process.__file__))
        with self._lock:
            if self._stopped.is_set():
                return None
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", script, str(os.getpid()), self._incarnation],
                stdin=server.fileno(),
                stdout=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C on a terminal is for its parent
            )
            return self._child
