"""A standby that shares no folder with the active takes its place with the state that was shipped to it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.apart import STAFFED_S, metric, running_apart
from integration.workload import Cluster, Workload
from tandem.coordination.handover import Requester
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.protocol.switchover import Role, replica_name

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

GAP_S = 10.0


@pytest.fixture
def apart(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[Workload]:
    """One active and one standby, each with a checkpoint folder of its own; they share a snapshot store."""
    name = f"shipping-{uuid.uuid4().hex[:6]}"
    with running_apart(tmp_path, Cluster(kafka, zookeeper), name) as workload:
        yield workload
        workload.check_exactly_once()


def told(workload: Workload, role: Role) -> set[str]:
    """The replicas that tell the others in ZooKeeper that this is what they do."""
    with Requester.connected({"hosts": workload.cluster.zookeeper.connect}, workload.name) as requester:
        return {replica_name(name) for name, said in requester.look().roles.items() if said is role}


@pytest.mark.thorough
def test_the_promoted_standby_goes_on_with_shipped_and_proved_state(apart: Workload) -> None:
    (active,), (standby,) = apart.roles()
    apart.wait(lambda: metric(apart, standby, "tandem_standby_verified_epoch") > 0, 120, f"{standby} proves its state")
    apart.wait(lambda: standby in told(apart, Role.PROVED), 30, f"{standby} tells the others that it has")

    def follows_closely() -> bool:
        published = metric(apart, active, "tandem_published_epoch")
        return published - metric(apart, standby, "tandem_standby_followed_epoch") <= 5

    apart.wait(follows_closely, 60, f"{standby} follows closely")
    with apart.output_goes_on(GAP_S):
        apart.job.kill(active)
        apart.flows_on(400)
    log = apart.job.log_file(standby).read_text()
    used = [json.loads(line) for line in log.splitlines() if '"followed_state_used"' in line]
    assert used, "the standby restored other state than what was shipped"
    assert used[-1]["last_published"] - used[-1]["epoch"] <= 5
    assert "followed_state_wrong" not in log

    apart.when_staffed(1, 1, STAFFED_S)
    assert apart.roles() == ([standby], [active])
    apart.wait(lambda: metric(apart, active, "tandem_standby_followed_epoch") > 0, 120, f"{active} follows in its turn")
    apart.job.kill(standby)
    apart.flows_on(400)
    assert '"followed_state_used"' in apart.job.log_file(active).read_text()
