"""A replica that an upgrade has started catches up for as long as it needs, if it comes nearer."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tandem.local.catching_up import Standing
from tandem.local.observe import Observer
from tandem.local.plan import planned_processes
from tandem.local.rundir import ProcessState, RunDirectory, RunningJob, StartRequest
from tandem.local.status import ReplicaStatus
from tandem.local.upgrade import ObservedJob, Upgrade, UpgradeError
from tandem.manifest import Manifest, load
from tandem.process.info import ProcessInfo
from unit.local.heartbeat_job import heartbeat_job


class Supervised(RunDirectory):
    """A run directory whose supervisor starts at once what it is asked for, and sees at once what was stopped."""

    __slots__ = ()

    def ask_to_start(self, request: StartRequest) -> None:
        pid = 1 + [plan.name for plan in self._processes()].index(request.process)
        self._announce(request.process, "running", pid)
        ProcessInfo(request.process, "generator", pid, 0).write(self.path)

    def stop(self, pid: int, _: signal.Signals) -> None:
        """The process ends."""
        self._announce(next(one.name for one in self._processes() if one.pid == pid), "down", 0)

    def _processes(self) -> tuple[ProcessState, ...]:
        running = self.read()
        assert running is not None
        return running.processes

    def _announce(self, name: str, state: str, pid: int) -> None:
        running = self.read()
        assert running is not None
        states = tuple(replace(one, state=state, pid=pid) if one.name == name else one for one in running.processes)
        self.announce(replace(running, processes=states))


class Job:
    """Its replicas stand where `where` says, so many seconds after they were first asked; `clock_s` is the test's clock."""

    def __init__(self, where: Callable[[float], Standing]) -> None:
        self.now_s = 0.0
        self._where = where
        self._since: dict[str, float] = {}
        self._begun = 0

    def generation(self) -> int:
        return self._begun

    def standing(self, replica: str) -> Standing:
        standing = self._where(self.now_s - self._since.setdefault(replica, self.now_s))
        self._begun = max(self._begun, int(standing.ready))
        return standing

    def clock_s(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += 20 * seconds


@contextmanager
def upgraded(folder: Path, job: Job, said: list[str]) -> Iterator[Upgrade]:
    """An upgrade of a job of which no process runs, so that none is to be stopped."""
    old = heartbeat_job(folder)
    (folder / "new.yaml").write_text(old.path.read_text())
    directory, new = Supervised(folder / "run"), load(folder / "new.yaml")
    with directory.acquire(), pytest.MonkeyPatch.context() as patched:
        patched.setattr("tandem.local.sessions.send", directory.stop)
        directory.announce(RunningJob(old.name, old.path, os.getpid(), 0.0, down(old)))
        yield Upgrade(directory, old, new, "generation-1", job, said.append, clock_s=job.clock_s, sleep=job.sleep)


def down(job: Manifest) -> tuple[ProcessState, ...]:
    return tuple(ProcessState(plan.name, plan.kind) for plan in planned_processes(job))


def after(seconds: float, nearer: Callable[[float], Standing]) -> Callable[[float], Standing]:
    """At the head after so many seconds."""
    return lambda passed_s: Standing(ready=True, epoch=1) if passed_s >= seconds else nearer(passed_s)


def test_a_replica_whose_epoch_rises_has_all_the_time_that_it_needs_and_the_command_says_how_far_it_is(
    tmp_path: Path,
) -> None:
    job = Job(after(4_000, lambda s: Standing(epoch=100 + int(s), behind=4_000 - int(s), left_s=4_000 - s)))
    said: list[str] = []
    with upgraded(tmp_path, job, said) as upgrade:
        assert upgrade.run() == 1

    assert job.now_s >= 8_000, "two replicas, one after the other"
    assert "replica-1 is at epoch 130, 3,970 epochs behind, about 1 h left" in said
    assert "replica-1 is at the head" in said
    assert "replica-0 is at the head" in said
    assert len(said) < 8_000 / 30 + 10


def test_a_replica_that_restores_for_long_has_the_time_for_it_too(tmp_path: Path) -> None:
    job, said = Job(after(900, lambda s: Standing(restored_bytes=int(s * 1e8)))), list[str]()
    with upgraded(tmp_path, job, said) as upgrade:
        assert upgrade.run() == 1
    assert "replica-1 has restored 3,000 MB of its state, and computed no epoch yet" in said


@pytest.mark.parametrize(
    ("stands", "words"),
    [
        (Standing(), "it has no state yet"),
        (Standing(epoch=7, behind=12, waits=("Kafka",)), "it is at epoch 7, 12 epochs behind; it waits for Kafka"),
    ],
)
def test_one_that_comes_no_nearer_ends_it_after_five_minutes_with_where_it_stood(
    tmp_path: Path, stands: Standing, words: str
) -> None:
    job, said = Job(lambda _: stands), list[str]()
    with upgraded(tmp_path, job, said) as upgrade, pytest.raises(UpgradeError, match="come no nearer") as ended:
        upgrade.run()

    assert 300 <= job.now_s < 310
    assert words in str(ended.value)
    assert str(tmp_path / "run" / "replica-1.log") in str(ended.value)
    assert "the old generation runs on" in str(ended.value)


def test_one_whose_epoch_has_stopped_rising_has_five_minutes_from_then_on(tmp_path: Path) -> None:
    job, said = Job(lambda s: Standing(epoch=min(400, int(s)), behind=50)), list[str]()
    with upgraded(tmp_path, job, said) as upgrade, pytest.raises(UpgradeError, match="it is at epoch 400, 50 epochs"):
        upgrade.run()
    assert 700 <= job.now_s < 710


def computes(per_s: float, come_in: float, behind: int = 1_000) -> Callable[[float], Standing]:
    return lambda s: Standing(epoch=int(per_s * s), behind=behind + int((come_in - per_s) * s))


def test_one_that_computes_fewer_epochs_than_come_in_goes_back(tmp_path: Path) -> None:
    job, said = Job(computes(2.5, come_in=6.7)), list[str]()
    with upgraded(tmp_path, job, said) as upgrade, pytest.raises(UpgradeError) as ended:
        upgrade.run()
    assert 1_200 <= job.now_s < 1_220
    assert str(ended.value).startswith(
        "replica-1 falls behind: it computes 2.5 epochs/s, 6.7 come in, and it is at epoch"
    )
    assert str(ended.value).endswith("the old generation runs on")


def test_one_that_is_a_little_faster_than_what_comes_in_has_the_time_for_it(tmp_path: Path) -> None:
    job, said = Job(after(4_000, computes(6.8, come_in=6.7))), list[str]()
    with upgraded(tmp_path, job, said) as upgrade:
        assert upgrade.run() == 1


def test_while_it_reads_how_far_the_log_goes_it_is_nearer_than_later(tmp_path: Path) -> None:
    def reads(s: float) -> Standing:
        return Standing(epoch=int(100 * s), behind=min(int(s) * 2_000, 400_000 - int(90 * s)))

    job, said = Job(after(4_000, reads)), list[str]()
    with upgraded(tmp_path, job, said) as upgrade:
        assert upgrade.run() == 1


def test_what_it_restores_is_counted_where_its_own_manifest_keeps_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = heartbeat_job(tmp_path)
    (tmp_path / "new.yaml").write_text(old.path.read_text() + "  checkpoint: {directory: ./others}\n")
    new = load(tmp_path / "new.yaml")
    restored = new.checkpoint_directory / "flights.replica-1.1a" / "checkpoint"
    restored.mkdir(parents=True)
    (restored / "1.zip").write_bytes(b"state")
    starting = ReplicaStatus("replica-1", "running", 1, True, 0, "", "flights.replica-1.1a")
    monkeypatch.setattr(Observer, "look", lambda _: SimpleNamespace(replicas=(starting,)))

    assert ObservedJob(old, RunDirectory(tmp_path / "run"), new).standing("replica-1").restored_bytes == 5
