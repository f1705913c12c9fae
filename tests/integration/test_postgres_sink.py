"""A sink in PostgreSQL, on real processes: each epoch once, whatever dies, and a row that is refused is a dead letter."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator

import pytest

from integration.postgres_server import PostgresServer
from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

MakeJob = Callable[..., SmallJob]

BOTH = """
from pyspark.sql import functions as F

def job(events):
    text = F.col("value").cast("string")
    rows = events.select(text.alias("name"), F.length(text).alias("size"))
    return {"copies": events.select(text.alias("value")), "names": rows}
"""


@pytest.fixture(scope="module")
def make_job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeJob]:
    """Makes jobs that run until the end of the file, with a table of their own."""
    made: list[SmallJob] = []

    def make(server: PostgresServer, columns: str, code: str = BOTH, replicas: int = 1, **sink: object) -> SmallJob:
        name = f"pg-{uuid.uuid4().hex[:6]}"
        table = name.replace("-", "_")
        server.execute(f"CREATE TABLE {table} ({columns})")
        sinks = [
            {"name": "copies", "topic": f"{name}-copies"},
            {"name": "names", "postgres": server.sink(table, **sink)},
        ]
        folder, cluster = tmp_path_factory.mktemp(name), Cluster(kafka, zookeeper)
        job = SmallJob(folder, cluster, name, code, replicas=replicas, sinks=sinks, ordering=HEARTBEAT)
        made.append(job)
        job.local.start()
        return job

    yield make
    for job in made:
        job.local.stop()


def names(server: PostgresServer, job: SmallJob) -> list[str]:
    """The names in the job's table, in the order in which they were written."""
    return [name for (name,) in server.execute(f"SELECT name FROM {job.name.replace('-', '_')} ORDER BY id")]  # noqa: S608


def letters(job: SmallJob) -> list[dict[str, object]]:
    return [json.loads(value) for value in job.values(job.dead_letter)]


COLUMNS = "id bigserial PRIMARY KEY, name text NOT NULL, size integer CHECK (size < 10)"


@pytest.fixture(scope="module")
def job(make_job: MakeJob, postgres: PostgresServer) -> SmallJob:
    return make_job(postgres, COLUMNS)


def test_rows_are_appended_in_their_order(job: SmallJob, postgres: PostgresServer) -> None:
    job.feed("a", "b", "c")
    job.wait_for("a", "b", "c")

    assert names(postgres, job) == ["a", "b", "c"]
    job.feed("d")
    job.wait_for("d")
    assert names(postgres, job) == ["a", "b", "c", "d"]


def test_a_row_that_the_table_refuses_is_a_dead_letter_and_the_job_goes_on(
    job: SmallJob, postgres: PostgresServer
) -> None:
    before = names(postgres, job)
    job.feed("x", "much too long", "nul\0", "y")
    job.wait_for("x", "y")

    assert names(postgres, job) == [*before, "x", "y"]
    found = {str(letter["reason"]).split(":")[0] for letter in letters(job)}
    assert len(letters(job)) == 2
    assert {letter["sink"] for letter in letters(job)} == {"names"}
    assert found == {
        "it has a text with the character NUL (U+0000), which PostgreSQL cannot hold",
        "the database does not take it",
    }


def test_after_a_kill_between_the_table_and_the_marker_the_table_holds_each_row_once(
    job: SmallJob, postgres: PostgresServer
) -> None:
    before, told = names(postgres, job), len(letters(job))
    with job.withheld(job.commits):
        job.feed("once", "much too long again")
        job.wait(lambda: "once" in names(postgres, job), "the epoch in the table")
        assert "once" not in job.values(), "the epoch is published, so the kill would come too late"
        job.local.kill("replica-0")
    job.feed("after")
    job.wait_for("once", "after")

    assert names(postgres, job) == [*before, "once", "after"]
    job.wait(lambda: len(letters(job)) > told, "the letter of the row that was refused before the kill")
    assert len(letters(job)) == told + 1
