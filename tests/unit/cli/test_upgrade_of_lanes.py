"""`tandem upgrade` of a job with lanes: all are looked at before any is changed, and another try goes on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from tandem.cli import upgrade as command
from tandem.cli.upgrade import upgrade
from tandem.local.upgrade import UpgradeError
from tandem.manifest import Manifest, load
from tandem.process.info import ExitCode
from unit.local.test_lane_checks import JOB, begun, written


class Lanes:
    """Four lanes that run; `changed`: those whose generation is not that of the manifest."""

    def __init__(self, manifest: Manifest, changed: set[str], fails: str = "") -> None:
        self.manifest, self.changed, self.fails = manifest, changed, fails
        self.upgraded: list[str] = []

    def find_job(self, name: str, *_: object) -> tuple[Any, Any]:
        lane = next(lane for lane in self.manifest.lanes if lane.name == name)
        return SimpleNamespace(), SimpleNamespace(loaded=lambda: lane, manifest=lane.path, processes=())

    def observed(self, lane: Manifest, *_: object) -> Any:
        return SimpleNamespace(config=lambda: begun(lane))

    def what_has_changed(self, lane: Manifest, *_: object) -> str:
        return "the code" if lane.name in self.changed else ""

    def upgrade(self, _: object, old: Manifest, *__: object, **___: object) -> Any:
        def run() -> int:
            if old.name == self.fails:
                raise UpgradeError("it does not get on")
            self.upgraded.append(old.name)
            self.changed.discard(old.name)
            return 1

        return SimpleNamespace(run=run, left=())


@pytest.fixture
def lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lanes:
    job = written(tmp_path, JOB)
    made = Lanes(job, {lane.name for lane in job.lanes})
    monkeypatch.setattr(command, "find_job", made.find_job)
    monkeypatch.setattr(command, "ObservedJob", made.observed)
    monkeypatch.setattr(command, "what_has_changed", made.what_has_changed)
    monkeypatch.setattr(command, "has_other_files", lambda *_: True)
    monkeypatch.setattr(command, "Upgrade", made.upgrade)
    return made


def upgraded(path: Path) -> int:
    try:
        upgrade(path, "a-savepoint", None, None)
    except typer.Exit as left:
        return left.exit_code
    return 0


def test_another_try_goes_on_where_one_has_failed(lanes: Lanes, capsys: pytest.CaptureFixture[str]) -> None:
    lanes.fails = "orders.lane-2"
    assert upgraded(lanes.manifest.path) == ExitCode.FAILED
    said = " ".join(capsys.readouterr().err.split())
    assert "not upgraded: orders.lane-2: it does not get on" in said
    assert "orders.lane-0, orders.lane-1 run the new generation" in said

    lanes.fails = ""
    assert upgraded(lanes.manifest.path) == 0
    assert lanes.upgraded == [f"orders.lane-{n}" for n in range(4)]


def test_what_is_refused_of_one_lane_changes_no_other(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_job(name: str, *_: object) -> tuple[Any, Any]:
        if name == "orders.lane-3":
            raise typer.Exit(ExitCode.FAILED)  # it does not run here
        return lanes.find_job(name)

    monkeypatch.setattr(command, "find_job", find_job)
    assert upgraded(lanes.manifest.path) == ExitCode.FAILED
    assert lanes.upgraded == []


def test_if_nothing_has_changed_in_any_lane_that_is_said(lanes: Lanes, capsys: pytest.CaptureFixture[str]) -> None:
    lanes.changed.clear()
    assert upgraded(lanes.manifest.path) == ExitCode.FAILED
    assert "nothing has changed that the job's rows depend on" in " ".join(capsys.readouterr().err.split())


def test_another_number_of_lanes_is_refused_before_anything_stops(
    lanes: Lanes, capsys: pytest.CaptureFixture[str]
) -> None:
    other = lanes.manifest.path.with_name("two.yaml")
    other.write_text(lanes.manifest.path.read_text().replace("lanes: 4", "lanes: 2"))
    assert load(other).spec.lanes == 2
    assert upgraded(other) == ExitCode.REFUSED
    assert lanes.upgraded == []
    assert "an upgrade cannot change spec.lanes, which is 2. Set it to 4" in " ".join(capsys.readouterr().err.split())
