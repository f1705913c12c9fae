"""What goes wrong in the supervisor's own bookkeeping, or befalls one process, ends no other."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tandem.local.keeping import Crew, Keeper, end_all
from tandem.local.restarts import RestartPolicy
from tandem.local.rundir import RunDirectory, StartRequest
from tandem.process.ending import End, EndKind
from tandem.process.info import ExitCode, ProcessInfo
from tandem.replica.leftovers import alive
from tandem.waiting import Deadline, wait_until
from unit.local.heartbeat_job import heartbeat_job
from unit.replica.test_leftovers import incarnation

POLICY = RestartPolicy(first_delay_s=0.01, max_delay_s=0.01, most_in_a_row=3)


class Job:
    """Two replicas and a generator, none of which does anything."""

    def __init__(self, folder: Path) -> None:
        manifest = heartbeat_job(folder)
        self.run = folder / "run"
        directory = RunDirectory(self.run)
        self.crew = Crew(manifest, directory, lambda _plan: ("/bin/sleep", "600"), pin_to_cores=False)
        self.keeper = Keeper(manifest, directory, self.crew, POLICY)
        self.keeper.begin()
        self.keeper.start(self.crew)
        self.keeper.announce()

    def said(self) -> str:
        return "\n".join(f"{event.process}: {event.text}" for event in self.keeper.events)

    def looks_until(self, holds: Callable[[], bool]) -> None:
        """Look again and again; the job goes on meanwhile."""

        def look() -> bool:
            assert self.keeper.look(restarting=True) is None
            return holds()

        assert wait_until(look, Deadline(10)), self.said()

    def kill(self, name: str) -> int:
        """Kill a run; its pid."""
        child = self.crew.running(name)
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait(10)
        return child.pid

    def written_pids(self) -> list[int]:
        """Those that other commands see."""
        written = json.loads((self.run / "job.json").read_text())
        return [process["pid"] for process in written["processes"]]

    def ends(self, name: str, kind: EndKind) -> None:
        """A run ends, and says that it refuses."""
        child = self.crew.running(name)
        End(kind, "no", pid=child.pid).leave(self.run, name)
        ProcessInfo(name, "replica", child.pid, 0).write(self.run)
        child._popen.terminate()
        assert child.wait(10)
        child._popen.returncode = ExitCode.REFUSED


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What replicas leave here is theirs."""
    monkeypatch.setattr("tandem.manifest.loading.default_checkpoint_directory", lambda _job: tmp_path / "states")
    monkeypatch.setattr("tandem.local.keeping.java_folders", lambda: tmp_path / "java")


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path)
    try:
        yield made
    finally:
        end_all(made.crew.children, 5.0)
        made.keeper.end()


def test_a_killed_process_is_started_again_also_where_that_cannot_be_written_down(job: Job) -> None:
    (job.run / "job.json.tmp").mkdir()
    killed = job.kill("replica-0")

    job.looks_until(lambda: job.crew.slot("replica-0").running)
    assert job.said().count("supervisor: cannot write into") == 1
    assert RunDirectory(job.run).read() is not None

    (job.run / "job.json.tmp").rmdir()
    job.looks_until(lambda: killed not in job.written_pids())


def test_a_request_that_nobody_can_read_asks_for_nothing(job: Job) -> None:
    (job.run / "start").mkdir()
    (job.run / "start" / "replica-0").write_text("")

    job.looks_until(lambda: not list((job.run / "start").iterdir()))


def test_a_process_that_this_machine_cannot_start_is_tried_again_and_then_given_up_alone(job: Job) -> None:
    slot = job.crew.slot("replica-1")
    log = slot.command.log_file
    log.unlink(missing_ok=True)
    log.mkdir()  # so that it cannot be opened
    job.kill("replica-1")

    job.looks_until(lambda: slot.lost)
    assert "it cannot be started" in slot.state.reason

    RunDirectory(job.run).ask_to_start(StartRequest("replica-1"))
    job.looks_until(lambda: job.said().count("replica-1: failed: it cannot be started") > POLICY.most_in_a_row + 1)
    assert job.said().count("replica-1: started") == 1, "it says so of a process that was not"
    assert job.crew.slot("replica-0").running


@pytest.mark.parametrize("kind", [EndKind.CHANGED, EndKind.UNREACHABLE])
def test_a_refusal_at_the_first_start_leaves_a_replica_alone_that_came_up(job: Job, kind: EndKind) -> None:
    up = job.crew.running("replica-0").pid
    ProcessInfo("replica-0", "replica", up, 0, came_up=True).write(job.run)
    job.ends("replica-1", kind)

    job.looks_until(lambda: "refused to run" in job.said())
    assert job.crew.running("replica-0").pid == up


def test_an_orderer_that_came_up_does_not_say_that_replicas_can(job: Job) -> None:
    ProcessInfo("generator-0", "generator", job.crew.running("generator-0").pid, 0, came_up=True).write(job.run)
    job.ends("replica-1", EndKind.UNREACHABLE)

    outcome = job.keeper.look(restarting=True)
    assert outcome is not None
    assert outcome.code == ExitCode.REFUSED


def test_what_a_killed_replica_left_goes_with_the_job_and_its_state_stays(tmp_path: Path) -> None:
    states, java = tmp_path / "states", tmp_path / "java"
    killed = incarnation(states, "flights.replica-0.aa", epochs=2)
    incarnation(java, "0123456789ab.jvm", epochs=0)
    (states / "static-tables" / "flights").mkdir(parents=True)
    (states / "static-tables" / "flights" / "table").write_text("kept")
    job = Job(tmp_path)
    with alive(states / "flights.replica-1.bb"):  # of another run of the job on this machine
        (states / "flights.replica-1.bb" / "epoch.arrow").write_text("rows")
        end_all(job.crew.children, 5.0)
        job.keeper.end()

        assert sorted(path.name for path in killed.iterdir()) == ["checkpoint", "lineage", "lock"]
        assert list(java.iterdir()) == []
        assert (states / "static-tables" / "flights" / "table").read_text() == "kept"
        assert (states / "flights.replica-1.bb" / "epoch.arrow").read_text() == "rows"


def test_a_folder_that_cannot_be_looked_at_keeps_no_job_from_ending(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_folder: Path) -> int:
        raise OSError("Input/output error")

    monkeypatch.setattr("tandem.local.keeping.remove_of_all_dead", fails)
    end_all(job.crew.children, 5.0)
    job.keeper.end()
    assert RunDirectory(job.run).read() is None
