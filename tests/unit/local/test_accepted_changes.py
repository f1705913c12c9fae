"""`--accept-changes` on a job without a log: one that never ran begins; one that has run is not begun again unasked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tandem.local.changes import changed_start
from tandem.manifest import Manifest, load
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config, Cut, Offsets, TopicPartition
from tandem.replica.local_savepoints import LINEAGE, local_savepoints
from tandem.snapshots import Inputs
from unit.snapshots.snapshot_builders import checkpoint, fill, head

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


def test_the_state_is_kept_for_the_next_generation_and_what_earlier_ones_began_with_goes(
    job: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = Config(2, "code", Offsets(), "me", base=2, savepoint="changes-2-2", topic_ids=(("orders", "a1"),))
    cut = Cut(3, Offsets({TopicPartition("orders", 0): 5}), 0, 0, "")
    monkeypatch.setattr("tandem.local.changes.decisions_of", lambda *_: SimpleNamespace(config=accepted))
    monkeypatch.setattr("tandem.local.changes.what_has_changed", lambda *_: "the code")
    monkeypatch.setattr("tandem.local.changes.last_marker", lambda *_: SimpleNamespace(epoch=3))
    monkeypatch.setattr("tandem.local.changes.cut_at", lambda *_: cut)
    directory = job.checkpoint_directory
    for generation, epoch in ((1, 1), (2, 2)):
        lineage = replace(accepted, generation=generation - 1).lineage
        name, state = f"changes-{generation}-{epoch}", fill(directory.parent / str(epoch), {"metadata": b"m"})
        of = replace(head(epoch, config=lineage), job="orders")
        local_savepoints(directory, name).save(name, of, state, Inputs.of([], cut))
    checkpoint(directory / "orders.replica-0.1" / "checkpoint", 3)
    (directory / "orders.replica-0.1" / LINEAGE).write_text(accepted.lineage)

    assert changed_start(job).savepoint == "changes-3-3"
    assert {folder.name for folder in (directory / "savepoints").iterdir()} == {"changes-2-2", "changes-3-3"}
