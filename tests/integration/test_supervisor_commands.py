"""Other commands find a supervised job, and say so when they do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from integration.supervised import MakeJob, started, supervised
from integration.waiting import PATIENCE_S, eventually
from tandem.cli.main import app

pytestmark = pytest.mark.integration


@pytest.fixture
def make_job(tmp_path: Path, topic_prefix: str) -> Iterator[MakeJob]:
    """Makes a job with two replicas and a generator that run the given Python code; stopped at the end of the test."""
    with supervised(tmp_path, topic_prefix) as make:
        yield make


def tandem(*arguments: object) -> tuple[int, str]:
    """Exit code and everything that a command printed."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.output


def test_commands_find_a_running_job_by_its_run_directory(make_job: MakeJob) -> None:
    job = started(make_job())
    where = ("--run-directory", job.run_directory)

    assert tandem("kill", job.name, "replica-1", "--signal", "stop", *where)[0] == 0

    def states() -> list[str]:
        code, output = tandem("status", *where, "--json")
        assert code == 0
        return [replica["state"] for replica in json.loads(output)["replicas"]]

    assert eventually(lambda: states() == ["running", "paused"]), states()
    assert tandem("kill", job.manifest.path, "replica-1", *where)[0] == 0
    assert job.wait_until(lambda: job.process("replica-1").restarts == 1, PATIENCE_S)


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
