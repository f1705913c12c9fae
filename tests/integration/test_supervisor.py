"""A job's processes are kept alive, and ended without a trace. What the processes here do is written below: very little."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from tandem.cli.main import app
from tandem.embedded.waiting import Deadline, wait_until
from tandem.local import (
    AlreadyRunningError,
    JobEndedError,
    LocalJob,
    NotRunningError,
    RestartPolicy,
    UnknownProcessError,
)
from tandem.local.observe import Observer
from tandem.local.plan import PlannedProcess
from tandem.process import ExitCode

pytestmark = pytest.mark.integration

PATIENCE_S = 30.0
HASTY = RestartPolicy(first_delay_s=0.05, max_delay_s=0.1, healthy_s=60.0, most_in_a_row=3)

LIVES = """
import signal, subprocess, sys, time
print('{"event": "started"}', flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True: signal.pause()
"""
FAILS = 'print(\'{"event": "failed", "reason": "it broke", "kind": "RuntimeError"}\'); raise SystemExit(1)'
REFUSES = 'print(\'{"event": "refused", "reason": "topic in does not exist", "kind": "X"}\'); raise SystemExit(78)'
DIVERGES = 'print(\'{"event": "refused", "reason": "row 3 differs", "kind": "DivergedError"}\'); raise SystemExit(78)'
MISUSED = 'print("m.yaml:3: spec.replicas is 0"); raise SystemExit(2)'
ENDS_WELL = "raise SystemExit(0)"
IGNORES_SIGTERM = LIVES.replace("sys.exit(0)", "None")
HAS_WORKERS = f"""
import os, subprocess, sys
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
same_group, own_group = subprocess.Popen(sleeper), subprocess.Popen(sleeper, process_group=0)
print(same_group.pid, own_group.pid, flush=True)
{LIVES}
"""

MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: NAME}
spec:
  job: {file: job.py}
  replicas: 2
  kafka: {bootstrapServers: "localhost:1"}
  sources: [{name: events, topics: [NAME-in]}]
  sinks: [{name: out, topic: NAME-out}]
  ordering: {mode: heartbeat, generators: 1}
"""

MakeJob = Callable[..., LocalJob]


def write_manifest(folder: Path, name: str) -> Path:
    path = folder / "job.yaml"
    path.write_text(MANIFEST.replace("NAME", name))
    return path


@pytest.fixture
def make_job(tmp_path: Path, topic_prefix: str) -> Iterator[MakeJob]:
    """Makes a job with two replicas and a generator that run the given Python code; stopped at the end of the test."""
    made: list[LocalJob] = []

    def make(everyone: str = LIVES, policy: RestartPolicy = HASTY, pin: bool = False, **codes: str) -> LocalJob:
        def argv_of(plan: PlannedProcess) -> tuple[str, ...]:
            return (sys.executable, "-S", "-c", codes.get(plan.name.replace("-", "_"), everyone))

        job = LocalJob(write_manifest(tmp_path, topic_prefix), tmp_path / "run", pin, policy, argv_of=argv_of)
        made.append(job)
        return job

    yield make
    for job in made:
        job.stop(deadline_s=0.2)


def eventually(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    return wait_until(condition, Deadline(within_s))


def gone(pid: int) -> bool:
    """Whether nothing of the process is left but, at most, an entry in a table."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def started(job: LocalJob) -> LocalJob:
    """The job, all of whose processes handle signals by now."""
    job.start()
    assert job.wait_until(lambda: all(map(job.is_up, job.names)), PATIENCE_S)
    return job


def workers_of(job: LocalJob, name: str) -> list[int]:
    return [int(pid) for pid in job.log_file(name).read_text().splitlines()[0].split()]


def test_a_killed_process_is_back_at_once_as_another_one(make_job: MakeJob) -> None:
    job = started(make_job())
    before = job.process("replica-0")

    job.kill("replica-0")

    assert job.wait_until(lambda: job.process("replica-0").restarts == 1, 2.0)
    after = job.process("replica-0")
    assert (after.state, after.pid != before.pid) == ("running", True)
    assert [job.process(name).restarts for name in ("replica-1", "generator-0")] == [0, 0]


def test_a_process_that_somebody_else_killed_is_back_too(make_job: MakeJob) -> None:
    job = started(make_job())

    os.kill(job.process("generator-0").pid, signal.SIGKILL)

    assert job.wait_until(lambda: job.process("generator-0").restarts == 1 and job.is_up("generator-0"), PATIENCE_S)


@pytest.mark.parametrize("by_whom", ["supervisor", "stranger"])
def test_nothing_that_a_killed_process_started_survives_it(make_job: MakeJob, by_whom: str) -> None:
    job = started(make_job(replica_0=HAS_WORKERS))
    pid, workers = job.process("replica-0").pid, workers_of(job, "replica-0")
    job.restarting = False

    if by_whom == "supervisor":
        job.kill("replica-0")
    else:
        os.kill(pid, signal.SIGKILL)

    assert job.wait_until(lambda: job.process("replica-0").state == "down", 2.0)
    assert all(map(gone, [pid, *workers]))


def test_a_process_that_keeps_failing_is_given_up_while_the_job_goes_on(make_job: MakeJob) -> None:
    job = make_job(replica_1=FAILS).start()

    assert job.wait_until(lambda: job.process("replica-1").state == "given up", PATIENCE_S)
    given_up = job.process("replica-1")
    assert (given_up.restarts, given_up.exit_code, given_up.reason) == (3, ExitCode.FAILED, "it broke")
    assert (job.outcome, job.process("replica-0").running) == (None, True)
    assert any("restart 3 in a row" in event.text for event in job.events())


def test_a_job_whose_replicas_all_keep_failing_stops_and_says_why(make_job: MakeJob) -> None:
    job = make_job(FAILS, generator_0=LIVES).start()

    outcome = job.wait(PATIENCE_S)

    assert outcome is not None
    assert outcome.code == ExitCode.FAILED
    assert outcome.reason.endswith("failed after 3 restarts: it broke")
    assert not any(process.running for process in job.processes())


@pytest.mark.parametrize(
    ("code", "exit_code", "reason"),
    [
        (REFUSES, ExitCode.REFUSED, "replica-1 refused to run: topic in does not exist"),
        (MISUSED, ExitCode.USAGE, "replica-1 was misused: m.yaml:3: spec.replicas is 0"),
    ],
)
def test_a_process_that_refuses_stops_the_job_in_its_own_words(
    make_job: MakeJob, code: str, exit_code: ExitCode, reason: str
) -> None:
    job = make_job(replica_1=code).start()

    with pytest.raises(JobEndedError) as ended:
        job.wait_until(lambda: False, PATIENCE_S)

    assert (ended.value.code, str(ended.value)) == (exit_code, reason)
    assert [process.restarts for process in job.processes()] == [0, 0, 0]
    assert not any(process.running for process in job.processes())


def test_a_replica_that_diverged_leaves_the_field_to_the_other(make_job: MakeJob) -> None:
    job = make_job(replica_0=DIVERGES).start()

    assert job.wait_until(lambda: job.process("replica-0").state == "given up", PATIENCE_S)
    assert job.process("replica-0").reason == "row 3 differs"
    assert (job.outcome, job.process("replica-1").running) == (None, True)


def test_when_every_replica_ended_well_so_has_the_job(make_job: MakeJob) -> None:
    outcome = make_job(ENDS_WELL, generator_0=LIVES).start().wait(PATIENCE_S)

    assert outcome is not None
    assert outcome.code == ExitCode.OK


def test_a_paused_process_is_frozen_with_its_workers_until_it_is_resumed(make_job: MakeJob) -> None:
    job = started(make_job(replica_0=HAS_WORKERS))
    family = [job.process("replica-0").pid, *workers_of(job, "replica-0")]

    job.pause("replica-0")
    assert eventually(lambda: all(psutil.Process(pid).status() == psutil.STATUS_STOPPED for pid in family))
    assert job.process("replica-0").state == "paused"

    job.resume("replica-0")
    assert eventually(lambda: not any(psutil.Process(pid).status() == psutil.STATUS_STOPPED for pid in family))
    assert (job.process("replica-0").state, job.process("replica-0").restarts) == ("running", 0)


def test_a_process_stays_down_on_request_until_it_is_started(make_job: MakeJob) -> None:
    job = started(make_job())

    job.kill("replica-0", stay_down=True)
    assert job.wait_until(lambda: job.process("replica-0").state == "down", PATIENCE_S)
    job.kill("replica-1")  # a later ending, after whose restart the first would be up again too
    assert job.wait_until(lambda: job.is_up("replica-1"), PATIENCE_S)
    assert job.process("replica-0").state == "down"

    job.start("replica-0")
    assert job.wait_until(lambda: job.is_up("replica-0"), PATIENCE_S)


def test_stopping_waits_for_nobody_for_ever(make_job: MakeJob) -> None:
    job = started(make_job(replica_0=IGNORES_SIGTERM, replica_1=HAS_WORKERS))
    pids = [process.pid for process in job.processes()] + workers_of(job, "replica-1")

    job.stop(deadline_s=0.5)

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


def test_replicas_are_kept_on_cores_of_their_own(make_job: MakeJob) -> None:
    cores = sorted(os.sched_getaffinity(0))
    job = started(make_job(pin=True))

    on = {process.name: os.sched_getaffinity(process.pid) for process in job.processes()}

    expected = {"replica-0": {cores[0]}, "replica-1": {cores[1 % len(cores)]}, "generator-0": {cores[0]}}
    assert on == expected


def test_wrong_names_and_dead_processes_are_told_apart(make_job: MakeJob) -> None:
    job = make_job()

    with pytest.raises(UnknownProcessError, match="it has replica-0, replica-1, generator-0"):
        job.kill("replica-7")
    with pytest.raises(NotRunningError, match="replica-1 is not running"):
        job.kill("replica-1")


def test_an_observer_copes_with_a_job_that_tells_nothing(make_job: MakeJob) -> None:
    job = started(make_job())

    status = Observer.of(job).look()

    assert [(replica.name, replica.state, replica.epoch) for replica in status.replicas] == [
        ("replica-0", "running", -1),
        ("replica-1", "running", -1),
    ]
    assert (status.publisher, status.trouble.startswith("Kafka: ")) == (None, True)


def tandem(*arguments: object) -> tuple[int, str]:
    """Exit code and everything that a command printed."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.output


def test_commands_find_a_running_job_by_its_run_directory(make_job: MakeJob) -> None:
    job = started(make_job())
    where = ("--run-directory", job.run_directory)

    assert tandem("kill", job.name, "replica-1", "--signal", "stop", *where)[0] == 0
    code, output = tandem("status", *where, "--json")

    assert code == 0
    assert [replica["state"] for replica in json.loads(output)["replicas"]] == ["running", "paused"]
    assert tandem("kill", job.manifest.path, "replica-1", *where)[0] == 0
    assert job.wait_until(lambda: job.process("replica-1").restarts == 1, 2.0)


def test_commands_say_what_is_there_when_they_do_not_find_it(make_job: MakeJob) -> None:
    job = started(make_job())
    where = ("--run-directory", job.run_directory)

    assert tandem("kill", job.name, "replica-9", *where) == (
        1,
        f"{job.name} has no process replica-9: it has replica-0, replica-1, generator-0\n",
    )
    job.stop()
    code, output = tandem("status", job.name, *where)
    assert (code, output) == (1, f"Job {job.name} is not running in {job.run_directory}\n")
