"""What every server here can do: start, stop, be killed, restarted, paused, on ports that stay free meanwhile."""

import random
import signal
import socket
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from tandem.process.child import ChildProcess, Command
from tandem.process.errors import EmbeddedError, ServerError
from tandem.waiting import Deadline, wait_until

# Below the ephemeral ranges of Linux and macOS. From inside those ranges the kernel may hand the port of a stopped server
# to any outgoing connection, even to the very client that keeps trying to reach the server (a TCP self-connect).
LOWEST, HIGHEST = 20_000, 32_000


def free_ports(count: int, host: str = "127.0.0.1", attempts: int = 1_000) -> tuple[int, ...]:
    """Return `count` different ports of `host` on which nobody listens now.

    Raises `EmbeddedError` if not enough ports were found after `attempts` tries.
    """
    found: set[int] = set()
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), min(attempts, HIGHEST - LOWEST)):
        if len(found) == count:
            break
        if is_free(port, host):
            found.add(port)
    if len(found) < count:
        raise EmbeddedError(f"no {count} free ports between {LOWEST} and {HIGHEST} on {host}: pass port=… explicitly")
    return tuple(found)


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def accepts(port: int, host: str = "127.0.0.1", timeout_s: float = 0.5) -> bool:
    """Whether somebody accepts connections on the port now."""
    try:
        socket.create_connection((host, port), timeout_s).close()
    except OSError:
        return False
    return True


START_DEADLINE_S = 90.0
STOP_DEADLINE_S = 20.0

LOG4J2 = """\
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1.}: %m%n
"""


class Server(ABC):
    """A server process with its data folder. Port and data stay the same over stops, kills and restarts."""

    name: str
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, data_dir: Path, host: str) -> None:
        self.data_dir = data_dir.absolute()
        self.host = host
        self._process: ChildProcess | None = None

    @property
    def log_file(self) -> Path:
        """Where the server's output is appended, over all its runs."""
        return self.data_dir / f"{self.name}.log"

    @property
    def running(self) -> bool:
        """Whether the process is there (paused counts)."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        return self._running_process().pid

    def start(self, deadline_s: float = START_DEADLINE_S) -> Self:
        """Start, and return when the server answers a real request.

        Raises `ServerError` if it runs already, a port is taken, it ends early, or does not answer in `deadline_s`
        seconds. Nothing that this call started is left running then.
        """
        if self.running:
            raise ServerError(f"{self.name} runs already (pid {self.pid}): stop it first")
        for port in self._ports():  # or the stranger's answer would be taken for ours
            if not is_free(port, self.host):
                raise ServerError(
                    f"{self.name} cannot listen on {self.host}:{port}, which is taken: choose another port"
                )
        deadline = Deadline(deadline_s)
        self.data_dir.mkdir(parents=True, exist_ok=True)
        (self.data_dir / "log4j2.properties").write_text(LOG4J2)
        command = self._prepare(deadline)
        process = self._process = ChildProcess(self.name, command)
        try:
            ready = wait_until(lambda: not process.running or self._answers(), deadline)
            if not process.running:
                raise ServerError(f"{self.name} ended before it answered: {process.story()}")
            if not ready:
                raise ServerError(f"{self.name} did not answer within {deadline_s:.0f} s: {process.story()}")
        except BaseException:
            process.kill()
            raise
        return self

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """Orderly stop (its own signal; SIGKILL after `deadline_s`). Does nothing if it is not running."""
        if self._process is not None:
            self._process.stop(deadline_s, self.stop_signal)

    def kill(self) -> None:
        """SIGKILL; return when the process is gone. Does nothing if it is not running."""
        if self._process is not None:
            self._process.kill()

    def restart(self, deadline_s: float = START_DEADLINE_S) -> Self:
        """Orderly stop if it runs, then start with the same port and data."""
        deadline = Deadline(deadline_s)
        self.stop(min(STOP_DEADLINE_S, deadline_s))
        return self.start(deadline.remaining_s)

    def pause(self) -> None:
        """SIGSTOP: connections stay open, nothing is answered."""
        self._running_process().pause()

    def resume(self) -> None:
        """SIGCONT after `pause`."""
        self._running_process().resume()

    def __enter__(self) -> Self:
        return self if self.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def _ports(self) -> tuple[int, ...]:
        """The ports of `host` that the server listens on."""

    @abstractmethod
    def _prepare(self, deadline: Deadline) -> Command:
        """Write the configuration and return the command that runs the server."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether the server answers a real request now; bounded to about a second."""

    def _java_options(self) -> tuple[str, ...]:
        return (f"-Dlog4j2.configurationFile={self.data_dir / 'log4j2.properties'}", "-Djava.awt.headless=true")

    def _running_process(self) -> ChildProcess:
        if self._process is None or not self._process.running:
            raise ServerError(f"{self.name} is not running; its log is {self.log_file}")
        return self._process
