"""A job's processes end without a trace, and the job's place is free for the next run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.supervised import HAS_WORKERS, LIVES, MakeJob, started, supervised, workers_of, write_manifest
from integration.waiting import PATIENCE_S, eventually, gone
from tandem.local import AlreadyRunningError, LocalJob

pytestmark = pytest.mark.integration

IGNORES_SIGTERM = LIVES.replace("sys.exit(0)", "None")


@pytest.fixture
def make_job(tmp_path: Path, topic_prefix: str) -> Iterator[MakeJob]:
    """Makes a job with two replicas and a generator that run the given Python code; stopped at the end of the test."""
    with supervised(tmp_path, topic_prefix) as make:
        yield make


@pytest.mark.parametrize("by_whom", ["supervisor", "stranger"])
def test_nothing_that_a_killed_process_started_survives_it(make_job: MakeJob, by_whom: str) -> None:
    job = started(make_job(replica_0=HAS_WORKERS))
    pid, workers = job.process("replica-0").pid, workers_of(job, "replica-0")
    job.restarting = False

    if by_whom == "supervisor":
        job.kill("replica-0")
    else:
        os.kill(pid, signal.SIGKILL)

    assert job.wait_until(lambda: job.process("replica-0").state == "down", PATIENCE_S)
    assert all(map(gone, [pid, *workers]))


def test_stopping_waits_for_nobody_for_ever(make_job: MakeJob) -> None:
    job = started(make_job(replica_0=IGNORES_SIGTERM, replica_1=HAS_WORKERS))
    pids = [process.pid for process in job.processes()] + workers_of(job, "replica-1")

    job.stop(deadline_s=5.0)

    assert all(map(gone, pids))
    assert {process.name: process.exit_code for process in job.processes()} == {
        "replica-0": -signal.SIGKILL,
        "replica-1": 0,
        "generator-0": 0,
    }


def test_a_stopped_job_can_be_started_again(make_job: MakeJob) -> None:
    job = started(make_job())
    job.stop()

    started(job)

    assert all(process.running for process in job.processes())


def test_a_second_run_in_the_same_place_is_refused_while_the_first_one_lasts(make_job: MakeJob) -> None:
    first, second = started(make_job()), make_job()

    with pytest.raises(AlreadyRunningError, match=rf"runs already \(pid {os.getpid()}\) in .*Stop it first"):
        second.start()

    first.stop()
    started(second)


def test_the_end_of_a_supervisor_is_the_end_of_its_processes(tmp_path: Path, topic_prefix: str) -> None:
    manifest = write_manifest(tmp_path, topic_prefix)
    code = f"""
        import sys, threading
        from tandem.local import LocalJob
        job = LocalJob({str(manifest)!r}, {str(tmp_path / "run")!r},
                       argv_of=lambda plan: (sys.executable, "-S", "-c", {LIVES!r}))
        print(*(process.pid for process in job.start().processes()), flush=True)
        threading.Event().wait()
    """
    supervisor = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    with supervisor:
        assert supervisor.stdout is not None
        pids = [int(pid) for pid in supervisor.stdout.readline().split()]
        supervisor.kill()

    assert len(pids) == 3
    assert eventually(lambda: all(map(gone, pids)))
    with LocalJob(manifest, tmp_path / "run", argv_of=lambda _: (sys.executable, "-c", LIVES)) as job:
        assert len(job.processes()) == 3
