"""`tandem upgrade` where the files of the job that runs were changed in place: it could not go back to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from tandem.cli import upgrade as command
from tandem.cli.upgrade import upgrade
from tandem.jobapi.frozen_code import keep
from tandem.local import changes
from tandem.local.rundir import ProcessState, RunningJob
from tandem.manifest import Manifest, find_code, load
from tandem.manifest.fact_hashes import hash_of_module, hashes
from tandem.manifest.identity import MODULE, parts_of
from tandem.process.info import ExitCode, RefusedError
from tandem.protocol.values import Config, Offsets
from tandem.replica.identity_parts import identity_of, plan_parts, with_plan
from unit.local.heartbeat_job import heartbeat_job


class Running:
    """A job that runs `flights.yaml`, whose code imports `helpers`; `moved`: what upgrades were begun with."""

    def __init__(self, folder: Path) -> None:
        (folder / "helpers.py").write_text("RATE = 1\n")
        self.folder, self.job = folder, heartbeat_job(folder)
        self.accepted = self.config()
        self.processes = (ProcessState("replica-0", "replica", "running", manifest=str(self.job.path)),)
        self.plans, self.moved = list[str](), list[tuple[str, str]]()

    def config(self) -> Config:
        return Config(0, with_plan(changes._identity(self.job), self.plan(self.job)), Offsets(), "replica-0")

    def plan(self, manifest: Manifest) -> Mapping[str, str]:
        content = (manifest.base / "helpers.py").read_bytes()
        return plan_parts(hashes({f"{MODULE}helpers": hash_of_module(content)}), {})

    def found_plan(self, manifest: Manifest) -> Mapping[str, str]:
        self.plans.append(manifest.path.name)
        return self.plan(manifest)

    def find_job(self, *_: object) -> tuple[object, RunningJob]:
        return SimpleNamespace(), RunningJob("flights", self.job.path, 1, 0.0, self.processes)

    def upgraded(self, _screen: object, lane: command._Lane, *_: object) -> None:
        self.moved.append((lane.new.path.name, lane.change))

    def second(self, code: str = "", helpers: str = "") -> Path:
        """A second manifest, with code of its own, or in a folder of its own."""
        folder = self.folder / "new"
        folder.mkdir()
        heartbeat_job(folder)
        (folder / "helpers.py").write_text(helpers or (self.folder / "helpers.py").read_text())
        if code:
            (folder / "job.py").write_text(code)
        return folder / "flights.yaml"


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    monkeypatch.setattr("tandem.manifest.loading.default_checkpoint_directory", lambda name: tmp_path / "kept" / name)
    made = Running(tmp_path)
    monkeypatch.setattr(command, "find_job", made.find_job)
    monkeypatch.setattr(command, "ObservedJob", lambda *_: SimpleNamespace(config=lambda: made.accepted))
    monkeypatch.setattr(command, "_upgrade", made.upgraded)
    monkeypatch.setattr(command._Lane, "left", ())
    monkeypatch.setattr(changes, "found_plan", made.found_plan)
    return made


NEW = "def job(events):\n    return events.select('value')\n"


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(typer.Exit) as left:
        upgrade(path, "", None, None)
    assert left.value.exit_code == ExitCode.REFUSED
    return " ".join(capsys.readouterr().err.split()).replace(" ", "")


def test_code_that_both_manifests_name_is_not_changed_in_place(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    second = running.folder / "flights-2.yaml"
    second.write_text(running.job.path.read_text())
    (running.folder / "job.py").write_text(NEW)
    said = refused(second, capsys)
    assert f"changedinplacesincethejobruns:{running.folder / 'job.py'}." in said
    assert f"tandemrun{second}--accept-changes" in said
    assert "thejobcontinuesunchanged" in said
    assert running.moved == []


def test_a_module_that_the_code_imports_is_not_changed_in_place(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    (running.folder / "helpers.py").write_text("RATE = 2\n")
    assert f"changedinplacesincethejobruns:{running.folder / 'helpers.py'}." in refused(running.job.path, capsys)
    assert f"{running.folder / 'helpers.py'}." in refused(running.second(NEW), capsys)
    assert running.moved == []


def test_the_manifest_is_not_changed_in_place(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    running.job.path.write_text(running.job.path.read_text().replace("name: out,", "name: others,"))
    running.job = load(running.job.path)
    assert f"changedinplacesincethejobruns:{running.job.path}." in refused(running.second(NEW), capsys)


def test_code_that_is_gone_is_named(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    second = running.second(NEW)
    (running.folder / "job.py").unlink()
    assert f"thecodethatthejobrunsisgone:cannotread{running.folder / 'job.py'}" in refused(second, capsys)


def test_a_module_that_replicas_have_read_beside_the_code_is_gone(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    scratch = running.job.checkpoint_directory / "flights.replica-0.1a" / "scratch"
    scratch.mkdir(parents=True)
    keep(running.job, find_code(running.job), scratch)
    second = running.second(NEW)
    (running.folder / "helpers.py").unlink()
    assert "changedinplacesincethejobruns:themodulehelpers,whichisgone." in refused(second, capsys)


def test_a_module_that_is_nowhere_may_be_where_only_the_replicas_look(running: Running) -> None:
    second = running.second(NEW)
    (running.folder / "helpers.py").unlink()
    upgrade(second, "", None, None)
    assert len(running.moved) == 1


def test_a_plan_that_cannot_be_made_any_more_keeps_nobody_from_code_that_makes_one(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found_plan(_: Manifest) -> Mapping[str, str]:
        raise RefusedError("job.py:1: $RATES is not set")

    monkeypatch.setattr(changes, "found_plan", found_plan)
    upgrade(running.second(NEW), "", None, None)
    assert len(running.moved) == 1


def test_modules_that_another_tandem_has_counted_otherwise_are_not_compared(running: Running) -> None:
    counted = {**running.plan(running.job), "plan: format": "1", f"plan: {MODULE}helpers": "another hash"}
    running.accepted = Config(0, with_plan(running.accepted.digest, counted), Offsets(), "replica-0")
    upgrade(running.second(NEW), "", None, None)
    assert len(running.moved) == 1


def test_changes_in_files_of_their_own_are_upgrades(running: Running) -> None:
    second = running.second(NEW, helpers="RATE = 2\n")
    upgrade(second, "", None, None)
    assert [name for name, _ in running.moved] == ["flights.yaml"]
    assert running.plans == [], "the new one's code shows that it is another"


def test_a_table_that_has_changed_is_an_upgrade_to_the_same_file_for_which_one_plan_is_made(running: Running) -> None:
    before = plan_parts({f"{MODULE}helpers": running.plan(running.job)[f"plan: {MODULE}helpers"]}, {"rates": "1"})
    running.accepted = Config(0, with_plan(running.accepted.digest, before), Offsets(), "replica-0")
    upgrade(running.job.path, "", None, None)
    assert running.moved == [("flights.yaml", "different is the static table rates")]
    assert running.plans == ["flights.yaml"]


def test_other_versions_are_in_no_file_of_the_job(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    second = running.second(NEW)
    monkeypatch.setattr("tandem.manifest.identity.installed_versions", lambda: {"pyspark": "5.0"})
    upgrade(second, "", None, None)
    assert len(running.moved) == 1


def test_a_time_zone_that_an_earlier_tandem_did_not_count_has_not_changed(running: Running) -> None:
    zone = "  spark: {conf: {spark.sql.session.timeZone: Europe/Vienna}}\n"
    running.job.path.write_text(running.job.path.read_text() + zone)
    running.job = load(running.job.path)
    parts = parts_of(running.config().digest)
    assert parts.pop("timeZone")
    running.accepted = Config(0, identity_of(parts), Offsets(), "replica-0")
    upgrade(running.second(NEW), "", None, None)
    assert len(running.moved) == 1


def test_a_job_that_an_upgrade_left_half_way_goes_back_to_its_old_manifest(running: Running) -> None:
    new = running.second(NEW)
    other = load(new)
    running.accepted = Config(1, changes._identity(other), Offsets(), "replica-1")
    running.processes += (ProcessState("replica-1", "replica", "running", manifest=str(new)),)
    upgrade(running.job.path, "", None, None)
    assert [name for name, _ in running.moved] == ["flights.yaml"]
