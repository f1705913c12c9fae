"""Connections between real processes: a killed one is known to have ended, a paused or a distant one is not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from tandem.coordination.beacon import Address, Beacon, advertised_host
from tandem.coordination.peers import FailureDetector, Peers, _Watch
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration

HOST = "127.0.0.1"
PATIENCE_S = 20.0
SOON_S = 1.5
"""Long enough for a detector to look again, and to connect again."""
PROGRAM = """
import sys, threading
from tandem.coordination.beacon import Beacon
print(Beacon(sys.argv[1], "127.0.0.1", "127.0.0.1").address.port, flush=True)
threading.Event().wait(120)
"""


class Process:
    """Another process with a beacon."""

    def __init__(self, incarnation: str) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", PROGRAM, incarnation], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.address = Address(HOST, int(self._process.stdout.readline()))

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, sent: signal.Signals) -> None:
        os.kill(self._process.pid, sent)

    def close(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.communicate()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture
def detector(stack: ExitStack) -> FailureDetector:
    made = FailureDetector()
    stack.callback(made.stop)
    return made


@pytest.fixture
def met(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Whose greeting a detector has read. A connection alone is not enough: of who was never met nobody knows the end."""
    found: set[str] = set()
    tell = FailureDetector._tell

    def told(self: FailureDetector, watch: _Watch, *, ended: bool) -> None:
        if not ended:
            found.add(watch.name)
        tell(self, watch, ended=ended)

    monkeypatch.setattr(FailureDetector, "_tell", told)
    return found


def process(stack: ExitStack, incarnation: str) -> Process:
    made = Process(incarnation)
    stack.callback(made.close)
    return made


