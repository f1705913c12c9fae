"""The embedded ZooKeeper is real; any embedded server tells why it fails, and never outlives its owner."""

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kazoo.client import KazooClient, KazooState

from integration.waiting import PATIENCE_S, eventually, gone
from tandem.devservers import ServerError, ZooKeeperServer

pytestmark = pytest.mark.integration

STARTED_AT_ONCE = 4


def test_zookeeper_keeps_its_data_over_a_restart_and_a_kill(own_zookeeper: ZooKeeperServer) -> None:
    retry = {"max_tries": -1, "delay": 0.05, "max_delay": 0.5}
    client = KazooClient(own_zookeeper.connect, timeout=10, connection_retry=retry)
    client.start(PATIENCE_S)
    try:
        client.create("/kept", b"value")
        own_zookeeper.restart()
        assert eventually(lambda: client.connected)
        client.create("/kept/too")
        own_zookeeper.kill()
        own_zookeeper.start()
        assert eventually(lambda: client.connected)
        assert client.get("/kept")[0] == b"value"
        assert client.get_children("/kept") == ["too"]
    finally:
        client.stop()
        client.close()


def test_clients_of_a_paused_zookeeper_are_suspended_until_its_resume(own_zookeeper: ZooKeeperServer) -> None:
    client = KazooClient(own_zookeeper.connect, timeout=2)
    client.start(PATIENCE_S)
    try:
        own_zookeeper.pause()
        assert eventually(lambda: client.state == KazooState.SUSPENDED)
        own_zookeeper.resume()
        assert eventually(lambda: client.state == KazooState.CONNECTED)
    finally:
        client.stop()
        client.close()


def test_a_paused_server_can_be_stopped(own_zookeeper: ZooKeeperServer) -> None:
    pid = own_zookeeper.pid
    own_zookeeper.pause()
    started = time.monotonic()
    own_zookeeper.stop(deadline_s=20)
    assert gone(pid)
    assert time.monotonic() - started < 10, "it was killed at the deadline instead of being stopped"


def test_a_server_that_ignores_sigterm_is_killed_at_the_deadline(own_zookeeper: ZooKeeperServer) -> None:
    pid = own_zookeeper.pid
    own_zookeeper.stop(deadline_s=0)  # no JVM ends in no time
    assert gone(pid)


def test_a_running_server_is_not_started_twice(own_zookeeper: ZooKeeperServer) -> None:
    with pytest.raises(ServerError, match=f"runs already .pid {own_zookeeper.pid}.: stop it first"):
        own_zookeeper.start()


def test_a_port_that_is_taken_is_told(own_zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    rival = ZooKeeperServer(tmp_path / "rival", port=own_zookeeper.settings.port)
    with pytest.raises(ServerError, match=f"{own_zookeeper.connect}, which is taken"):
        rival.start()


def test_a_server_that_dies_early_tells_its_exit_code_and_the_end_of_its_log(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path, heap="1k")
    with pytest.raises(ServerError, match=r"(?s)ended with exit code 1; .*zookeeper\.log:.*Too small maximum heap"):
        server.start()
    assert not server.running


def test_a_server_that_does_not_answer_in_time_is_told_and_not_left_behind(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path)
    with pytest.raises(ServerError, match="did not answer within 0 s"):
        server.start(deadline_s=0)
    assert not server.running


ORPHANED = """
import sys, threading
from pathlib import Path
from tandem.devservers import ZooKeeperServer
server = ZooKeeperServer(Path(sys.argv[1]))
starter = threading.Thread(target=server.start)
starter.start()
starter.join()
print(server.pid, server.settings.port, flush=True)
sys.stdin.read()
"""


def test_a_server_outlives_the_thread_that_started_it_but_not_the_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ORPHANED, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, port = map(int, parent.stdout.readline().split())
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"ruok")
            assert connection.recv(16) == b"imok"
        os.kill(parent.pid, signal.SIGKILL)
    assert eventually(lambda: gone(pid), within_s=5)


@pytest.mark.thorough
def test_a_server_that_has_started_answers_the_first_try(tmp_path: Path) -> None:
    """It listens, and answers `ruok`, before it takes in sessions; a client that connects in between is dropped.

    Several start at once, so that each takes a while.
    """

    def first_try(number: int) -> None:
        with ZooKeeperServer(tmp_path / str(number)) as server:
            client = KazooClient(server.connect, connection_retry={"max_tries": 0})
            client.start(timeout=10)
            client.stop()
            client.close()

    with ThreadPoolExecutor(STARTED_AT_ONCE) as pool:
        list(pool.map(first_try, range(3 * STARTED_AT_ONCE)))


def test_ctrl_c_on_the_terminal_does_not_reach_the_servers(own_zookeeper: ZooKeeperServer) -> None:
    assert os.getpgid(own_zookeeper.pid) != os.getpgid(os.getpid())
