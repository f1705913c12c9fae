"""Two replicas on real processes: what their surroundings do meanwhile leaves them alike, or is said first."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local import JobEndedError
from tandem.local.observe import Observer
from tandem.process.info import ExitCode

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CODE = """
import signal

from pyspark.sql import functions as F
from pyspark.sql import SparkSession

WORDS = {"one", "two", "three", "four", "five", "six"}
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: None)
spark = SparkSession.builder.appName("mine").getOrCreate()

def job(events, ctx):
    rates = ctx.spark.read.parquet(ctx.options["rates"])
    extra = "-".join(line.strip() for line in open(ctx.options["extra"]))
    events.createTempView("events")
    rates.createOrReplaceTempView("rates")
    join = "events e LEFT JOIN rates r ON r.id = length(e.value)"
    rated = spark.sql(f"SELECT CAST(e.value AS STRING) AS id, r.rate FROM {join}")
    parts = ["id", F.col("rate").cast("string"), F.lit(extra), *map(F.lit, WORDS)]
    return rated.select(F.concat_ws(" ", *parts).alias("value"))
"""


def add(folder: Path, name: str, **rates: float) -> None:
    folder.mkdir(exist_ok=True)
    lengths = [len(word) for word in rates]
    pq.write_table(pa.table({"id": lengths, "rate": list(rates.values())}), folder / name)


@pytest.fixture(scope="module")
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallJob]:
    name = f"alike-{uuid.uuid4().hex[:6]}"
    folder = tmp_path_factory.mktemp("alike")
    add(folder / "rates", "a.parquet", a=1.5)
    (folder / "extra").write_text("x\n")
    options = {"rates": str(folder / "rates"), "extra": str(folder / "extra")}
    made = SmallJob(
        folder,
        Cluster(kafka, zookeeper),
        name,
        CODE,
        job={"file": "job.py", "options": options},
        sinks=[{"name": "copies", "topic": f"{name}-copies"}],
        ordering=HEARTBEAT,
    )
    made.local.start()
    made.wait(lambda: all(made.local.is_up(name) for name in ("replica-0", "replica-1")), "both replicas compute")
    made.feed("a")
    made.wait(lambda: len(made.values()) == 1, "the first row, with which the job has begun")
    yield made
    made.local.stop()


def restarted(job: SmallJob, name: str) -> None:
    """Kill a replica, and wait until it computes again or is given up."""
    job.local.kill(name)
    job.wait(lambda: job.local.process(name).restarts > 0, "it starts again")
    job.wait(lambda: job.local.is_up(name) or not job.local.process(name).running, "it comes up, or ends")


@pytest.mark.thorough
def test_a_restarted_replica_has_the_table_and_the_sets_of_the_one_that_ran_through(job: SmallJob) -> None:
    words = job.values()[0].split()[3:]
    assert job.values()[0].startswith("a 1.5 x ")

    (job.folder / "rates" / "a.parquet").unlink()
    add(job.folder / "rates", "b.parquet", aa=2.5)
    restarted(job, "replica-0")
    restarted(job, "replica-1")
    job.feed("b", "bb")
    job.wait(lambda: len(job.values()) == 3, "the rows after the table has changed")

    assert sorted(job.values()) == [" ".join([row, *words]) for row in ("a 1.5 x", "b 1.5 x", "bb x")]
    assert [job.local.process(name).state for name in ("replica-0", "replica-1")] == ["running"] * 2


def test_a_replica_whose_surroundings_have_changed_is_given_up_and_the_status_says_so_first(job: SmallJob) -> None:
    (job.folder / "extra").write_text("y\n")
    restarted(job, "replica-1")

    job.wait(lambda: job.local.process("replica-1").state == "given up", "replica-1 is given up")
    ended = job.local.process("replica-1")
    assert ended.exit_code == ExitCode.REFUSED
    assert "this replica's plan is not the one that the job began with" in ended.reason
    assert "different is the constant " in ended.reason
    warnings = Observer.of(job.local).look().warnings
    assert warnings == ("WITHOUT REDUNDANCY: 1 of 2 replicas left, replica-1 is given up",)
    before = len(job.values())
    job.feed("c")
    job.wait(lambda: len(job.values()) == before + 1, "the other goes on")


def test_code_that_handles_signals_does_not_keep_its_replica_from_stopping(job: SmallJob) -> None:
    assert "signal_handler_ignored" in job.local.log_file("replica-0").read_text()
    job.local.kill("replica-0", signal.SIGINT)

    def ended_well() -> bool:
        return any(event.process == "replica-0" and event.text.startswith("ended well") for event in job.local.events())

    with suppress(JobEndedError):  # it was the last one, and with it the job has ended
        job.wait(ended_well, "it has stopped")
    assert ended_well(), job.story()
