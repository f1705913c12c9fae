"""A real-time job with a table from a topic goes on from a savepoint, though the topic has lost the rows since."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from integration.ruled_job import VERSIONS, Rules
from integration.traffic import check_copies
from integration.upgrading import FAR, changed, generations_since, restored, savepoint
from integration.workload import Cluster, running
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(600)]

NEW = VERSIONS.replace('F.col("version").cast', f'(F.col("version") + {FAR}).cast')
ORDERING = {"mode": "leader", "minEpochInterval": "200ms", "barrierInterval": "500ms"}
PATIENCE_S = 120.0


@pytest.mark.thorough
def test_the_table_is_that_of_the_savepoint_and_changes_go_on(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    cluster, name = Cluster(kafka, zookeeper), f"ruled-{uuid.uuid4().hex[:6]}"
    rules = Rules(cluster, name, policy="delete")
    snapshots = {"store": str(tmp_path / "store"), "interval": "1s"}
    spec = {"engine": "realTime", "replicas": 1, "ordering": ORDERING, "snapshots": snapshots}
    with running(
        tmp_path / "job", cluster, name, code=VERSIONS, sources=rules.sources(f"{name}-in"), **spec
    ) as workload:
        met = workload.reader.counts

        def newest(version: int) -> bool:
            return bool(met) and all(rows[-1] == version for rows in list(met.values()))

        workload.flows_on(200)
        rules.change()
        workload.wait(lambda: newest(1), PATIENCE_S, "events meet the changed rules")
        epoch = savepoint(workload, "before-restore")
        workload.flows_on(200)
        workload.job.stop()
        rules.lose()

        with restored(changed(workload, tmp_path / "new", NEW), "before-restore", tmp_path) as log:
            assert wait_until(lambda: newest(FAR + 1), Deadline(PATIENCE_S)), log.read_text()
            rules.change()
            assert wait_until(lambda: newest(FAR + 2), Deadline(PATIENCE_S)), log.read_text()
            workload.feeder.stop()
            sent = workload.feeder.sent
            assert wait_until(lambda: len(workload.reader.copies) == sent, Deadline(PATIENCE_S)), log.read_text()
            all_met = wait_until(lambda: sum(map(len, list(met.values()))) == sent, Deadline(PATIENCE_S))
            assert all_met, "an event met no rule: the table was not whole"

        check_copies(list(workload.reader.copies), sent)
        for key, rows in met.items():
            assert rows == sorted(rows), f"an event of {key} met an older rule than the one before it"
            assert set(rows) <= {0, 1, FAR + 1, FAR + 2}
        assert generations_since(workload, epoch) == [0, 1]
