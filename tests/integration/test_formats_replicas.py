"""Jobs of two replicas that read by a schema registry: all read alike, also when schemas change, replicas die, or the
registry is away."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator

import pytest

from integration.avro_records import ORDER, avro, with_field
from integration.registry_server import RegistryServer
from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.observe import Observer, replica_of
from tandem.protocol.values import Claim

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ALL_COLUMNS = """
from pyspark.sql import functions as F

def job(events):
    row = F.struct(*[c for c in events.columns if c not in ("key", "metadata")])
    return events.select(F.to_json(row).alias("value"))
"""
NEWER = with_field("channel", "string", "shop")
MakeJob = Callable[..., SmallJob]


@pytest.fixture
def make_job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeJob]:
    """Makes a job that reads its input by a registry; it is stopped at the end of the test."""
    made: list[SmallJob] = []

    def make(registry: RegistryServer, engine: str = "microBatch", code: str = ALL_COLUMNS, **more: object) -> SmallJob:
        name = f"formats-{uuid.uuid4().hex[:6]}"
        spec = {
            "engine": engine,
            "schemaRegistry": {"url": registry.url},
            "sources": [{"name": "events", "topics": [f"{name}-in"], "format": "avro"}],
            "sinks": [{"name": "copies", "topic": f"{name}-copies"}],
            "ordering": HEARTBEAT,
            **more,
        }
        job = SmallJob(tmp_path_factory.mktemp("formats"), Cluster(kafka, zookeeper), name, code, **spec)
        made.append(job)
        return job

    yield make
    for job in made:
        job.local.stop()


def order(registry: RegistryServer, job: SmallJob, number: int, schema: object = ORDER, **more: object) -> bytes:
    return avro(registry, job.input, {"id": f"o{number}", "n": number, "tags": [], **more}, schema)


def numbers(job: SmallJob) -> list[int]:
    """The numbers of the orders that came out, as they stand in the topic."""
    return [json.loads(value)["n"] for value in job.values()]


def letters(job: SmallJob) -> list[dict[str, object]]:
    return [json.loads(value) for value in job.values(job.dead_letter)]


def owner(job: SmallJob) -> str:
    """The replica that made the newest claim."""
    return replica_of(job.name, [one for one in job.proposals() if isinstance(one, Claim)][-1].owner)


def at_head(job: SmallJob) -> None:
    observer = Observer.of(job.local)
    job.wait(lambda: all(r.ready and not r.lag_epochs for r in observer.look().replicas), "both replicas at the head")


@pytest.mark.parametrize("engine", ["microBatch", "realTime"])
def test_kills_of_the_owner_while_a_newer_schema_is_registered_change_nothing(
    make_job: MakeJob, registry: RegistryServer, engine: str
) -> None:
    job = make_job(registry, engine)
    job.feed(order(registry, job, 0))
    job.local.start()
    job.wait(lambda: numbers(job) == [0], "the first order")
    at_head(job)

    sent = 1
    for schema, more in ((ORDER, {}), (NEWER, {"channel": "web"}), (NEWER, {"channel": "phone"})):
        job.feed(*(order(registry, job, n, schema, **more) for n in range(sent, sent + 5)))
        job.local.kill(owner(job))
        job.feed(*(order(registry, job, n, schema, **more) for n in range(sent + 5, sent + 10)))
        sent += 10
        job.wait(lambda: len(numbers(job)) >= sent, f"{sent} orders")  # noqa: B023
        at_head(job)

    assert numbers(job) == list(range(sent))
    assert all("channel" not in json.loads(value) for value in job.values()), "a newer schema than the generation's"
    assert letters(job) == []
