"""A switchover that cannot be is refused with what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from integration.supervised import MakeJob, started, supervised
from integration.waiting import PATIENCE_S
from tandem.cli.main import app

pytestmark = pytest.mark.integration


@pytest.fixture
def make_job(tmp_path: Path, topic_prefix: str) -> Iterator[MakeJob]:
    """Makes a job without ZooKeeper whose processes do nothing; stopped at the end of the test."""
    with supervised(tmp_path, topic_prefix) as make:
        yield make


@pytest.mark.parametrize("command", [("promote",), ("drain", "replica-0")])
def test_a_job_without_zookeeper_cannot_switch_over(make_job: MakeJob, command: tuple[str, ...]) -> None:
    job = started(make_job())
    name, *replica = command
    result = CliRunner().invoke(app, [name, job.name, *replica, "--run-directory", str(job.run_directory)])

    assert result.exit_code == 1
    assert f"{job.name} has no ZooKeeper, through which its replicas would agree".lower() in result.output.lower()


def test_a_process_that_was_stopped_is_started_by_another_command(make_job: MakeJob) -> None:
    job = started(make_job())
    where = ("--run-directory", str(job.run_directory))
    assert CliRunner().invoke(app, ["kill", job.name, "replica-1", "--signal", "TERM", *where]).exit_code == 0
    assert job.wait_until(lambda: job.process("replica-1").state == "down", PATIENCE_S)

    result = CliRunner().invoke(app, ["start", job.name, "replica-1", *where])

    assert (result.exit_code, result.output) == (0, "started replica-1\n")
    assert job.process("replica-1").state == "running"
    again = CliRunner().invoke(app, ["start", job.name, "replica-1", *where])
    assert (again.exit_code, again.output) == (0, "replica-1 ran already\n")
    unknown = CliRunner().invoke(app, ["start", job.name, "replica-7", *where])
    assert unknown.exit_code == 1
    assert "has no process replica-7: it has replica-0" in unknown.output
