"""A standby of a job that counts in real-time mode goes on from the barrier that was shipped to it; counts stay exact."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pytest

from integration.apart import STAFFED_S, checkpoints_of, metric, running_apart
from integration.counting_job import COUNTS, check_each_record_counted_once
from integration.windowed_job import WINDOWS, check_windows
from integration.workload import Cluster, Workload
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

ORDERING = {"mode": "leader", "minEpochInterval": "20ms", "barrierInterval": "500ms"}
STATE_FROM_ELSEWHERE = ("snapshot_restored", "followed_state_used")
"""Lines of a replica's log; the state that it follows begins with a snapshot, too."""


def state_from_elsewhere(workload: Workload, name: str) -> list[int]:
    """The epochs of the states that a replica has found on no folder of its own, since the job was started."""
    return [line["epoch"] for event in STATE_FROM_ELSEWHERE for line in workload.logged(name, event)]


def kill_the_active_once_the_standby_follows(workload: Workload) -> None:
    """The standby goes on from state that was shipped to it, behind a barrier."""
    (active,), (standby,) = workload.roles()
    workload.wait(
        lambda: metric(workload, standby, "tandem_standby_verified_epoch") > 0, 90, f"{standby} proves its state"
    )
    shipped = metric(workload, active, "tandem_shipped_epoch")
    workload.wait(
        lambda: metric(workload, standby, "tandem_standby_followed_epoch") > max(0, shipped),
        60,
        f"{standby} follows what is shipped after epoch {shipped}",
    )
    workload.job.kill(active)
    workload.flows_on(400)
    assert workload.roles()[0] == [standby]
    (used,) = workload.logged(standby, "followed_state_used")
    assert used["last_published"] >= used["epoch"] > 0, "it begins with the shipped state of a barrier"
    assert not workload.logged(standby, "followed_state_wrong")


@pytest.mark.thorough
def test_a_promoted_standby_counts_on_from_the_shipped_barrier_and_a_job_without_checkpoints_from_the_store(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    cluster, name = Cluster(kafka, zookeeper), f"real-time-{uuid.uuid4().hex[:6]}"
    with running_apart(tmp_path, cluster, name, code=COUNTS, engine="realTime", ordering=ORDERING) as workload:
        kill_the_active_once_the_standby_follows(workload)
        check_each_record_counted_once(workload)

        workload.when_staffed(1, 1, STAFFED_S)
        workload.job.stop()
        for folder in checkpoints_of(tmp_path):
            shutil.rmtree(folder)
        workload.job.start()
        workload.when_staffed(1, 1, STAFFED_S)
        (active,), _ = workload.roles()
        assert max(state_from_elsewhere(workload, active), default=-1) > 0, (
            "all is computed again, from the first epoch on"
        )
        check_each_record_counted_once(workload)


@pytest.mark.thorough
def test_a_promoted_standby_counts_windows_on_and_drops_the_same_records_as_late(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    """Ordered by generators, with barriers that are common to both, behind which the watermark moves."""
    cluster, name = Cluster(kafka, zookeeper), f"real-time-{uuid.uuid4().hex[:6]}"
    ordering = {**ORDERING, "mode": "heartbeat", "barrierInterval": "2s"}
    job = {"file": "job.py", "outputMode": "update"}
    with running_apart(
        tmp_path, cluster, name, code=WINDOWS, engine="realTime", ordering=ordering, job=job
    ) as workload:
        kill_the_active_once_the_standby_follows(workload)
        workload.flows_on(1_000)
        assert check_windows(workload) > 0, "no record was late"
