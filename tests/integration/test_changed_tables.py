"""A static table that changes is the next generation of its job, by one command, whether the job runs or is stopped."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integration.command import Command
from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local import LocalJob, NewGeneration
from tandem.local.changes import changed_start, what_has_changed
from tandem.manifest import load
from tandem.protocol.values import Config
from tandem.replica.identity_parts import agreed_tables
from tandem.replica.spark_runtime import TABLES
from tandem.snapshots import SnapshotStore

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CODE = """
from pyspark.sql import functions as F

def job(events, ctx):
    rates = ctx.spark.read.parquet(ctx.options["rates"])
    number = F.col("value").cast("string").cast("int")
    rated = events.select(number.alias("number"), F.lit(1).alias("id")).join(rates, "id")
    total = rated.groupBy().agg(F.sum(F.col("number") * F.col("rate")).alias("total"))
    return total.select(F.col("total").cast("string").alias("value"))
"""
REPLICAS = ("replica-0", "replica-1")


@pytest.fixture(scope="module")
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallJob]:
    name = f"tables-{uuid.uuid4().hex[:6]}"
    folder = tmp_path_factory.mktemp("tables")
    set_rate(folder, 10)
    made = SmallJob(
        folder,
        Cluster(kafka, zookeeper),
        name,
        CODE,
        job={"file": "job.py", "options": {"rates": str(folder / "rates")}},
        sinks=[{"name": "copies", "topic": f"{name}-copies"}],
        ordering=HEARTBEAT,
        snapshots={"store": str(folder / "store"), "interval": "1s"},
    )
    made.local.start()
    publishes(made, "1", "10")
    made.wait(lambda: bool(SnapshotStore(str(folder / "store" / name)).list()), "a snapshot")
    made.wait(lambda: all(map(made.local.is_up, REPLICAS)), "both replicas compute")
    yield made
    made.local.stop()


def set_rate(folder: Path, rate: int) -> None:
    (folder / "rates").mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": [1], "rate": [rate]}), folder / "rates" / "rates.parquet")


def configs(job: SmallJob) -> list[Config]:
    """The accepted ones: the first of each generation; every candidate may propose its own."""
    first: dict[int, Config] = {}
    for proposal in job.proposals():
        if isinstance(proposal, Config):
            first.setdefault(proposal.generation, proposal)
    return list(first.values())


def publishes(job: SmallJob, number: str, total: str) -> None:
    """Feed a number, and wait for the sum of all numbers times their rates."""
    rows = len(job.values())
    job.feed(number)
    job.wait(lambda: len(job.values()) == rows + 1, f"the row after {number}")
    assert job.values()[-1] == total


def generations(job: SmallJob) -> list[int]:
    return [marker.generation for marker in job.markers()]


@pytest.mark.thorough
def test_a_running_job_goes_on_with_the_new_table_by_an_upgrade_to_the_same_manifest(job: SmallJob) -> None:
    manifest = job.local.manifest
    assert what_has_changed(manifest, configs(job)[-1]) == ""

    set_rate(job.folder, 100)
    upgrade = Command("upgrade", str(manifest.path), "--run-directory", str(job.local.run_directory))
    try:
        job.wait(lambda: job.local.process("replica-1").restarts == 1, f"replica-1 is moved\n{upgrade.output}")
        publishes(job, "2", "30")  # the old generation has the old rate
        job.wait(lambda: len(configs(job)) == 2, "the new generation begins")
        publishes(job, "3", "510")  # 10, and with the new rate 200 and 300
        assert upgrade.exit_code() == 0, upgrade.output
    finally:
        upgrade.close()
    assert f"the static table parquet {job.folder / 'rates'}" in upgrade.output
    assert "runs generation 1" in upgrade.output
    assert generations(job) == [0, 0, 1]


@pytest.mark.thorough
def test_a_stopped_job_goes_on_with_the_new_table_from_its_state_and_accepts_no_later_one(job: SmallJob) -> None:
    before, total = configs(job), int(job.values()[-1])
    next_one = len(before)
    job.local.stop()
    set_rate(job.folder, 1_000)
    changed = changed_start(load(job.local.manifest.path))
    assert changed.generation == next_one
    assert changed.savepoint.startswith(f"changes-{next_one}-")
    assert f"the static table parquet {job.folder / 'rates'}" in changed.words

    run = job.folder / "run-2"
    begins = NewGeneration(changed.savepoint, changed.generation)
    job.local = LocalJob(job.local.manifest.path, run, begins=begins).start()
    publishes(job, "4", str(total + 4_000))
    job.wait(lambda: all(map(job.local.is_up, REPLICAS)), "both replicas compute")
    assert generations(job)[-1] == next_one
    tables = [set(agreed_tables(config).values()) for config in configs(job)]
    assert len(tables) == next_one + 1
    assert all(len(versions) == 1 for versions in tables)
    assert len(set.union(*tables)) == next_one + 1

    set_rate(job.folder, 7)
    job.local.kill("replica-1")
    job.wait(lambda: job.local.process("replica-1").restarts == 1, "it starts again")
    job.wait(lambda: job.local.is_up("replica-1"), "it comes up")
    publishes(job, "5", str(total + 9_000))  # with the rate that was accepted
    assert [job.local.process(name).state for name in REPLICAS] == ["running"] * 2
    assert [config.generation for config in configs(job)] == list(range(next_one + 1))


@pytest.mark.thorough
def test_a_machine_without_a_copy_takes_that_of_the_snapshot_store(job: SmallJob) -> None:
    """As a new pod has none; the table is another one by now."""
    accepted, total = configs(job), int(job.values()[-1])
    (version,) = agreed_tables(accepted[-1]).values()
    job.wait(lambda: (job.folder / "store" / job.name / "tables" / f"{version}.json").is_file(), "the copy is stored")
    job.local.stop()
    copies = job.local.manifest.checkpoint_directory / TABLES / job.name
    shutil.rmtree(copies)

    job.local = LocalJob(job.local.manifest.path, job.folder / "run-3").start()
    publishes(job, "6", str(total + 6_000))
    assert (copies / version).is_dir()
    assert [config.generation for config in configs(job)] == [config.generation for config in accepted]
