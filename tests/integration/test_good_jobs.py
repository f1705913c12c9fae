"""Jobs that are not at fault are accepted, and every process finds the same plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration import good_jobs
from integration.good_jobs import GOOD, Process, written
from tandem.engine.facts import differing, hashes
from tandem.engine.second_plan import SecondPlan

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_every_process_finds_the_same_plan(spark: SparkSession, tmp_path: Path) -> None:
    """The first test, since the settings that the jobs set stay in the session."""
    manifest = written(tmp_path)
    result, other = tmp_path / "facts.json", tmp_path / "other"
    other.mkdir()
    command = [sys.executable, good_jobs.__file__, str(manifest.path), str(other), str(result)]
    env = {**os.environ, "PYTHONHASHSEED": "7", "HOSTNAME": "another"}
    with (tmp_path / "log").open("w") as log:
        later = subprocess.Popen(
            command, env=env, stdout=log, stderr=log
        )  # as a replica that starts on another machine
    first = Process(spark, manifest, tmp_path)
    plan = first.plan()

    second = SecondPlan(spark, manifest, first.kept, tmp_path / "second-plan", first.tables)
    facts = second._facts()

    assert facts is not None, "the second plan could not be made"
    assert "\n".join(differing(plan.facts, facts)) == ""
    assert later.wait(120) == 0, (tmp_path / "log").read_text()
    found = json.loads(result.read_text())
    assert "\n".join(differing(plan.facts, found)) == ""
    assert hashes(found) == hashes(plan.facts)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_job_is_accepted(spark: SparkSession, tmp_path: Path, name: str) -> None:
    engine = Process(spark, written(tmp_path, [name]), tmp_path).prepare()

    assert engine.facts
    plan = engine._bridge._pruned(engine._frame).queryExecution().analyzed()
    assert all(state.form for state in engine._bridge._described(plan))


class Failing(SecondPlan):
    """Its comparison itself fails."""

    def _facts(self) -> dict[str, str] | None:
        raise OSError("no process can be started")


def test_a_comparison_that_fails_refuses_no_job(spark: SparkSession, tmp_path: Path) -> None:
    process = Process(spark, written(tmp_path, ["duplicates"]), tmp_path)

    Failing(spark, process.manifest, process.kept, tmp_path / "second-plan", process.tables)(process.plan())
