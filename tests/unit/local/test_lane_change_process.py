"""A change of the number of lanes that was refused is told apart from one that did not come to its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from typer.testing import CliRunner

from tandem.cli import lane_change as command
from tandem.cli import stores
from tandem.cli.main import app
from tandem.kafka.errors import FencingTimeoutError, MissingTopicError, ReadTimeoutError
from tandem.local import lane_change, lane_change_process
from tandem.local.lane_change_process import UnfinishedError, change_in_a_process
from tandem.manifest import load
from tandem.process.info import ExitCode, RefusedError
from tandem.snapshots import SnapshotError, SnapshotStore
from tandem.state import StateError
from unit.local.test_lane_checks import JOB
from unit.snapshots.snapshot_builders import Faults

PASSING = [
    KafkaException(KafkaError(KafkaError._TIMED_OUT)),
    FencingTimeoutError("no"),
    SnapshotError("no"),
    OSError("no"),
]
DECIDED = [RefusedError("no"), StateError("no"), MissingTopicError("no")]


@pytest.fixture
def faults() -> Iterator[type[Faults]]:
    """Lets the stores `faulty://` fail until the end of the test."""
    yield Faults
    Faults.heal()


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "job.py").write_text("def job(orders):\n    return orders\n")
    (tmp_path / "job.yaml").write_text(JOB + "  snapshots: {store: ./snapshots}\n")
    return tmp_path / "job.yaml"


def ended_by(error: Exception, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(lane_change, "change_lanes", fails)
    result = manifest.parent / "result.json"
    order = {"manifest": str(manifest), "before": "2", "folder": str(manifest.parent), "result": str(result)}
    lane_change_process.main(order)
    said: dict[str, str] = json.loads(result.read_text())
    return said


@pytest.mark.parametrize("error", PASSING, ids=lambda error: type(error).__name__)
def test_what_passes_decides_nothing(error: Exception, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ended_by(error, manifest, monkeypatch)
    assert (said["refused"], said["unfinished"].endswith("Try it again")) == ("", True)


@pytest.mark.parametrize("error", DECIDED, ids=lambda error: type(error).__name__)
def test_what_another_try_would_find_again_is_refused(
    error: Exception, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ended_by(error, manifest, monkeypatch) == {"refused": "no", "unfinished": ""}


def test_a_process_that_is_killed_may_have_changed_everything(manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(UnfinishedError, match="cut short"):
        change_in_a_process(load(manifest), 2)


PYTHON = """#!/bin/sh
case "$1" in -m) echo $$; exec sleep 60;; *) exec {python} "$@";; esac
"""
PARENT = """
import sys
from tandem.local.lane_change_process import change_in_a_process
from tandem.manifest import load
sys.executable = sys.argv[1]
change_in_a_process(load(sys.argv[2]), 2)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing ends it")
def test_a_change_ends_with_the_process_that_asked_for_it(manifest: Path) -> None:
    python = manifest.parent / "python"
    python.write_text(PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, python, manifest], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    change = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.communicate(timeout=10)  # the change has the same standard output, and holds it as long as it runs
    finally:
        with suppress(ProcessLookupError):
            os.kill(change, signal.SIGKILL)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnfinishedError("killed"), ExitCode.FAILED),
        (RefusedError("it has tables"), ExitCode.REFUSED),
    ],
    ids=["unfinished", "refused"],
)
def test_the_exit_code_of_the_command_says_whether_it_was_decided(
    error: Exception, code: ExitCode, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(command, "lanes_before", lambda *_, **__: 2)
    monkeypatch.setattr(command, "change_in_a_process", fails)
    done = CliRunner().invoke(app, ["lanes", str(manifest)])
    assert done.exit_code == code


def test_logs_that_cannot_be_read_now_are_not_those_of_a_job_that_has_never_run(
    manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def times_out(*_: object) -> None:
        raise ReadTimeoutError("orders.ordering was not read within 30 s")

    monkeypatch.setattr("tandem.replica.lanes_before.decisions_of", times_out)
    done = CliRunner().invoke(app, ["lanes", str(manifest)])
    assert done.exit_code == ExitCode.FAILED


def test_a_store_that_is_away_is_named_before_anything_is_begun(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, faults: type[Faults]
) -> None:
    def away(*_: object) -> None:
        raise ConnectionError("no route")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it has begun")

    monkeypatch.setattr(stores, "SnapshotStore", lambda url, _: SnapshotStore(f"faulty://{url}"))
    monkeypatch.setattr(command, "lanes_before", never)
    faults.set(away)
    done = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["lanes", str(manifest)])

    assert done.exit_code == ExitCode.FAILED, "another try may succeed"
    store = f"faulty://{manifest.parent}/snapshots/orders.lane-0"
    assert f"cannot list manifests in {store}: ConnectionError: no route. See that the store can be" in done.stderr
