"""The threads that watch others outlive what goes wrong in one of their rounds, and do not run hot."""

from __future__ import annotations

import errno
import socket
import subprocess
import threading
import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from tandem.coordination import beacon_process
from tandem.coordination.beacon import Beacon
from tandem.coordination.election import Candidate, Election
from tandem.coordination.peers import Peers
from tandem.coordination.slots import Slots
from tandem.coordination.zookeeper import Member
from tandem.waiting import Deadline, wait_until

LIMIT_S = 10.0


def test_a_round_that_meets_what_it_does_not_know_is_not_the_last() -> None:
    rounds: list[None] = []
    suspended: list[int] = []

    def round_(_member: Member) -> None:
        rounds.append(None)
        if len(rounds) == 1:
            raise ValueError("invalid literal for int() with base 10: 'lock'")  # somebody else's node

    member = Member({"hosts": "127.0.0.1:1"}, "test", "/tandem/job", round_, lambda: suspended.append(len(rounds)))
    member.connected = member._made_folders = True
    member._thread.start()
    try:
        member.wake()
        assert wait_until(lambda: len(rounds) > 1, Deadline(LIMIT_S))
    finally:
        member._stopped.set()
        member.wake()
        member._thread.join(LIMIT_S)
    assert suspended == [1], "what was read last is not taken for true"


def test_what_fails_round_after_round_is_logged_once_until_a_round_succeeds() -> None:
    fails = [True, True, True, False, True, True]
    rounds: list[bool] = []

    def round_(_member: Member) -> None:
        rounds.append(True)
        if len(rounds) > len(fails) or fails[len(rounds) - 1]:
            raise ValueError("invalid literal for int() with base 10: 'lock'")

    member = Member({"hosts": "127.0.0.1:1"}, "test", "/tandem/job", round_, lambda: None)
    member.connected = member._made_folders = True
    with capture_logs() as logs:
        member._thread.start()
        try:
            for done in range(len(fails)):
                member.wake()
                assert wait_until(lambda done=done: len(rounds) > done, Deadline(LIMIT_S))
        finally:
            member._stopped.set()
            member.wake()
            member._thread.join(LIMIT_S)
    assert [line["event"] for line in logs] == ["zookeeper_round_failed"] * 2


def test_a_beacon_without_a_file_descriptor_waits_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []
    accept = socket.socket.accept

    def out_of_descriptors(server: socket.socket) -> tuple[socket.socket, object]:
        tries.append(time.monotonic())
        if len(tries) < 4:
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(server)

    monkeypatch.setattr(socket.socket, "accept", out_of_descriptors)
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments = (server, b"job.replica-0.aaaa\n", lambda: not ended.is_set())
        serving = threading.Thread(target=beacon_process.serve, args=arguments, daemon=True)
        serving.start()
        with socket.create_connection(server.getsockname(), LIMIT_S) as line:
            line.settimeout(LIMIT_S)
            assert line.makefile("rb").readline() == b"job.replica-0.aaaa\n"
            ended.set()
            serving.join(LIMIT_S)
    assert tries[3] - tries[0] > 0.3
    assert not serving.is_alive()


def test_a_beacon_whose_process_cannot_be_started_is_tried_again_with_its_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    popen, failed = subprocess.Popen, threading.Event()

    def no_process(*given: Any, **named: Any) -> Any:
        if not failed.is_set():
            failed.set()
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return popen(*given, **named)

    monkeypatch.setattr(subprocess, "Popen", no_process)
    beacon = Beacon("job.replica-0.aaaa", "127.0.0.1", "127.0.0.1")
    try:
        assert failed.wait(LIMIT_S)
        with socket.create_connection((beacon.address.host, beacon.address.port), LIMIT_S) as line:
            line.settimeout(LIMIT_S)
            assert line.makefile("rb").readline() == b"job.replica-0.aaaa\n"
    finally:
        beacon.close()


@pytest.mark.parametrize("kind", ["slots", "election"])
def test_others_see_the_end_of_one_whose_session_cannot_be_ended(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, peers = {"hosts": "127.0.0.1:1"}, Peers("job.replica-0.aaaa", "127.0.0.1", {})
    part: Slots | Election = (
        Slots(options, "job", 1, "job.replica-0.aaaa", peers=peers)
        if kind == "slots"
        else Election(options, "/tandem/job/orderers", Candidate("orderer-0"), peers=peers)
    )

    def fails() -> None:
        raise RuntimeError("the writer did not end")

    monkeypatch.setattr(part._member, "stop", fails)
    with pytest.raises(RuntimeError, match="the writer did not end"):
        part.stop()
    assert peers.address is not None
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((peers.address.host, peers.address.port), LIMIT_S)
