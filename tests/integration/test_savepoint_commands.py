"""`tandem savepoint` on a job whose topics and snapshots are there: what is made, what is refused, and in which words."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from integration.written_job import WrittenJob
from tandem.cli.main import app
from tandem.devservers import KafkaBroker
from tandem.process.info import ExitCode
from tandem.protocol.values import TopicPartition
from tandem.snapshots import Savepoints, SnapshotHead, SnapshotManifest, SnapshotStore

pytestmark = pytest.mark.integration

SNAPSHOTS = "  snapshots:\n    store: ./snapshots\n"


@pytest.fixture
def job(kafka: KafkaBroker, topic_prefix: str) -> WrittenJob:
    return WrittenJob(kafka.bootstrap, topic_prefix)


def manifest(job: WrittenJob, folder: Path, more: str = SNAPSHOTS, bootstrap: str = "") -> Path:
    path = folder / "job.yaml"
    path.write_text(
        f"""\
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata:
  name: {job.name}
spec:
  job:
    file: job.py
  kafka:
    bootstrapServers: {bootstrap or job.bootstrap}
  ordering:
    mode: heartbeat
  sources:
    - name: source
      topics: [{job.input}]
  sinks:
    - name: rows
      topic: {job.output}
{more}"""
    )
    return path


def store(job: WrittenJob, folder: Path) -> SnapshotStore:
    return SnapshotStore(str(folder / "snapshots" / job.name))


def snapshot(job: WrittenJob, folder: Path, epoch: int, config: str = "c0ffee") -> SnapshotManifest:
    """What a replica saves after it has published `epoch`; the ordering topic begins with the config."""
    checkpoint = folder / f"checkpoint-{epoch}-{config}"
    (checkpoint / "state" / "0" / "0").mkdir(parents=True)
    (checkpoint / "state" / "0" / "0" / f"{epoch + 1}.changelog").write_text(f"{epoch}")
    now = time.time_ns() // 1_000_000
    return store(job, folder).save(
        SnapshotHead(job.name, epoch, epoch + 1, config, "", now, "", "j.replica-0.1a"), checkpoint
    )


def tandem(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["savepoint", *map(str, arguments)])


def test_a_savepoint_includes_what_was_published_when_it_was_asked_for(job: WrittenJob, tmp_path: Path) -> None:
    path = manifest(job, tmp_path)
    job.run([0, 1, 2])
    snapshot(job, tmp_path, 0)
    later = threading.Timer(1.0, lambda: snapshot(job, tmp_path, 2))
    later.start()
    result = tandem("create", path, "first", "--wait", "30s")
    later.join()

    assert result.exit_code == ExitCode.OK, result.stderr
    assert f"savepoint first of job {job.name}: epoch 2, 1 B in 1 files, 1 partition of state" in result.stdout
    made = Savepoints(store(job, tmp_path)).get("first")
    assert made.snapshot.epoch == 2
    assert made.inputs.positions[TopicPartition(job.input, 0)] == 30
    assert made.inputs.time_ms == 1_002


def test_savepoints_are_listed_and_deleted(job: WrittenJob, tmp_path: Path) -> None:
    path = manifest(job, tmp_path)
    assert "has no savepoint; make one with: tandem savepoint create" in tandem("list", path).stdout
    job.run([0])
    snapshot(job, tmp_path, 0)
    for name in ("a", "b"):
        assert tandem("create", path, name).exit_code == ExitCode.OK

    table = tandem("list", path).stdout
    assert all(heading in table for heading in ("Name", "Epoch", "Age", "Size", "Partitions", "Config"))
    listed = json.loads(tandem("list", path, "--json").stdout)["savepoints"]
    assert [(one["name"], one["epoch"], one["partitions"], one["inputs"]) for one in listed] == [
        (name, 0, 1, {f"{job.input}/0": 10}) for name in ("a", "b")
    ]

    assert tandem("delete", path, "a").exit_code == ExitCode.OK
    assert Savepoints(store(job, tmp_path)).list().names == ("b",)
    again = tandem("delete", path, "a")
    assert (again.exit_code, again.stderr) == (ExitCode.FAILED, "not deleted: there is no savepoint a: there are b\n")


@pytest.mark.parametrize("options", [("--wait", "1s"), ("--newest",)])
def test_a_snapshot_of_an_earlier_run_is_none_of_this_one(
    job: WrittenJob, tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = manifest(job, tmp_path)
    job.run([0])
    snapshot(job, tmp_path, 0)
    snapshot(job, tmp_path, 900, "of another run")

    assert tandem("create", path, "a", *options).exit_code == ExitCode.OK
    assert Savepoints(store(job, tmp_path)).get("a").snapshot.epoch == 0


def test_when_no_snapshot_comes_it_says_how_old_the_newest_one_is(job: WrittenJob, tmp_path: Path) -> None:
    path = manifest(job, tmp_path)
    job.run([0, 1])
    none = tandem("create", path, "a", "--wait", "1s")
    snapshot(job, tmp_path, 0)
    old = tandem("create", path, "a", "--wait", "1s")

    assert (none.exit_code, old.exit_code) == (ExitCode.FAILED, ExitCode.FAILED)
    assert "there is no older one: does the job run?" in none.stderr
    assert (
        "no snapshot of epoch 1, the last one published, appeared within 1 s; the newest one is of epoch 0, taken"
        in old.stderr
    )
    assert f"tandem savepoint create {path} a --newest" in old.stderr
    assert tandem("create", path, "a", "--newest").exit_code == ExitCode.OK
    assert Savepoints(store(job, tmp_path)).get("a").snapshot.epoch == 0


def test_a_name_that_is_taken_or_cannot_be_is_refused_at_once(job: WrittenJob, tmp_path: Path) -> None:
    path = manifest(job, tmp_path)
    job.run([0])
    snapshot(job, tmp_path, 0)
    tandem("create", path, "a")

    taken, wrong = tandem("create", path, "a"), tandem("create", path, "a/b")
    assert (taken.exit_code, wrong.exit_code) == (ExitCode.FAILED, ExitCode.FAILED)
    assert "no savepoint was made: there is a savepoint a already: delete it first" in taken.stderr
    assert "'a/b' cannot name a savepoint" in wrong.stderr


def test_a_job_that_has_published_nothing_or_keeps_nothing_is_told_so(job: WrittenJob, tmp_path: Path) -> None:
    nothing = tandem("create", manifest(job, tmp_path), "a")
    no_store = tandem("create", manifest(job, tmp_path, more=""), "a")

    assert "has published nothing yet" in nothing.stderr
    assert "has no snapshot store: add one, e.g. spec.snapshots: {store: ./snapshots}" in no_store.stderr


def test_a_kafka_that_does_not_answer_ends_it_within_seconds(job: WrittenJob, tmp_path: Path) -> None:
    began = time.monotonic()
    result = tandem("create", manifest(job, tmp_path, bootstrap="127.0.0.1:1"), "a")

    assert result.exit_code == ExitCode.REFUSED
    assert "no answer from Kafka at 127.0.0.1:1" in result.stderr
    assert time.monotonic() - began < 40


def test_a_damaged_savepoint_is_shown_and_can_be_deleted(job: WrittenJob, tmp_path: Path) -> None:
    path = manifest(job, tmp_path)
    job.run([0])
    snapshot(job, tmp_path, 0)
    tandem("create", path, "a")
    (tmp_path / "snapshots" / job.name / "savepoints" / "a.json").write_text("{")
    result = tandem("list", path)

    assert result.exit_code == ExitCode.FAILED
    assert "a is damaged" in result.stderr
    assert tandem("delete", path, "a").exit_code == ExitCode.OK
    assert tandem("list", path).exit_code == ExitCode.OK
