"""`tandem savepoint restore` of a job that has stopped: it goes on from the savepoint with other code."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from integration.traffic import check_copies
from integration.upgrading import FAR, NEW, changed, generations_since, restored, savepoint
from integration.workload import Cluster, Workload, running
from tandem.cli.main import app
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.process.info import ExitCode
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

RESTORED_S = 120.0


@pytest.fixture(scope="module")
def workload(
    tmp_path_factory: pytest.TempPathFactory, kafka: KafkaBroker, zookeeper: ZooKeeperServer
) -> Iterator[Workload]:
    """A job with one replica, and with snapshots."""
    folder = tmp_path_factory.mktemp("restore")
    name = f"restore-{uuid.uuid4().hex[:6]}"
    snapshots = {"store": str(folder / "store"), "interval": "1s"}
    with running(folder / "job", Cluster(kafka, zookeeper), name, replicas=1, snapshots=snapshots) as workload:
        yield workload


@pytest.mark.thorough
def test_a_savepoint_that_is_not_there_is_refused_before_anything_starts(workload: Workload) -> None:
    savepoint(workload, "that-is-there")
    manifest = str(workload.job.manifest.path)
    result = CliRunner().invoke(app, ["savepoint", "restore", manifest, "other"])
    assert result.exit_code == ExitCode.FAILED
    assert "there is no savepoint other: there are that-is-there" in result.output


def test_a_stopped_job_goes_on_from_a_savepoint_with_other_code(workload: Workload, tmp_path: Path) -> None:
    workload.flows_on(200)
    epoch = savepoint(workload, "before-restore")
    workload.check_exactly_once()  # the reader may be far behind: then it would not know the newest counts of the old code
    workload.job.stop()
    before = {key: max(counts) for key, counts in workload.reader.counts.items()}

    manifest = changed(workload, tmp_path / "new", NEW)
    with restored(manifest, "before-restore", tmp_path) as log:
        counts = workload.reader.counts
        is_new = wait_until(lambda: all(rows[-1] > FAR for rows in counts.values()), Deadline(RESTORED_S))
        assert is_new, log.read_text()
        sent = workload.feeder.sent
        assert wait_until(lambda: workload.reader.has_copied(sent), Deadline(RESTORED_S)), log.read_text()

    check_copies(list(workload.reader.copies), sent)
    for key, rows in counts.items():
        first_new = next(row for row in rows if row > FAR) - FAR
        assert before[key] < first_new, f"the counts of {key} do not go on from those of the old code"
        rows[:] = [row % FAR for row in rows]
        assert rows == sorted(set(rows)), f"the counts of {key} repeat or go back"
    assert generations_since(workload, epoch) == [0, 1]
