"""A job's processes are kept alive, as long as it makes sense. What they do here is very little: see `supervised`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from integration.supervised import HAS_WORKERS, LIVES, MakeJob, ends, started, supervised, workers_of
from integration.waiting import PATIENCE_S, eventually
from tandem.local import JobEndedError, NotRunningError, UnknownProcessError
from tandem.local.observe import Observer
from tandem.process.info import ExitCode

pytestmark = pytest.mark.integration

FAILS = ends("failed", "it broke", 1)
REFUSES = ends("refused", "topic in does not exist", 78)
DIVERGES = ends("diverged", "row 3 differs", 78)
MISUSED = 'print("m.yaml:3: spec.replicas is 0"); raise SystemExit(2)'
ENDS_WELL = ends("stopped", "", 0)
ENDS_BY_ITSELF = "import os; os._exit(0)"


@pytest.fixture
def make_job(tmp_path: Path, topic_prefix: str) -> Iterator[MakeJob]:
    """Makes a job with two replicas and a generator that run the given Python code; stopped at the end of the test."""
    with supervised(tmp_path, topic_prefix) as make:
        yield make


def test_a_killed_process_is_back_at_once_as_another_one(make_job: MakeJob) -> None:
    job = started(make_job())
    before = job.process("replica-0")

    job.kill("replica-0")

    assert job.wait_until(lambda: job.process("replica-0").restarts == 1, PATIENCE_S)
    assert any("restarted at once" in event.text for event in job.events())
    after = job.process("replica-0")
    assert (after.state, after.pid != before.pid) == ("running", True)
    assert [job.process(name).restarts for name in ("replica-1", "generator-0")] == [0, 0]


def test_a_process_that_somebody_else_killed_is_back_too(make_job: MakeJob) -> None:
    job = started(make_job())

    os.kill(job.process("generator-0").pid, signal.SIGKILL)

    assert job.wait_until(lambda: job.process("generator-0").restarts == 1 and job.is_up("generator-0"), PATIENCE_S)


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


def test_a_process_that_ends_by_itself_is_started_again_and_its_exit_code_hides_nothing(make_job: MakeJob) -> None:
    job = make_job(replica_0=ENDS_BY_ITSELF).start()

    assert job.wait_until(lambda: job.process("replica-0").state == "given up", PATIENCE_S)
    assert (job.process("replica-0").restarts, job.process("replica-0").end) == (3, "failed")
    assert "nobody had asked it to, and its exit code is 0" in job.process("replica-0").reason
    assert any("ended by itself: nobody had asked it to" in event.text for event in job.events())
    assert (job.outcome, job.process("replica-1").running) == (None, True)


def test_a_job_whose_replicas_all_end_by_themselves_has_failed(make_job: MakeJob) -> None:
    outcome = make_job(ENDS_BY_ITSELF, generator_0=LIVES).start().wait(PATIENCE_S)

    assert outcome is not None
    assert (outcome.code, "ended by itself after 3 restarts: nobody had asked" in outcome.reason) == (1, True)


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
