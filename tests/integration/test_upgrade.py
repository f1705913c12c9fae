"""A running job gets new code: readers see old rows up to one epoch, new ones after it, and nothing twice or never."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.workload import JOB, Cluster, Workload, running
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.history import last_marker, markers_back_to
from tandem.local.upgrade import ObservedProgress, Upgrade, UpgradeError
from tandem.manifest import load
from tandem.snapshots import SnapshotStore
from tandem.snapshots.savepoint_store import Savepoints, newest_snapshot, not_before_epoch
from tandem.state import inputs_of
from tandem.waiting import Deadline

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

FAR = 1_000_000
NEW = JOB.replace('F.col("count").cast', f'(F.col("count") + {FAR}).cast')
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


def changed(workload: Workload, folder: Path, code: str) -> Path:
    """The job's manifest with other code, in a folder of its own."""
    folder.mkdir()
    (folder / "job.py").write_text(code)
    body = json.loads(workload.job.manifest.path.read_text())
    path = folder / "job.yaml"
    path.write_text(json.dumps(body))
    return path


def upgrade(workload: Workload, manifest: Path, savepoint: str) -> int:
    """Upgrade the job; returns its generation afterwards."""
    job = workload.job
    progress = ObservedProgress(job.manifest, job.directory)
    return Upgrade(job.directory, job.manifest, load(manifest), savepoint, progress).run()


def savepoint(workload: Workload, name: str) -> int:
    """Make a savepoint of what is published by now; returns its epoch."""
    spec = workload.job.manifest.spec
    assert spec.snapshots is not None
    connection, topics = workload.cluster.connection, workload.job.manifest.model.topics
    marker = last_marker(connection, topics.commits)
    assert marker is not None
    store = SnapshotStore(spec.snapshots.url(workload.name))
    snapshot = newest_snapshot(store, not_before_epoch(marker.epoch), Deadline(60))
    inputs = inputs_of(workload.job.manifest, connection, snapshot)
    return Savepoints(store).create(name, snapshot, inputs).snapshot.epoch


@pytest.mark.thorough
def test_code_that_cannot_take_over_the_state_changes_nothing(workload: Workload, tmp_path: Path) -> None:
    savepoint(workload, "before-mistake")
    manifest = changed(workload, tmp_path / "mistake", OTHER_STATE)
    with workload.output_goes_on(MASKED_S), pytest.raises(UpgradeError, match="the old generation runs on"):
        upgrade(workload, manifest, "before-mistake")
    assert ObservedProgress(workload.job.manifest, workload.job.directory).generation() == 0
    workload.when_whole()


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


def generations_since(workload: Workload, epoch: int) -> list[int]:
    """Who published since `epoch`: each run of one generation as its number."""
    topics = workload.job.manifest.model.topics
    markers = [marker for _, marker in markers_back_to(workload.cluster.connection, topics.commits, epoch)]
    runs: list[int] = []
    for marker in markers:
        if not runs or runs[-1] != marker.generation:
            runs.append(marker.generation)
    return runs
