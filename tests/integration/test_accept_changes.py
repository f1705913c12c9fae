"""A job that its own code has stopped goes on with changed code, from the state that it had, each row published once."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pytest

from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local import LocalJob, NewGeneration
from tandem.local.changes import ChangedStart, changed_start
from tandem.local.outcome import Outcome
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.protocol.values import Config

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TOTALS = """
from pyspark.sql import functions as F

def job(events):
    number = NUMBER
    total = events.select(number.alias("number")).groupBy().agg(F.sum("number").alias("total"))
    return total.select(F.col("total").cast("string").alias("value"))
"""
DOUBLES = """
from pyspark.sql import functions as F

def job(events):
    number = NUMBER
    return events.select((number * 2).cast("string").alias("value"))
"""
STRICT = 'F.col("value").cast("string").cast("int")'
TENFOLD = 'F.coalesce(F.col("value").cast("string").try_cast("int") * 10, F.lit(0))'


@pytest.fixture
def cluster(kafka: KafkaBroker, zookeeper: ZooKeeperServer) -> Cluster:
    return Cluster(kafka, zookeeper)


class Changing:
    """A job whose code changes while it is down."""

    def __init__(self, folder: Path, cluster: Cluster, code: str, **spec: object) -> None:
        name = f"changes-{uuid.uuid4().hex[:6]}"
        sinks = [{"name": "copies", "topic": f"{name}-copies"}]
        self.code = code
        self.small = SmallJob(
            folder, cluster, name, code.replace("NUMBER", STRICT), sinks=sinks, ordering=HEARTBEAT, **spec
        )

    @property
    def manifest(self) -> Path:
        return self.small.local.manifest.path

    def fail(self) -> Outcome:
        """Publish two epochs, then meet a record that the code cannot take."""
        self.small.local.start()
        self.small.feed("1")
        self.small.wait(lambda: len(self.small.values()) == 1, "the first row")
        self.small.feed("2")
        self.small.wait(lambda: len(self.small.values()) == 2, "the second row")
        self.small.feed("seven", "3")
        outcome = self.small.end()
        self.small.local.stop()
        return outcome

    def change(self) -> None:
        (self.small.folder / "job.py").write_text(self.code.replace("NUMBER", TENFOLD))

    def start(self, changed: ChangedStart | None = None) -> None:
        """Start the job's processes, as `tandem run` does; with --accept-changes if given what that finds."""
        begins = None if changed is None else NewGeneration(changed.savepoint, changed.generation)
        run = self.small.folder / f"run-{uuid.uuid4().hex[:4]}"
        self.small.local = LocalJob(self.manifest, run, begins=begins).start()

    def configs(self) -> list[Config]:
        return [proposal for proposal in self.small.proposals() if isinstance(proposal, Config)]


@pytest.mark.thorough
def test_a_changed_job_with_state_goes_on_from_the_state_that_it_had(tmp_path: Path, cluster: Cluster) -> None:
    job = Changing(tmp_path / "job", cluster, TOTALS, replicas=1)
    try:
        reason = job.fail().reason
        command = f"tandem run {job.manifest} --accept-changes"
        assert f"`{command}`" in reason
        job.change()
        job.start()
        refused = job.small.end()
        job.small.local.stop()
        assert refused.code == ExitCode.REFUSED
        assert f"`{command}`" in refused.reason

        changed = changed_start(load(job.manifest))
        assert changed.generation == 1
        assert changed == changed_start(load(job.manifest))  # a second try begins with the same
        job.start(changed)
        job.small.wait(lambda: len(job.small.values()) == 3, "the epoch that had failed")
        assert job.small.values() == ["1", "3", "33"]  # 3, then 30: not 60, which the new code makes of all records
        job.small.local.stop()

        assert changed_start(load(job.manifest)).generation is None
        job.start()
        job.small.feed("4")
        job.small.wait(lambda: len(job.small.values()) == 4, "the epoch after it")
        assert job.small.values()[3] == "73"
        assert [marker.generation for marker in job.small.markers()] == [0, 0, 1, 1]
        assert [config.generation for config in job.configs()][-1] == 1
    finally:
        job.small.local.stop()


@pytest.mark.thorough
def test_a_changed_job_without_state_goes_on_where_it_stopped_though_all_else_is_lost(
    tmp_path: Path, cluster: Cluster
) -> None:
    job = Changing(tmp_path / "job", cluster, DOUBLES)
    try:
        job.fail()
        job.small.delete_input_before(2)  # what was read is gone, and so is the checkpoint: no way back
        shutil.rmtree(tmp_path / "job" / "checkpoint")
        job.change()
        changed = changed_start(load(job.manifest))
        assert (changed.generation, changed.savepoint) == (1, "")
        assert "no state of it was found" in changed.words

        job.start(changed)
        job.small.wait(lambda: len(job.small.values()) == 4, "the epoch that had failed")
        assert job.small.values() == ["2", "4", "0", "60"]
        assert [marker.generation for marker in job.small.markers()] == [0, 0, 1]
    finally:
        job.small.local.stop()


@pytest.mark.thorough
def test_a_changed_job_whose_state_is_lost_computes_it_from_its_inputs(tmp_path: Path, cluster: Cluster) -> None:
    job = Changing(tmp_path / "job", cluster, TOTALS, replicas=1)
    try:
        job.fail()
        shutil.rmtree(tmp_path / "job" / "checkpoint")
        job.change()

        job.start(changed_start(load(job.manifest)))
        job.small.wait(lambda: len(job.small.values()) == 3, "the epoch that had failed")
        assert job.small.values() == ["1", "3", "60"]
    finally:
        job.small.local.stop()


@pytest.mark.thorough
def test_changes_wait_while_the_job_runs_elsewhere(tmp_path: Path, cluster: Cluster) -> None:
    """As one of its name in another namespace, or on another machine: nobody has stopped it."""
    job = Changing(tmp_path / "job", cluster, DOUBLES, replicas=1)
    elsewhere = LocalJob(job.manifest, tmp_path / "elsewhere").start()
    try:
        job.small.feed("1")
        job.small.wait(lambda: len(job.small.values()) == 1, "the first row")
        job.change()
        job.start(ChangedStart(1, "", ""))
        log = job.small.local.log_file("replica-0")
        job.small.wait(lambda: "another_run" in log.read_text(), "it waits")
        job.small.feed("2")
        job.small.wait(lambda: len(job.small.values()) == 2, "the other run goes on")
        assert [config.generation for config in job.configs()] == [0]

        elsewhere.stop()
        job.small.wait(lambda: [config.generation for config in job.configs()][-1] == 1, "its generation begins")
        job.small.feed("3")
        job.small.wait(lambda: len(job.small.values()) == 3, "the next row")
        assert job.small.values() == ["2", "4", "60"]
    finally:
        elsewhere.stop()
        job.small.local.stop()
