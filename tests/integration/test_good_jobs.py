"""Jobs that are not at fault are accepted, and every process finds the same plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration import planning_process
from integration.engine import BEGINNING, EPOCH_DEADLINE_S, Record, fetched, within
from integration.good_jobs import GOOD, function_of, written
from integration.planning_process import Process
from tandem.checkpoint.position import EnginePosition
from tandem.engine.facts import differing
from tandem.engine.pruned import described, pruned
from tandem.engine.second_plan import SecondPlan
from tandem.manifest.fact_hashes import hashes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_every_process_finds_the_same_plan(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first test, since the settings that the jobs set stay in the session."""
    monkeypatch.setattr("tandem.engine.second_plan.TIMEOUT_S", 240.0)  # of forty jobs at once, beside another process
    manifest = written(tmp_path)
    result, other = tmp_path / "facts.json", tmp_path / "other"
    other.mkdir()
    command = [sys.executable, planning_process.__file__, str(manifest.path), str(other), str(result)]
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
    assert later.wait(240) == 0, (tmp_path / "log").read_text()
    found = json.loads(result.read_text())
    assert "\n".join(differing(plan.facts, found)) == ""
    assert hashes(found) == hashes(plan.facts)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_job_is_accepted(spark: SparkSession, tmp_path: Path, name: str) -> None:
    job = Process(spark, written(tmp_path, [name]), tmp_path).prepare()

    assert job.facts
    assert all(state.form for state in described(spark, pruned(job.query.frame)))


def test_functions_run_in_workers_which_cannot_import_a_module_that_makes_a_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    names = ["a function with all of the module", "a function for pandas", "partials, decorators and lambdas"]
    process = Process(spark, written(tmp_path, names), tmp_path)
    spark.sparkContext.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]  # as replicas have it before the JVM starts

    rows = computed(process, [Record(b"the Word 17", timestamp_ms=1_000), Record(b"b", key=b"k")])

    values = {name: [row["value"].decode() for row in rows if row["sink"] == function_of(name)] for name in names}
    assert [json.loads(value)[0] for value in values[names[0]]] == ["word #", "b"]
    assert values[names[1]] == ["0.0", "0.5"]
    assert [value.split("-")[0] for value in values[names[2]]] == ["XTHE WORD 17", "XB"]


def computed(process: Process, records: Sequence[Record]) -> list[dict[str, Any]]:
    """The rows of a first epoch."""
    job, epoch = process.prepare(), fetched(0, records)
    taken_in = job.intake.take(epoch)
    job.query.begin(process.folder / "checkpoint", BEGINNING)
    try:
        time_ms = epoch.range.time_ms
        rows = job.query.compute(EnginePosition(0, 0), taken_in.batch, time_ms, within(EPOCH_DEADLINE_S))
        job.query.commit()
        return list(taken_in.completed(rows)[0].to_pylist())
    finally:
        job.query.stop()


class Unreadable(SecondPlan):
    """The other process could not read what its plan is made of."""

    def _facts(self) -> dict[str, str] | None:
        return {}


class Failing(SecondPlan):
    """Its comparison itself fails."""

    def _facts(self) -> dict[str, str] | None:
        raise OSError("no process can be started")


def test_a_comparison_that_fails_refuses_no_job(spark: SparkSession, tmp_path: Path) -> None:
    process = Process(spark, written(tmp_path, ["duplicates"]), tmp_path)

    for kind in (Failing, Unreadable):
        kind(spark, process.manifest, process.kept, tmp_path / "second-plan", process.tables)(process.plan())
