"""Executors in processes of their own: the same bytes as in one process, whatever order they finish in, and if one dies.

Spark's own cluster in one machine stands for pods: executors are JVMs of their own, that share only the file system.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source
from tandem.engine.executors import Executors
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.jvm.pyspark_files import spark_home
from tandem.engine.registering import await_executors, registered
from tandem.engine.session import build_session
from tandem.engine.shared_state import check_shared
from tandem.jobapi.errors import JobError
from tandem.manifest import SparkSpec
from tandem.replica.rows import EpochRows

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PARTITIONS, EPOCHS, RECORDS = 4, 6, 80
TWO = Executors(
    "local-cluster[2,1,1024]",
    2,
    {"spark.executor.instances": "2", "spark.executor.cores": "1", "spark.executor.memory": "512m"},
)
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def shouted(events: DataFrame) -> DataFrame:
    shout = F.udf(lambda value: bytes(value).decode().upper() + "!", "string")
    return events.filter("length(value) > 3").select("key", shout("value").alias("value"))


def sums_of_floats(events: DataFrame) -> DataFrame:
    totals = events.groupBy("key").agg(F.sum(F.col("value").cast("string").cast("double")).alias("total"))
    return totals.select("key", F.col("total").cast("string").alias("value"))


def collected(events: DataFrame) -> DataFrame:
    """The newest and the first of each key's rows, which are what they are by their order alone."""
    seen = events.groupBy("key").agg(F.first("value").alias("first"), F.last("value").alias("last"))
    return seen.select("key", F.concat("first", F.lit("-"), "last").cast("string").alias("value"))


JOBS: dict[str, Callable[[DataFrame], DataFrame]] = {"stateless": shouted, "sums": sums_of_floats, "ends": collected}


def records(epoch: int) -> list[Record]:
    chance = random.Random(epoch)
    return [
        Record(
            repr(chance.uniform(-1e9, 1e9) * 10.0 ** chance.randint(-12, 3)).encode(),
            f"k{chance.randrange(3)}".encode(),
        )
        for _ in range(RECORDS)
    ]


@contextmanager
def session(folder: Path, executors: Executors | None) -> Iterator[SparkSession]:
    spec = SparkSpec(parallelism=PARTITIONS)
    made = build_session("executors", "replica-0", spec, file_system_jar(), folder, executors=executors)
    application = made.sparkContext.applicationId
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(spark_home() / "work" / application, ignore_errors=True)


def digests(spark: SparkSession, folder: Path, before: Callable[[int], None] = lambda _: None) -> dict[str, list[str]]:
    """Of each job, the digests of its epochs; `before` is called before each of them."""
    found: dict[str, list[str]] = {}
    for name, result in JOBS.items():
        job = Job(spark, folder / name, [raw_source()], [kafka_sink()])
        job.start(result(job.sources["events"]))
        found[name] = []
        for epoch in range(EPOCHS):
            before(epoch)
            found[name].append(EpochRows.of(epoch, job.run(epoch, records(epoch)), ordered=False).digest)
        job.stop()
    return found


def executor_processes() -> list[psutil.Process]:
    def is_executor(process: psutil.Process) -> bool:
        try:
            return EXECUTOR in process.cmdline()
        except psutil.Error:  # it has ended
            return False

    return [process for process in psutil.Process().children(recursive=True) if is_executor(process)]


def kill_one(epoch: int) -> None:
    """Before the third epoch of each job, one executor dies."""
    if epoch == 2:
        executor_processes()[0].kill()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a replica without executors computes."""
    with session(tmp_path_factory.mktemp("scratch"), None) as spark:
        return digests(spark, tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def spread(alone: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:  # noqa: ARG001, one session at a time
    """The session of a replica with two executors."""
    with session(tmp_path_factory.mktemp("scratch"), TWO) as spark:
        await_executors(spark, TWO, 200)
        yield spark


def test_executors_compute_the_same_bytes_as_one_process(
    alone: dict[str, list[str]], spread: SparkSession, tmp_path: Path
) -> None:
    assert len(executor_processes()) == registered(spread) == 2
    assert digests(spread, tmp_path) == alone


def test_state_that_executors_cannot_share_is_refused_with_what_to_do(
    spread: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_shared(spread, tmp_path / "shared", ["Aggregate"], TWO.count)
    assert not list((tmp_path / "shared").iterdir())
    # A relative path is another folder in each process, as a path without a shared volume is in each pod.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JobError, match=r"\(Aggregate\).*ReadWriteMany.*spec\.checkpoint\.directory"):
        check_shared(spread, Path("not-shared"), ["Aggregate"], TWO.count)


@pytest.mark.thorough
def test_a_lost_executor_changes_nothing_and_is_replaced(
    alone: dict[str, list[str]], spread: SparkSession, tmp_path: Path
) -> None:
    assert digests(spread, tmp_path, kill_one) == alone
    await_executors(spread, TWO, 60)
    assert len(executor_processes()) == 2
