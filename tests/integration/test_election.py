"""Who leads while ZooKeeper answers, that nobody believes to lead while it does not, and who follows a leader that died."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from integration.waiting import eventually
from tandem.coordination.election import Candidate, Election
from tandem.coordination.peers import Peers
from tandem.devservers import ZooKeeperServer
from tandem.status.serving import LOOPBACK

pytestmark = pytest.mark.integration

SESSION_S = 40.0
DEADLINE_S = 10.0
"""Far less than a client takes to notice by itself that a session is in danger: only a connection's end or a call's
deadline is so soon."""
BACK_S = SESSION_S + 30.0
"""A ZooKeeper that starts may never answer a client that comes too early (see `ZooKeeperServer`), and a client waits for
the answer as long as its session may last."""


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    """A ZooKeeper that allows such long sessions."""
    with ZooKeeperServer(tmp_path / "zookeeper", tick_ms=2_000) as server:
        yield server


@contextmanager
def taking_part(server: ZooKeeperServer, job: str) -> Iterator[Election]:
    """An orderer that is alone, and so leads."""
    election = Election(
        {"hosts": server.connect, "timeout": SESSION_S}, f"/tandem/{job}/orderers", Candidate("orderer-0")
    )
    election.start()
    try:
        assert eventually(lambda: election.leading)
        yield election
    finally:
        election.stop()


@pytest.mark.parametrize("end", [ZooKeeperServer.kill, ZooKeeperServer.pause], ids=["killed", "paused"])
def test_who_leads_no_longer_believes_it_when_zookeeper_is_gone_and_does_again_when_it_is_back(
    own_zookeeper: ZooKeeperServer, topic_prefix: str, end: Callable[[ZooKeeperServer], None]
) -> None:
    with taking_part(own_zookeeper, topic_prefix) as election:
        end(own_zookeeper)
        assert eventually(lambda: not election.leading, DEADLINE_S)
        if end is ZooKeeperServer.kill:
            own_zookeeper.start()
        else:
            own_zookeeper.resume()
        assert eventually(lambda: election.leading, BACK_S)


WATCHED = "watched at "
LEADER = """
import sys, threading
from tandem.coordination.election import Candidate, Election
from tandem.coordination.peers import Peers
from tandem.waiting import Deadline, wait_until

hosts, timeout_s, path, host = sys.argv[1:]
me = Candidate("orderer-0")
peers = Peers(me.id, host, {})
election = Election({"hosts": hosts, "timeout": float(timeout_s)}, path, me, peers=peers)
election.start()
wait_until(lambda: election.leading, Deadline(30.0), 0.05)
assert election.leading
print(f"watched at {peers.address.port}", flush=True)
threading.Event().wait(300.0)
"""


def is_connected(port: int) -> bool:
    """Whether this process has a connection to that port."""
    lines = psutil.Process().net_connections("tcp")
    return any(line.raddr and line.raddr.port == port and line.status == psutil.CONN_ESTABLISHED for line in lines)


def test_a_leader_that_was_killed_is_passed_over_long_before_its_session_ends(
    own_zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    path = f"/tandem/{topic_prefix}/orderers"
    command = [sys.executable, "-c", LEADER, own_zookeeper.connect, str(SESSION_S), path, LOOPBACK]
    me = Candidate("orderer-1")
    options = {"hosts": own_zookeeper.connect, "timeout": SESSION_S}
    peers = Peers(me.id, LOOPBACK, {})
    next_one = Election(options, path, me, peers=peers)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as leader:
        try:
            assert leader.stdout is not None
            says = next(line for line in leader.stdout if line.startswith(WATCHED))
            port = int(says.removeprefix(WATCHED))
            next_one.start()
            assert eventually(lambda: is_connected(port))
            assert not next_one.leading
            leader.kill()
            assert eventually(lambda: next_one.leading, DEADLINE_S)
        finally:
            leader.kill()
            next_one.stop()
