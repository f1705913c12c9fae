"""`--accept-changes` on a job without a log: one that never ran begins; one that has run is not begun again unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.local.changes import changed_start
from tandem.manifest import Manifest, load
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.replica.local_savepoints import LINEAGE

MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: orders}
spec:
  job: {file: job.py}
  checkpoint: {directory: state}
  kafka: {bootstrapServers: "localhost:1"}
  zookeeper: {connect: "localhost:1"}
  sources: [{name: orders, topics: [orders]}]
  sinks: [{name: out, topic: out}]
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """There is no log of it."""
    (tmp_path / "job.py").write_text("def job(orders):\n    return orders\n")
    (tmp_path / "job.yaml").write_text(MANIFEST)
    monkeypatch.setattr("tandem.local.changes.decisions_of", lambda *_: Decisions())
    return load(tmp_path / "job.yaml")


def test_a_job_that_never_ran_starts_as_usual(job: Manifest) -> None:
    (job.checkpoint_directory / "tables").mkdir(parents=True)
    of_another_job = job.checkpoint_directory / "refunds.replica-0.1"
    of_another_job.mkdir()
    (of_another_job / LINEAGE).write_text("c0ffee")

    assert changed_start(job).generation is None


def test_a_job_whose_state_is_here_and_whose_log_is_not_is_refused_with_both_ways_on(job: Manifest) -> None:
    folder = job.checkpoint_directory / "orders.replica-0.1"
    folder.mkdir(parents=True)
    (folder / LINEAGE).write_text("c0ffee")

    with pytest.raises(RefusedError, match=r"orders has run .* put back the old one: .* without --accept-changes"):
        changed_start(job)
