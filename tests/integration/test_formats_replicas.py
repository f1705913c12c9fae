"""Jobs of two replicas that read by a schema registry: all read alike, also when schemas change, replicas die, or the
registry is away."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from google.protobuf.message_factory import GetMessageClass

from integration.avro_records import ORDER, avro, decoded, with_field
from integration.registry_server import RegistryServer
from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.formats.protobuf import descriptor_of
from tandem.formats.schemas import RegisteredSchema
from tandem.local.observe import Observer, replica_of
from tandem.protocol.values import Claim

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_while_the_registry_is_away_records_wait_and_none_becomes_a_letter(
    make_job: MakeJob, own_registry: RegistryServer
) -> None:
    job = make_job(own_registry)
    first, later = order(own_registry, job, 0), order(own_registry, job, 1, NEWER, channel="web")
    job.feed(first)
    job.local.start()
    job.wait(lambda: numbers(job) == [0], "the first order")
    at_head(job)

    own_registry.kill()
    job.feed(first, later)  # the first one's schema is known: it waits for the other, with which it may share an epoch
    job.wait(lambda: "still_waiting" in logs(job) and "the schema registry, for schema" in logs(job), "that it waits")

    assert [letter["reason"] for letter in letters(job)] == []
    assert numbers(job) == [0]
    assert all(job.local.is_up(name) for name in job.local.names), job.story()

    own_registry.start()
    job.wait(lambda: len(numbers(job)) == 3, "what had waited")
    assert numbers(job) == [0, 0, 1]
    assert letters(job) == []


def logs(job: SmallJob) -> str:
    return "".join(job.local.log_file(name).read_text(errors="replace") for name in job.local.names)


WRITES_ALL = """
def job(events):
    rows = events.select("id", "n", "tags")
    keyed = events.select(events.id.alias("key"), "id", "n")
    return {"avro": keyed, "proto": events.select("id", "n"), "json": rows, "parquet": rows, "delta": rows}
"""
ROW = 'syntax = "proto3"; message Row { string id = 1; int64 n = 2; }'


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["microBatch", "realTime"])
def test_every_format_and_sink_is_exact_under_kills_of_the_owner(
    make_job: MakeJob, registry: RegistryServer, tmp_path: Path, engine: str
) -> None:
    names = {form: f"sinks-{uuid.uuid4().hex[:6]}-{form}" for form in ("avro", "proto", "json")}
    registry.register(f"{names['proto']}-value", ROW, "PROTOBUF")
    sinks = [
        {"name": "avro", "topic": names["avro"], "format": "avro", "keyFormat": "avro"},
        {"name": "proto", "topic": names["proto"], "format": "protobuf"},
        {"name": "json", "topic": names["json"], "format": "json"},
        {"name": "parquet", "parquet": {"path": str(tmp_path / "parquet")}},
        {"name": "delta", "delta": {"path": str(tmp_path / "delta")}},
    ]
    job = make_job(registry, engine, WRITES_ALL, sinks=sinks)
    job.feed(order(registry, job, 0))
    job.local.start()
    job.wait(lambda: len(job.contents(names["json"])) == 1, "the first order")
    at_head(job)

    sent = 1
    for _ in range(3):
        job.feed(*(order(registry, job, n) for n in range(sent, sent + 5)))
        job.local.kill(owner(job))
        job.feed(*(order(registry, job, n) for n in range(sent + 5, sent + 10)))
        sent += 10
        job.wait(lambda: len(job.contents(names["json"])) >= sent, f"{sent} orders")  # noqa: B023
        at_head(job)

    expected = list(range(sent))
    row = GetMessageClass(descriptor_of(RegisteredSchema(-1, "PROTOBUF", ROW), "Row"))
    avros = job.contents(names["avro"])
    assert [decoded(registry, names["avro"], value)["n"] for _, value in avros] == expected
    assert [decoded(registry, names["avro"], key, "key") for key, _ in avros] == [f"o{n}" for n in expected]
    assert [row.FromString((value or b"")[6:]).n for _, value in job.contents(names["proto"])] == expected
    assert [json.loads(value or b"")["n"] for _, value in job.contents(names["json"])] == expected
    assert sorted(pq.read_table(tmp_path / "parquet")["n"].to_pylist()) == expected
    assert sorted(DeltaTable(str(tmp_path / "delta")).to_pyarrow_table()["n"].to_pylist()) == expected
    assert letters(job) == []