def within(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    return wait_until(condition, Deadline(seconds))


def test_a_killed_process_has_ended_and_its_watcher_is_told(
    stack: ExitStack, detector: FailureDetector, met: set[str]
) -> None:
    one, other = process(stack, "job.one"), process(stack, "job.other")
    told = threading.Event()
    detector.start(told.set)
    detector.watch({"job.one": one.address, "job.other": other.address})
    assert within(lambda: met == {"job.one", "job.other"})
    one.send(signal.SIGKILL)
    assert told.wait(PATIENCE_S)
    assert detector.ended == {"job.one"}


def test_a_small_process_holds_the_connections_and_ends_with_its_parent(
    stack: ExitStack, detector: FailureDetector, met: set[str]
) -> None:
    one = process(stack, "job.one")
    told = threading.Event()
    detector.start(told.set)
    detector.watch({"job.one": one.address})
    assert within(lambda: met == {"job.one"})
    (child,) = psutil.Process(one.pid).children()
    assert child.memory_info().rss < psutil.Process(one.pid).memory_info().rss
    told.clear()
    one.send(signal.SIGKILL)
    assert told.wait(PATIENCE_S)
    assert within(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_beacon_that_is_killed_is_started_again(stack: ExitStack, detector: FailureDetector, met: set[str]) -> None:
    one = process(stack, "job.one")
    detector.watch({"job.one": one.address})
    assert within(lambda: met == {"job.one"})
    (child,) = psutil.Process(one.pid).children()
    met.clear()
    child.kill()
    assert within(lambda: met == {"job.one"})
    assert within(lambda: not detector.ended)


def test_a_paused_process_has_not_ended(stack: ExitStack, detector: FailureDetector, met: set[str]) -> None:
    one = process(stack, "job.one")
    detector.watch({"job.one": one.address})
    assert within(lambda: met == {"job.one"})
    one.send(signal.SIGSTOP)
    assert not within(lambda: bool(detector.ended), SOON_S)
    one.send(signal.SIGCONT)


def test_who_was_never_reached_is_not_known_to_have_ended(detector: FailureDetector) -> None:
    with socket.create_server((HOST, 0)) as closed:
        address = Address(HOST, closed.getsockname()[1])
    detector.watch({"job.one": address})
    assert not within(lambda: bool(detector.ended), SOON_S)


@contextmanager
def relay(target: list[Address]) -> Iterator[tuple[Address, list[socket.socket], Callable[[], None]]]:
    """An address that leads to `target[0]`, who connected there, and how to break their connections."""
    met: list[socket.socket] = []
    lines: list[socket.socket] = []

    def serve(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                line, _ = server.accept()
                onward = socket.create_connection((target[0].host, target[0].port))
                lines.extend((line, onward))
                line.sendall(onward.recv(512))
                met.append(line)

    with socket.create_server((HOST, 0)) as server:
        threading.Thread(target=serve, args=[server], daemon=True).start()

        def break_all() -> None:
            broken = lines.copy()
            del lines[: len(broken)]  # not those of who connects again meanwhile
            for line in broken:
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
                line.close()

        try:
            yield Address(HOST, server.getsockname()[1]), met, break_all
        finally:
            server.shutdown(socket.SHUT_RDWR)
            break_all()


def test_a_connection_that_breaks_is_made_again_and_nobody_has_ended(detector: FailureDetector) -> None:
    beacon = Beacon("job.one", HOST, HOST)
    with relay([beacon.address]) as (address, met, break_all):
        detector.watch({"job.one": address})
        for times in range(1, 4):
            assert within(lambda: len(met) == times)  # noqa: B023
            assert detector.ended == frozenset()
            break_all()
        assert within(lambda: len(met) == 4)
        assert detector.ended == frozenset()
    beacon.close()


def test_another_incarnation_in_the_same_place_is_another(detector: FailureDetector) -> None:
    beacons = [Beacon("job.first", HOST, HOST), Beacon("job.second", HOST, HOST)]
    leads_to = [beacons[0].address]
    with relay(leads_to) as (address, met, break_all):
        detector.watch({"job.first": address})
        assert within(lambda: len(met) == 1)
        leads_to[0] = beacons[1].address
        break_all()
        assert within(lambda: detector.ended == {"job.first"})
        leads_to[0] = beacons[0].address
        assert within(lambda: detector.ended == frozenset())
    for beacon in beacons:
        beacon.close()


def test_who_is_not_watched_any_more_is_forgotten(stack: ExitStack, detector: FailureDetector, met: set[str]) -> None:
    one = process(stack, "job.one")
    detector.watch({"job.one": one.address})
    assert within(lambda: met == {"job.one"})
    one.send(signal.SIGKILL)
    assert within(lambda: detector.ended == {"job.one"})
    detector.watch({})
    assert detector.ended == frozenset()


def test_peers_watch_each_other_until_one_leaves(met: set[str]) -> None:
    mine, theirs = Peers("job.mine", HOST, {}), Peers("job.theirs", HOST, {})
    try:
        assert theirs.address is not None
        mine.watch({"job.theirs": theirs.address})
        assert within(lambda: met == {"job.theirs"})
        theirs.stop()
        assert within(lambda: mine.ended == {"job.theirs"})
    finally:
        mine.stop()
        theirs.stop()


@pytest.mark.parametrize(
    ("bound", "pod_ip", "told"),
    [
        ("127.0.0.1", "", "127.0.0.1"),
        ("10.1.2.3", "10.9.9.9", "10.1.2.3"),
        ("0.0.0.0", "10.9.9.9", "10.9.9.9"),  # noqa: S104
        ("::", "fd00::1", "fd00::1"),
        ("0.0.0.0", "", None),  # noqa: S104
    ],
)
def test_a_pod_is_reached_by_its_address(bound: str, pod_ip: str, told: str | None) -> None:
    assert advertised_host(bound, {"POD_IP": pod_ip} if pod_ip else {}) == told


@pytest.mark.parametrize("value", [b"", b"{}", b"[1]", b"10.0.0.1:80", b'{"host": "a", "port": "x"}'])
def test_what_is_no_address_is_none(value: bytes) -> None:
    assert Address.decode(value) is None


def test_an_address_survives_its_node() -> None:
    assert Address.decode(Address("fd00::1", 4711).encode()) == Address("fd00::1", 4711)


def test_who_is_watched_again_is_watched_once(stack: ExitStack, detector: FailureDetector, met: set[str]) -> None:
    """A session of ZooKeeper that expires and comes back takes its node away, and makes it again."""
    one = process(stack, "job.one")
    for _ in range(5):
        detector.watch({"job.one": one.address})
        assert within(lambda: met == {"job.one"})
        detector.watch({})
    met.clear()
    detector.watch({"job.one": one.address})
    assert within(lambda: met == {"job.one"})
    assert within(lambda: sum(thread.name == "watch-job.one" for thread in threading.enumerate()) == 1)
    one.send(signal.SIGKILL)
    assert within(lambda: detector.ended == {"job.one"})
