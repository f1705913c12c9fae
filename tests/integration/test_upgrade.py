"""A running job gets new code: readers see old rows up to one epoch, new ones after it, and nothing twice or never."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.upgrading import FAR, NEW, changed, generations_since, savepoint, upgrade
from integration.workload import JOB, Cluster, Workload, running
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.upgrade import ObservedJob, UpgradeError

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

OTHER_STATE = JOB.replace('groupBy("key").count()', 'groupBy("key", "partition").count()')
MASKED_S = 20.0


@pytest.fixture(scope="module")
def workload(
    tmp_path_factory: pytest.TempPathFactory, kafka: KafkaBroker, zookeeper: ZooKeeperServer
) -> Iterator[Workload]:
    """A job in two replicas, with snapshots."""
    folder = tmp_path_factory.mktemp("upgrade")
    name = f"upgrade-{uuid.uuid4().hex[:6]}"
    snapshots = {"store": str(folder / "store"), "interval": "1s"}
    little_to_catch_up = {"minEpochInterval": "500ms"}
    with running(
        folder / "job", Cluster(kafka, zookeeper), name, snapshots=snapshots, ordering=little_to_catch_up
    ) as workload:
        yield workload
        workload.check_exactly_once()


@pytest.mark.thorough
def test_code_that_cannot_take_over_the_state_changes_nothing(workload: Workload, tmp_path: Path) -> None:
    savepoint(workload, "before-mistake")
    manifest = changed(workload, tmp_path / "mistake", OTHER_STATE)
    with workload.output_goes_on(MASKED_S), pytest.raises(UpgradeError, match="the old generation runs on"):
        upgrade(workload, manifest, "before-mistake")
    assert ObservedJob(workload.job.manifest, workload.job.directory).generation() == 0
    workload.when_whole()


@pytest.mark.thorough
def test_a_job_is_upgraded_while_it_runs_and_goes_back(workload: Workload, tmp_path: Path) -> None:
    epoch = savepoint(workload, "before-upgrade")
    manifest = changed(workload, tmp_path / "new", NEW)
    with workload.output_goes_on(MASKED_S):
        assert upgrade(workload, manifest, "before-upgrade") == 1
        workload.when_whole()
        workload.flows_on(400)
    before = {key: [count for count in counts if count < FAR] for key, counts in workload.reader.counts.items()}
    after = {key: [count - FAR for count in counts if count > FAR] for key, counts in workload.reader.counts.items()}
    assert all(after.values())
    assert all(before[key][-1] < after[key][0] for key in before), "the counts go on from those of the old code"
    assert generations_since(workload, epoch) == [0, 1]

    assert upgrade(workload, changed(workload, tmp_path / "old", JOB), "before-upgrade") == 2
    workload.when_whole()
    assert generations_since(workload, epoch) == [0, 1, 2]
    copies = workload.reader.counts
    workload.wait(lambda: all(counts[-1] < FAR for counts in copies.values()), 60, "counts of the old code again")
    for key, counts in workload.reader.counts.items():
        for index in range(len(counts)):  # in place, while the reader appends
            counts[index] %= FAR
        assert counts == sorted(set(counts)), f"the counts of {key} repeat or go back"
