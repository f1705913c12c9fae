"""A sink in PostgreSQL, on real processes: each epoch once, whatever dies, and a row that is refused is a dead letter."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from integration.postgres_server import PostgresServer
from integration.small_job import HEARTBEAT, SmallJob, when_whole
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.protocol.values import Claim

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
    return [name for (name,) in server.execute(f"SELECT name FROM {job.name.replace('-', '_')} ORDER BY id")]


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


# Two replicas, and the owner dies ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(make_job: MakeJob, postgres: PostgresServer) -> SmallJob:
    return make_job(postgres, COLUMNS, replicas=2)


def owner(job: SmallJob) -> str:
    """The replica that has claimed last."""
    claims = [one for one in job.proposals() if isinstance(one, Claim)]
    return claims[-1].owner.split(".")[1]


def claims(job: SmallJob) -> int:
    return sum(isinstance(one, Claim) for one in job.proposals())


def waits_for(server: PostgresServer, kind: str) -> bool:
    """Whether a session of a sink waits for something of this kind."""
    look = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE %s AND wait_event = %s"
    return bool(server.execute(look, "tandem %", kind))


@contextmanager
def locked(server: PostgresServer, statement: str) -> Iterator[None]:
    """While the block runs, a transaction of somebody else holds a lock."""
    with server.connect() as connection, connection.transaction():
        connection.execute(statement)
        yield


@contextmanager
def unconfirmed(server: PostgresServer) -> Iterator[None]:
    """While the block runs, the database writes each commit, and tells nobody that it has."""
    try:
        set_standbys(server, "nobody")
        yield
    finally:
        set_standbys(server, "")


def set_standbys(server: PostgresServer, names: str) -> None:
    with server.connect() as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        connection.execute("SELECT pg_reload_conf()")


def at_the_lock(server: PostgresServer, job: SmallJob) -> AbstractContextManager[None]:
    return locked(server, f"SELECT 1 FROM tandem_epochs WHERE job = '{job.name}' FOR UPDATE")


def at_the_rows(server: PostgresServer, job: SmallJob) -> AbstractContextManager[None]:
    return locked(server, f"LOCK TABLE {job.name.replace('-', '_')}")


POINTS: dict[str, tuple[Callable[[PostgresServer, SmallJob], AbstractContextManager[None]], str]] = {
    "before its rows": (at_the_lock, "transactionid"),
    "among its rows": (at_the_rows, "relation"),
    "in its commit": (lambda server, _: unconfirmed(server), "SyncRep"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_of_the_owner_in_its_transaction_loses_and_repeats_nothing(
    pair: SmallJob, postgres: PostgresServer, point: str
) -> None:
    pair.feed(f"to {len(point)}")
    pair.wait_for(f"to {len(point)}")
    when_whole(pair)
    before = names(postgres, pair)
    holds, kind = POINTS[point]
    with holds(postgres, pair):
        seen = claims(pair)
        pair.feed(f"a {len(point)}", f"b {len(point)}")
        pair.wait(lambda: claims(pair) > seen and waits_for(postgres, kind), f"the owner at {kind}")
        pair.local.kill(owner(pair))
    pair.feed(f"c {len(point)}")
    pair.wait_for(*(f"{letter} {len(point)}" for letter in "abc"))

    assert names(postgres, pair) == [*before, *(f"{letter} {len(point)}" for letter in "abc")]
    assert pair.values() == names(postgres, pair)


@pytest.mark.thorough
def test_a_kill_of_the_owner_between_the_commit_and_the_marker_loses_and_repeats_nothing(
    pair: SmallJob, postgres: PostgresServer
) -> None:
    pair.feed("first")
    pair.wait_for("first")
    when_whole(pair)
    before = names(postgres, pair)
    with pair.withheld(pair.commits):
        pair.feed("between")
        pair.wait(lambda: "between" in names(postgres, pair), "the epoch in the table")
        pair.local.kill(owner(pair))
    pair.feed("last")
    pair.wait_for("between", "last")

    assert names(postgres, pair) == [*before, "between", "last"]


@pytest.mark.thorough
def test_an_owner_that_is_paused_in_its_transaction_holds_nobody_up_and_commits_nothing_later(
    pair: SmallJob, postgres: PostgresServer
) -> None:
    pair.feed("calm")
    pair.wait_for("calm")
    when_whole(pair)
    before = names(postgres, pair)
    with at_the_rows(postgres, pair):
        pair.feed("pause")
        pair.wait(lambda: waits_for(postgres, "relation"), "the owner among its rows")
        paused = owner(pair)
        pair.local.pause(paused)
    try:
        pair.wait_for("pause")
    finally:
        pair.local.resume(paused)
    pair.feed("goes on")
    pair.wait_for("goes on")

    assert names(postgres, pair) == [*before, "pause", "goes on"]


# The database is away ------------------------------------------------------------------------------------------------


def retries(job: SmallJob) -> list[str]:
    lines = job.local.log_file("replica-0").read_text(errors="replace").splitlines()
    return [json.loads(line)["reason"] for line in lines if '"event": "sink_retried"' in line]


def test_a_database_that_is_down_is_waited_for_and_nothing_is_lost(
    make_job: MakeJob, own_postgres: PostgresServer
) -> None:
    job = make_job(own_postgres, COLUMNS)
    job.feed("a")
    job.wait_for("a")
    own_postgres.kill()
    job.feed("b", "c")
    job.wait(lambda: any("Connection refused" in reason for reason in retries(job)), "a report")
    assert job.values() == ["a"], "an epoch is published that its table has not got"

    own_postgres.start()
    job.feed("d")
    job.wait_for("b", "c", "d")

    assert names(own_postgres, job) == ["a", "b", "c", "d"]
    assert "cannot be written: " in retries(job)[-1]
    job.local.stop()


# Upsert --------------------------------------------------------------------------------------------------------------

COUNTS = """
from pyspark.sql import functions as F

def job(events):
    counts = events.groupBy(F.col("value").cast("string").alias("name")).count()
    return {"copies": counts.select(F.concat_ws(":", "name", "count").alias("value")), "names": counts}
"""


@pytest.mark.thorough
def test_an_upsert_holds_the_newest_row_of_each_key_over_a_kill(make_job: MakeJob, postgres: PostgresServer) -> None:
    job = make_job(postgres, "name text PRIMARY KEY, count numeric", COUNTS, replicas=2, mode="upsert", key=["name"])
    job.feed("x", "y", "x")
    job.wait(lambda: {"x:2", "y:1"} <= set(job.values()), "the first counts")
    when_whole(job)
    with job.withheld(job.commits):
        job.feed("x")
        table = job.name.replace("-", "_")
        job.wait(lambda: ("x", 3) in postgres.execute(f"SELECT name, count FROM {table}"), "the epoch in the table")
        job.local.kill(owner(job))
    job.feed("y", "z")
    job.wait(lambda: {"x:3", "y:2", "z:1"} <= set(job.values()), "the last counts")

    assert sorted(postgres.execute(f"SELECT name, count FROM {table}")) == [("x", 3), ("y", 2), ("z", 1)]
    job.local.stop()
