"""`tandem dev` with a schema registry and a PostgreSQL, because a manifest names them: a job uses both."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import psycopg
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient

from integration.avro_records import avro
from integration.command import Command
from integration.waiting import PATIENCE_S, gone
from tandem.devservers.server import free_ports
from tandem.manifest.models import default_checkpoint_directory
from tandem.process.info import ExitCode

pytestmark = pytest.mark.integration

MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {{name: {job}}}
spec:
  job: {{file: job.py}}
  replicas: 1
  kafka: {{bootstrapServers: "localhost:{kafka}"}}
  zookeeper: {{connect: "localhost:{zookeeper}"}}
  schemaRegistry: {{url: "http://localhost:{registry}/apis/ccompat/v7"}}
  sources: [{{name: orders, topics: [orders], format: avro}}]
  sinks:
    - name: bought
      postgres:
        {{host: localhost, port: {postgres}, database: shop, user: tandem, password: {{env: SHOP_PASSWORD}}, table: bought}}
"""
CODE = 'def job(orders):\n    return orders.select("id", "n")\n'
OPTIONS = ("kafka", "zookeeper", "registry", "postgres")
Begin = Callable[..., Command]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Begins commands in the folder of the job; all that still run are ended afterwards."""
    begun: list[Command] = []

    def make(*words: str, **env: str) -> Command:
        begun.append(Command(*words, cwd=tmp_path, XDG_RUNTIME_DIR=str(tmp_path), **env))
        return begun[-1]

    yield make
    for command in reversed(begun):
        command.close()


@pytest.mark.thorough
def test_a_job_reads_by_the_registry_and_writes_into_the_database_and_both_keep_what_they_hold(
    begin: Begin, tmp_path: Path, topic_prefix: str
) -> None:
    ports = dict(zip(OPTIONS, free_ports(4), strict=True))
    job = f"dev-{topic_prefix[-8:]}"
    (tmp_path / "job.yaml").write_text(MANIFEST.format(job=job, **ports))
    (tmp_path / "job.py").write_text(CODE)
    words = ["dev", "job.yaml", *(word for name in OPTIONS for word in (f"--{name}-port", str(ports[name])))]

    dev = begin(*words)
    assert dev.says("tandem run job.yaml"), dev.output
    assert f"Registry   http://127.0.0.1:{ports['registry']}/apis/ccompat/v7\n" in dev.output
    database = f"127.0.0.1:{ports['postgres']}, database shop (made: 1), user tandem, password in $SHOP_PASSWORD"
    assert f"PostgreSQL {database}\n" in dev.output
    assert "it names" not in dev.output
    password = password_of(dev, tmp_path)
    login = f"host=127.0.0.1 port={ports['postgres']} user=tandem password={password} dbname=shop"
    with psycopg.connect(login) as connection:
        connection.execute("CREATE TABLE bought (id text, n bigint)")

    registry: Any = SimpleNamespace(url=f"http://127.0.0.1:{ports['registry']}/apis/ccompat/v7")
    produce(ports["kafka"], avro(registry, "orders", {"id": "tea", "n": 2}))
    run = begin("run", "job.yaml", "--no-screen", SHOP_PASSWORD=password)
    run.when(lambda: rows(login) != [])
    assert rows(login) == [("tea", 2)], run.output

    interrupt(run)
    with psycopg.connect(login):
        interrupt(dev)
    log = tmp_path / ".tandem" / "dev" / "postgres" / "postgres.log"
    assert "database system is shut down" in log.read_text(), "it was killed, since a client was still there"
    shutil.rmtree(default_checkpoint_directory(job), ignore_errors=True)
    again = begin(*words)
    assert again.says("tandem run job.yaml"), again.output
    assert password_of(again, tmp_path) == password
    assert rows(login) == [("tea", 2)]
    assert SchemaRegistryClient({"url": registry.url}).get_subjects() == ["orders-value"]
    interrupt(again)


def password_of(dev: Command, folder: Path) -> str:
    """As the line to type takes it from a file, which is its owner's alone."""
    found = re.search(r'export SHOP_PASSWORD="\$\(cat (\S+)\)"', dev.output)
    assert found, dev.output
    path = folder / found[1]
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text().strip()


def produce(port: int, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}"})
    producer.produce("orders", value)
    assert producer.flush(PATIENCE_S) == 0


def rows(login: str) -> list[tuple[str, int]]:
    with psycopg.connect(login) as connection:
        return cast(list[tuple[str, int]], connection.execute("SELECT id, n FROM bought").fetchall())


def interrupt(command: Command) -> None:
    """Ctrl-C: it ends well, and leaves no process behind."""
    children = psutil.Process(command.pid).children(recursive=True)
    os.kill(command.pid, signal.SIGINT)
    assert command.exit_code() == ExitCode.OK, command.output
    assert all(gone(child.pid) for child in children)
