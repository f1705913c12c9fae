"""Who has ended, as the other end of a TCP connection shows: the kernel closes it when a process dies, whatever it died of.

Every replica and every orderer of a job that has several holds a port open (`Beacon`) and says in ZooKeeper where. Each
keeps a connection to each of its peers (`FailureDetector`), so it learns of a killed process within milliseconds, long
before a session ends or the log's silence is remarkable. A pause, a partition, a node without power close no connection:
for those the other two are there. Liveness only: who is taken for dead and is not is fenced as ever.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tandem.coordination.beacon import Address, Beacon, advertised_host
from tandem.logs import get_logger

_log = get_logger(__name__)

_LOOK_S = 0.5
"""How often a thread that waits looks whether it is still wanted."""
_CONNECT_S = 1.0
_AGAIN_S = 1.0
_LONGEST_GREETING = 512


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    """One stretch of watching somebody: who was not watched meanwhile is watched by another thread then."""

    name: str
    address: Address


class FailureDetector:
    """Keeps a connection to each of the incarnations that it shall watch, each in a thread of its own.

    An incarnation has ended when its connection was closed from its side and it does not answer when it is connected to
    again. One that was never reached is not known to have ended. `kind` : what they are, for the log.
    """

    def __init__(self, kind: str = "replica") -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._watched: dict[str, _Watch] = {}
        self._ended: set[str] = set()
        self._stopped = threading.Event()
        self._changed: Callable[[], None] = lambda: None

    def start(self, changed: Callable[[], None]) -> None:
        """`changed` is called, from a thread of the detector, whenever somebody has ended."""
        self._changed = changed

    def stop(self) -> None:
        """Watch nobody any more; returns at once."""
        self._stopped.set()

    def watch(self, addresses: Mapping[str, Address]) -> None:
        """Watch these incarnations, and no others; returns at once."""
        with self._lock:
            new = {name: _Watch(name, at) for name, at in addresses.items() if name not in self._watched}
            self._watched = {name: self._watched.get(name) or new[name] for name in addresses}
            self._ended &= addresses.keys()
        for watch in new.values():
            threading.Thread(target=self._follow, args=(watch,), name=f"watch-{watch.name}", daemon=True).start()

    @property
    def ended(self) -> frozenset[str]:
        """Which of the watched incarnations have ended."""
        with self._lock:
            return frozenset(self._ended)

    def _wants(self, watch: _Watch) -> bool:
        return not self._stopped.is_set() and self._watched.get(watch.name) is watch

    def _follow(self, watch: _Watch) -> None:
        met = False
        while self._wants(watch):
            line = _connected(watch.name, watch.address)
            if line is None:
                if met:
                    self._tell(watch, ended=True)
                self._stopped.wait(_AGAIN_S)
                continue
            met = True
            self._tell(watch, ended=False)
            with line:
                while self._wants(watch) and _still_open(line):
                    pass

    def _tell(self, watch: _Watch, *, ended: bool) -> None:
        name = watch.name
        with self._lock:
            if self._watched.get(name) is not watch or ended == (name in self._ended):
                return
            self._ended ^= {name}
        _log.info(f"{self._kind}_ended" if ended else f"{self._kind}_is_back", incarnation=name)
        self._changed()


class Peers(FailureDetector):
    """Watches the others, and lets them watch this process at `address`, if that can be found out."""

    def __init__(self, incarnation: str, host: str, environ: Mapping[str, str], kind: str = "replica") -> None:
        super().__init__(kind)
        advertised = advertised_host(host, environ)
        self._beacon = None if advertised is None else Beacon(incarnation, host, advertised)
        self.address = None if self._beacon is None else self._beacon.address
        if self._beacon is None:
            _log.warning("not_watched", reason=f"it listens on {host} and POD_IP does not say how others reach that")

    def stop(self) -> None:
        """Watch nobody any more; to the others this process has ended."""
        super().stop()
        if self._beacon is not None:
            self._beacon.close()


def _connected(name: str, address: Address) -> socket.socket | None:
    """A connection to incarnation `name`; None if nobody answers there, or somebody else does."""
    try:
        line = socket.create_connection((address.host, address.port), _CONNECT_S)
    except OSError:
        return None
    try:
        with line.makefile("rb") as reader:
            if reader.readline(_LONGEST_GREETING) == name.encode() + b"\n":
                line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                line.settimeout(_LOOK_S)
                return line
    except OSError:
        pass  # as if it had not answered
    line.close()
    return None


def _still_open(line: socket.socket) -> bool:
    """Wait for news of a connection for as long as its time-out lets us; False if the other side has closed it."""
    try:
        return line.recv(64) != b""
    except (TimeoutError, BlockingIOError):
        return True
    except OSError:
        return False
