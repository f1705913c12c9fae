"""What an upgrade refuses, with a command that can be followed, and with whom it begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.cli.main import app
from tandem.local.catching_up import Standing
from tandem.local.plan import planned_processes
from tandem.local.rundir import ProcessState, RunDirectory, RunningJob
from tandem.local.upgrade import Upgrade, UpgradeError
from tandem.manifest import Manifest, load
from unit.local.heartbeat_job import heartbeat_job


class Begun:
    """A job whose new generation has begun."""

    def generation(self) -> int:
        return 4

    def standing(self, replica: str) -> Standing:  # noqa: ARG002
        return Standing(ready=True)


class Unasked:
    """The log and the metrics of a job: nothing of them is of interest here, but the generation."""

    def generation(self) -> int:
        return 3

    def standing(self, replica: str) -> Standing:
        raise AssertionError(replica)


class BegunWithError(Exception):
    """An upgrade has begun with a replica: far enough for a test."""


def begun(text: str) -> None:
    raise BegunWithError(text)


@contextmanager
def running(job: Manifest, folder: Path, **states: str) -> Iterator[RunDirectory]:
    """The job looks as if it ran; `states` are those of processes that do not, with _ for -."""
    directory = RunDirectory(folder / "run")
    with directory.acquire():
        processes = tuple(
            ProcessState(plan.name, plan.kind, states.get(plan.name.replace("-", "_"), "running"))
            for plan in planned_processes(job)
        )
        directory.announce(RunningJob(job.name, job.path, os.getpid(), 0.0, processes))
        yield directory


def upgrade(directory: RunDirectory, job: Manifest, same_files: bool) -> Upgrade:
    return Upgrade(directory, job, job, "generation-4", Unasked(), begun, same_files=same_files)


def test_a_file_that_was_changed_in_its_place_is_no_upgrade_but_one_after_a_stop(tmp_path: Path) -> None:
    job = heartbeat_job(tmp_path)
    with running(job, tmp_path) as directory, pytest.raises(UpgradeError, match="this very file") as refused:
        upgrade(directory, job, same_files=False).run()
    assert f"tandem run {job.path} --accept-changes" in str(refused.value)


def test_where_only_a_table_has_changed_the_file_may_be_the_same_and_the_last_replica_goes_first(
    tmp_path: Path,
) -> None:
    job = heartbeat_job(tmp_path, replicas=3)
    with running(job, tmp_path) as directory, pytest.raises(BegunWithError, match="replica-2 starts again"):
        upgrade(directory, job, same_files=True).run()


def test_a_replica_that_was_given_up_goes_first_so_that_nobody_who_publishes_is_stopped_for_it(tmp_path: Path) -> None:
    job = heartbeat_job(tmp_path, replicas=3)
    with (
        running(job, tmp_path, replica_0="given up") as directory,
        pytest.raises(BegunWithError, match="replica-0 starts again"),
    ):
        upgrade(directory, job, same_files=True).run()


def test_one_replica_alone_is_upgraded_by_a_stop(tmp_path: Path) -> None:
    job = heartbeat_job(tmp_path, replicas=1)
    with running(job, tmp_path) as directory, pytest.raises(UpgradeError, match="one replica has nobody") as refused:
        upgrade(directory, job, same_files=True).run()
    assert f"tandem run {job.path} --accept-changes" in str(refused.value)


def test_the_command_says_by_which_other_one_a_stopped_job_goes_on(tmp_path: Path) -> None:
    job = heartbeat_job(tmp_path)

    result = CliRunner().invoke(app, ["upgrade", str(job.path), "--run-directory", str(tmp_path / "run")])

    assert result.exit_code == 1
    assert result.output.startswith(f"Job flights is not running in {tmp_path / 'run'}. To continue a stopped job")
    assert f"tandem run {job.path} --accept-changes" in result.output


def test_a_running_job_does_not_go_on_with_changes_by_a_second_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = heartbeat_job(tmp_path)
    monkeypatch.setattr("tandem.cli.run.Jars.resolve", lambda: None)
    monkeypatch.setattr("tandem.cli.run.changed_start", begun)
    command = ["run", str(job.path), "--accept-changes", "--run-directory", str(tmp_path / "run"), "--no-screen"]
    with running(job, tmp_path):
        result = CliRunner().invoke(app, command)

    assert result.exit_code == 78
    assert f"flights is running. It goes on with what has changed by `tandem upgrade {job.path}`" in result.output


def test_a_file_is_the_same_by_whatever_path_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = heartbeat_job(tmp_path)
    monkeypatch.chdir(tmp_path)
    by_name = load(Path("flights.yaml"))
    with running(job, tmp_path) as directory, pytest.raises(UpgradeError, match="this very file"):
        Upgrade(directory, job, by_name, "generation-4", Unasked(), begun).run()


def test_an_upgrade_that_was_interrupted_is_finished_with_those_that_it_has_left(tmp_path: Path) -> None:
    job = heartbeat_job(tmp_path, replicas=3)
    (tmp_path / "new.yaml").write_text(job.path.read_text())
    new = load(tmp_path / "new.yaml")
    directory, said = RunDirectory(tmp_path / "run"), list[str]()
    with directory.acquire():

        def runs(*moved: str) -> Upgrade:
            states = tuple(
                ProcessState(plan.name, plan.kind, "running", manifest=str(new.path))
                if plan.name in moved
                else ProcessState(plan.name, plan.kind, manifest=str(job.path))
                for plan in planned_processes(job)
            )
            directory.announce(RunningJob(job.name, job.path, os.getpid(), 0.0, states))
            return Upgrade(directory, job, new, "generation-4", Begun(), said.append, step_deadline_s=0.0)

        names = [plan.name for plan in planned_processes(job)]
        assert runs().left == runs(*names).left == ()
        assert runs("replica-2").left == ("replica-0", "replica-1", "generator-0")

        with pytest.raises(UpgradeError, match="replica-0 was not started"):
            runs("replica-2").finish()
        assert said == ["replica-0 starts again"]
        (request,) = directory.take_requests()
        assert (request.process, request.on_trial) == ("replica-0", False)
        assert str(new.path) in request.argv
        assert "generation-4" not in request.argv, "it is to begin no generation"

        finished = runs("replica-2", "replica-1", "replica-0")
        with pytest.raises(UpgradeError, match="generator-0 was not started"):
            finished.finish()
        proved = {one.process: one for one in directory.take_requests()}
        assert {name for name in proved if "replica" in name} == {"replica-0", "replica-1", "replica-2"}
        assert all("generation-4" not in one.argv and not one.on_trial for one in proved.values())
        assert proved["replica-0"].manifest == str(new.path)
