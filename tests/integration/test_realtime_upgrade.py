"""A job that counts in real-time mode gets new code while it runs: each record is counted once; its state can be read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from integration.command import Command
from integration.counting_job import COUNTS
from integration.traffic import Row, check_copies
from integration.upgrading import FAR, changed, generations_since, savepoint, upgrade
from integration.workload import Cluster, Workload, running
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(600)]

NEW = COUNTS.replace("string(count) AS value", f"string(count + {FAR}) AS value")
ORDERING = {"mode": "leader", "minEpochInterval": "50ms", "barrierInterval": "500ms"}


def test_counts_go_on_from_the_savepoint_s_barrier_and_the_state_says_them(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    name, snapshots = f"real-time-{uuid.uuid4().hex[:6]}", {"store": str(tmp_path / "store"), "interval": "1s"}
    spec = {"engine": "realTime", "ordering": ORDERING, "snapshots": snapshots}
    with running(tmp_path / "job", Cluster(kafka, zookeeper), name, code=COUNTS, **spec) as workload:
        workload.flows_on(200)
        epoch = savepoint(workload, "before-upgrade")
        saved = state_of(workload, "--savepoint", "before-upgrade")
        assert upgrade(workload, changed(workload, tmp_path / "new", NEW), "before-upgrade") == 1
        workload.when_whole()
        workload.flows_on(200)
        assert generations_since(workload, epoch) == [0, 1]

        workload.feeder.stop()
        copies = workload.reader.copies
        workload.wait(lambda: len(copies) == workload.feeder.sent, 60, "everything sent comes out")
        check_copies(copies, workload.feeder.sent)
        rows = workload.reader.rows_until(workload.reader.newest)[1]
        assert saved == {key: count_at(found, epoch) for key, found in rows.items()}
        for key, found in rows.items():
            codes = [count > FAR for _, count in found]
            assert any(codes), f"nothing of the new code came out for {key}"
            assert codes == sorted(codes), f"the old code's counts of {key} come after the new one's"
            assert [count % FAR for _, count in found] == list(range(1, len(found) + 1)), f"counts of {key}"
        newest = {key: len(found) for key, found in rows.items()}
        workload.wait(lambda: state_of(workload, "--live") == newest, 90, f"the state is {newest}, as the rows say")


def count_at(rows: list[Row], epoch: int) -> int:
    """The newest count of a key that an epoch, or one before it, reported."""
    return max(count for one, count in rows if one <= epoch)


def state_of(workload: Workload, *options: str) -> Mapping[str, int]:
    """Counts by key, as `tandem state` shows them."""
    path = str(workload.job.manifest.path)
    command = Command("state", path, "--operator", "aggregation", "--limit", "1000", "--format", "json", *options)
    assert command.exit_code() == 0, command.output
    body = json.loads(command.output[command.output.index("{") :])
    return {row["key"]["key"]: row["value"]["count"] for row in body["rows"]}
