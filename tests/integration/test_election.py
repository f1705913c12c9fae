"""Who leads while ZooKeeper answers, and that nobody believes to lead while it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.waiting import eventually
from tandem.coordination.election import Election
from tandem.devservers import ZooKeeperServer

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
    election = Election({"hosts": server.connect, "timeout": SESSION_S}, f"/tandem/{job}/orderers", "orderer-0")
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
