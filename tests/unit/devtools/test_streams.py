"""Names of sources and sinks become topics, or the list of those that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.cli.main import app
from tandem.devtools.addresses import Addresses, databases, named_elsewhere, password_variable
from tandem.devtools.streams import UnknownStreamError, partitions_for, sink_topic, source_topic
from tandem.manifest import Manifest, load

MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: shop}
spec:
  job: {file: job.py}
  kafka: {bootstrapServers: "localhost:9092", topics: {deadLetter: bad}}
  zookeeper: {connect: "kafka:2181/shop"}
  sources: [{name: orders, topics: [eu, us]}, {name: refunds, topics: [back]}]
  sinks: [{name: totals, topic: sums}, {name: lake, parquet: {path: lake}}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(MANIFEST)
    return path


@pytest.fixture
def job(path: Path) -> Manifest:
    return load(path)


def test_a_source_means_its_first_topic_or_the_one_that_is_asked_for(job: Manifest) -> None:
    assert (source_topic(job, "orders"), source_topic(job, "orders", "us")) == ("eu", "us")


def test_a_sink_means_its_topic_and_dead_letter_that_of_the_job(job: Manifest) -> None:
    assert (sink_topic(job, "totals"), sink_topic(job, "dead-letter")) == ("sums", "bad")


def test_what_is_not_there_is_answered_with_what_is(job: Manifest) -> None:
    with pytest.raises(UnknownStreamError, match=r"^job shop has no source order\. Its sources: orders, refunds$"):
        source_topic(job, "order")
    with pytest.raises(UnknownStreamError, match=r"^source orders has no topic back\. Its topics: eu, us$"):
        source_topic(job, "orders", "back")
    with pytest.raises(UnknownStreamError, match=r"^job shop has no sink sums\. Its sinks in Kafka: totals, dead-"):
        sink_topic(job, "sums")
    with pytest.raises(UnknownStreamError, match=r"^sink lake is a table, not a topic\. Its sinks in Kafka: totals, d"):
        sink_topic(job, "lake")


@pytest.mark.parametrize(("command", "known"), [("produce", "orders, refunds"), ("consume", "totals, dead-letter")])
def test_the_commands_list_the_names_before_they_ask_kafka(command: str, known: str, path: Path) -> None:
    result = CliRunner().invoke(app, ["dev", command, str(path), "nothing"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert known in result.stderr


def test_servers_that_the_manifest_names_elsewhere_are_told(job: Manifest) -> None:
    assert list(named_elsewhere(job, Addresses("127.0.0.1:9092", "127.0.0.1:2181"))) == [
        "it names ZooKeeper at kafka:2181/shop; this one is connect: 127.0.0.1:2181"
    ]
    assert [told[:29] for told in named_elsewhere(job, Addresses("127.0.0.1:1", "kafka:2181"))] == [
        "it names Kafka at localhost:9"
    ]


NEEDS_ALL = (
    MANIFEST.replace("spec:", "spec:\n  schemaRegistry: {url: 'REGISTRY'}")
    + """\
    - {name: sold, postgres: {host: HOST, database: shop, user: USER, password: {env: SHOP_DB}, table: sold}}
    - {name: lost, postgres: {host: elsewhere, database: other, user: USER, table: lost}}
"""
).replace("sinks: [{name: totals, topic: sums}, {name: lake, parquet: {path: lake}}]", "sinks:")
HERE = Addresses("127.0.0.1:9092", "kafka:2181", "http://127.0.0.1:8081/apis/ccompat/v7", "127.0.0.1:5432")


def needing(path: Path, registry: str, host: str, user: str) -> Manifest:
    path.write_text(NEEDS_ALL.replace("REGISTRY", registry).replace("HOST", host).replace("USER", user))
    return load(path)


def test_a_registry_and_a_postgresql_that_the_manifest_names_here_are_not_told(path: Path) -> None:
    job = needing(path, "http://localhost:8081/apis/ccompat/v7/", "localhost", "tandem")

    assert list(named_elsewhere(job, HERE)) == [
        "sink lost names PostgreSQL at elsewhere:5432; this one is host: 127.0.0.1, port: 5432"
    ]
    assert (databases(job, "127.0.0.1:5432"), password_variable(job)) == (("shop",), "SHOP_DB")


def test_a_registry_and_a_postgresql_that_the_manifest_names_elsewhere_are_told_if_they_run(path: Path) -> None:
    job = needing(path, "http://r:8081", "127.0.0.1", "me")

    assert list(named_elsewhere(job, HERE))[:2] == [
        "it names the schema registry at http://r:8081; this one is url: http://127.0.0.1:8081/apis/ccompat/v7",
        "sink sold writes as me; the user of this PostgreSQL is user: tandem",
    ]
    assert list(named_elsewhere(job, Addresses("127.0.0.1:9092", "kafka:2181"))) == []


@pytest.mark.parametrize(("lanes", "asked", "made"), [(1, 2, 2), (1, 3, 3), (4, 2, 4), (4, 4, 4), (4, 5, 8), (3, 2, 3)])
def test_a_new_topic_of_a_job_with_lanes_has_a_multiple_of_partitions(
    path: Path, lanes: int, asked: int, made: int
) -> None:
    path.write_text(
        MANIFEST.replace("{name: lake, parquet: {path: lake}}", "{name: more, topic: more}") + f"  lanes: {lanes}\n"
    )
    assert partitions_for(load(path), asked) == made
