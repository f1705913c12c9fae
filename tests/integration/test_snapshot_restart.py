"""A job whose checkpoints are gone goes on from the snapshot store."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pytest

from integration.workload import Cluster, Workload, write_manifest
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.snapshots import SnapshotStore

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.mark.thorough
def test_a_job_without_its_checkpoints_goes_on_from_the_newest_snapshot(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    name = f"snapshots-{uuid.uuid4().hex[:6]}"
    cluster = Cluster(kafka, zookeeper)
    manifest = write_manifest(
        tmp_path / "job",
        cluster,
        name,
        replicas=1,
        ordering={"mode": "heartbeat", "generators": 1},
        snapshots={"store": str(tmp_path / "store"), "interval": "1s"},
    )
    workload = Workload(cluster, manifest, name)
    store = SnapshotStore(str(tmp_path / "store" / name))
    try:
        workload.job.start()
        workload.when_whole()
        workload.wait(lambda: len(store.list()) >= 2, 60, "two snapshots")
        workload.job.stop()
        shutil.rmtree(tmp_path / "job" / "checkpoint")
        workload.job.start()
        workload.when_whole()
        assert '"event": "snapshot_restored"' in workload.job.log_file("replica-0").read_text()
        workload.check_exactly_once()
    finally:
        workload.close()
