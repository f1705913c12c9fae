"""A real S3 server for tests: it checks signatures, its objects can be damaged, its process paused or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tandem.devservers.server import accepts, free_ports
from tandem.snapshots import SnapshotStore
from tandem.waiting import Deadline, wait_until

KEY, SECRET = "tandem", "a-secret-of-the-tests"
DEADLINE_S = 60.0
FAST = {"connect_timeout": 5, "read_timeout": 10, "retries": {"max_attempts": 0}}


def until(condition: Callable[[], bool], what: str) -> None:
    assert wait_until(condition, Deadline(DEADLINE_S)), f"not within {DEADLINE_S:.0f} s: {what}"


class S3Server:
    """An S3 server as a process of its own, which can be stopped and started again."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder = folder
        self._host, self._port = host, free_ports(1, host)[0]
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "bucket").mkdir(parents=True)

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        where = ("--data-dir", str(self.folder), "--host", self._host, "--port", str(self._port))
        command = [sys.executable, "-m", "nanio", "serve", *where]
        environment = {**os.environ, "NANIO_ACCESS_KEY": KEY, "NANIO_SECRET_KEY": SECRET}
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
        until(self._accepts, "the S3 server accepts connections")

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(DEADLINE_S)
            self._process = None

    def signal(self, what: int) -> None:
        """Pause it or let it go on."""
        assert self._process is not None
        os.killpg(self._process.pid, what)

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://{self._host}:{self._port}"

    def options(self, secret: str = SECRET) -> dict[str, object]:
        """What the store is opened with."""
        return {"key": KEY, "secret": secret, "endpoint_url": self.endpoint, "config_kwargs": FAST}

    def store(self) -> SnapshotStore:
        """The snapshots of a job in it."""
        return SnapshotStore("s3://bucket/snapshots/j", self.options())

    def objects(self) -> list[Path]:
        """Where the server keeps what was sent."""
        root = self.folder / "bucket" / "snapshots" / "j" / "objects"
        return sorted(path for path in root.rglob("*") if path.is_file())

    def _accepts(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the S3 server has ended"
        return accepts(self._port, self._host)
