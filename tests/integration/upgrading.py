"""A running job gets new code from a savepoint; who published what since."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integration.workload import JOB, Workload
from tandem.kafka.history import last_marker, markers_back_to
from tandem.local.snapshot_inputs import inputs_of
from tandem.local.upgrade import ObservedJob, Upgrade
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.snapshots import SnapshotStore
from tandem.snapshots.savepoint_store import Savepoints, newest_snapshot, not_before_epoch
from tandem.waiting import Deadline

ENDS_S = 60.0
FAR = 1_000_000
NEW = JOB.replace('F.col("count").cast', f'(F.col("count") + {FAR}).cast')
"""`JOB` with counts that show which code made them."""


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
    observed = ObservedJob(job.manifest, job.directory)
    return Upgrade(job.directory, job.manifest, load(manifest), savepoint, observed).run()


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


@contextmanager
def restored(manifest: Path, name: str, folder: Path) -> Iterator[Path]:
    """While the block runs, a job that has stopped goes on from a savepoint; the log of the command."""
    log, words = folder / "restore.log", ("savepoint", "restore", str(manifest), name)
    argv = [sys.executable, "-m", "tandem", *words, "--run-directory", str(folder / "run")]
    with log.open("w") as output:
        command = subprocess.Popen(argv, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield log
    finally:
        command.send_signal(signal.SIGTERM)
        assert command.wait(ENDS_S) == ExitCode.OK, log.read_text()


def generations_since(workload: Workload, epoch: int) -> list[int]:
    """Who published since `epoch`: each run of one generation as its number."""
    topics = workload.job.manifest.model.topics
    markers = [marker for _, marker in markers_back_to(workload.cluster.connection, topics.commits, epoch)]
    runs: list[int] = []
    for marker in markers:
        if not runs or runs[-1] != marker.generation:
            runs.append(marker.generation)
    return runs
