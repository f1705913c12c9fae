"""One real Kafka and one real ZooKeeper for the whole session, and names that no other test uses.

A test that stops or kills a server takes `own_kafka` or `own_zookeeper`.
"""

import itertools
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.engine import Job, kafka_sink, raw_source
from integration.planning_replica import Replica
from integration.postgres_bench import Bench, MakeBench
from integration.postgres_server import PostgresServer
from integration.registry_server import RegistryServer
from integration.written_job import create_topics
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import build_session
from tandem.jobapi.frozen_code import folders_of
from tandem.jobapi.job import make_importable
from tandem.kafka.client import KafkaConnection
from tandem.manifest import SparkSpec

# Tests kill only processes, never the machine; and a disk that is busy for a second is not ZooKeeper's silence.
UNSYNCED = {"forceSync": "no"}
# Topics of tests keep what they have, whatever their settings say.
KEPT = {"log.retention.check.interval.ms": "86400000"}

# No JVM here lives long enough for the compiler that pays off after minutes, except the session's broker.
os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1"

LONGEST = (
    "evaluation",
    "tutorial_first_job",
    "tutorial_upgrade",
    "failures_leader",
    "demo",
    "causal",
    "lanes",
    "realtime_replicas",
    "standby",
    "wheel",
)
"""Files with few tests that take long: they begin first, or one worker would have them at the end, alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in the order of `LONGEST`, then all others in the order of their names."""
    names = [f"test_{name}" for name in LONGEST]
    items.sort(key=lambda item: names.index(item.path.stem) if item.path.stem in names else len(names))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that lives as long as the session: do not stop it."""
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"), extra=KEPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JAVA_TOOL_OPTIONS")
        broker.start()
    try:
        yield broker
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A ZooKeeper that lives as long as the session: do not stop it."""
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"), extra=UNSYNCED) as server:
        yield server


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    """A schema registry that lives as long as the session: do not stop it."""
    with RegistryServer(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture
def own_registry(tmp_path: Path) -> Iterator[RegistryServer]:
    """A schema registry of the test's own, running, to stop, kill, pause and restart."""
    with RegistryServer(tmp_path / "registry") as server:
        yield server


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session as a replica has it; a test file may say for how many tasks at a time, by `SLOTS`."""
    folder, jars = tmp_path_factory.mktemp("spark"), Jars.resolve().spark_classpath()
    slots = getattr(request.module, "SLOTS", 0)
    session = build_session("tests", "replica-0", SparkSpec(), jars, folder, slots=slots)
    yield session
    session.stop()


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """A new folder each time that it is asked."""
    return (tmp_path / str(number) for number in itertools.count())


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Iterator[Job]:
    """A job over the raw source `events` with the sink `out`."""
    made = Job(spark, tmp_path / "job", [raw_source()], [kafka_sink()])
    yield made
    made.stop()


@pytest.fixture
def replica(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Replica]:
    """Makes a replica's part that makes plans, of the code of a job."""
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def make(code: str, agreed: Mapping[str, str] | None = None) -> Replica:
        made = Replica(spark, tmp_path, code, agreed)
        make_importable(made.kept, folders_of(made.manifest))
        return made

    return make


@pytest.fixture
def connection(kafka: KafkaBroker) -> KafkaConnection:
    """To the session's broker."""
    return KafkaConnection({"bootstrap.servers": kafka.bootstrap})


@pytest.fixture
def topic(kafka: KafkaBroker, topic_prefix: str) -> str:
    """A topic of the test's own, with one partition."""
    create_topics(kafka.bootstrap, {topic_prefix: 1})
    return topic_prefix


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[KafkaBroker]:
    """A broker of the test's own, running, to stop, kill, pause and restart."""
    with KafkaBroker(tmp_path / "kafka") as broker:
        yield broker


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    """A ZooKeeper of the test's own, running, to stop, kill, pause and restart."""
    with ZooKeeperServer(tmp_path / "zookeeper", extra=UNSYNCED) as server:
        yield server


@pytest.fixture
def topic_prefix(request: pytest.FixtureRequest) -> str:
    """A name that no other test or run uses: fit for topics, transactional ids, job names and ZooKeeper paths."""
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:30].strip("-")
    return f"{readable}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that lives as long as the session: do not stop it."""
    with PostgresServer(tmp_path_factory.mktemp("postgres")) as server:
        os.environ["PG_PASSWORD"] = server.password
        yield server


@pytest.fixture
def own_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    """A PostgreSQL of the test's own, running, to stop, kill, pause and restart."""
    with PostgresServer(tmp_path / "postgres") as server:
        monkeypatch.setenv("PG_PASSWORD", server.password)
        yield server


@pytest.fixture
def bench(postgres: PostgresServer) -> MakeBench:
    return lambda columns, **sink: Bench(postgres, columns, **sink)
