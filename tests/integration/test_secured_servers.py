"""TLS and passwords of Kafka and ZooKeeper are passed through: by its manifest a job reaches servers that refuse others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.handlers.threading import KazooTimeoutError

from integration.secured import PASSWORD, USER, Certificate, Secured, secured_servers
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ConnectionFailedError
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest import Manifest, load

pytestmark = pytest.mark.integration

MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {{name: secured}}
spec:
  job: {{file: job.py}}
  kafka:
    bootstrapServers: {bootstrap}
    properties: {{security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: {user}, ssl.ca.location: {ca}}}
    secretProperties: {{sasl.password: {{env: KAFKA_PASSWORD}}}}
  zookeeper:
    connect: {connect}
    useTls: true
    caFile: {ca}
    auth: {{credentials: {{env: ZOOKEEPER_LOGIN}}}}
  sources: [{{name: events, topics: [in]}}]
  sinks: [{{name: copies, topic: out}}]
"""
RIGHT = {"KAFKA_PASSWORD": PASSWORD, "ZOOKEEPER_LOGIN": f"{USER}:{PASSWORD}"}
WRONG = {"KAFKA_PASSWORD": "guessed", "ZOOKEEPER_LOGIN": f"{USER}:guessed"}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_servers(tmp_path_factory.mktemp("secured")) as servers:
        yield servers


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Another certificate for the same address."""
    return Certificate.made(tmp_path_factory.mktemp("stranger"), "127.0.0.1")


def manifest(folder: Path, secured: Secured, certificate: Certificate) -> Manifest:
    (folder / "job.py").write_text("def job(events): ...")
    path, kafka = folder / "job.yaml", secured.kafka.sasl_bootstrap
    path.write_text(MANIFEST.format(bootstrap=kafka, connect=secured.zookeeper_tls, ca=certificate.ca, user=USER))
    return load(path)


def asked_of_zookeeper(manifest: Manifest, environ: dict[str, str], patience_s: float = 30.0) -> list[str]:
    options: Any = manifest.zookeeper_options(environ)
    client = KazooClient(**options)
    try:
        client.start(patience_s)
        client.ensure_path("/a")
        names: list[str] = client.get_children("/")
        return names
    finally:
        client.stop()
        client.close()


def test_a_job_reaches_both_by_what_its_manifest_says(secured: Secured, tmp_path: Path) -> None:
    job = manifest(tmp_path, secured, secured.certificate)

    topics = Topics(KafkaConnection(job.kafka_properties(RIGHT)))
    topics.ensure([NewTopic("secured", 1)])
    assert topics.partitions(["secured"])
    assert asked_of_zookeeper(job, RIGHT) == ["a"]


def test_who_does_not_know_the_passwords_gets_nothing(secured: Secured, tmp_path: Path) -> None:
    job = manifest(tmp_path, secured, secured.certificate)

    with pytest.raises(ConnectionFailedError, match=r"(?i)auth"):
        Topics(KafkaConnection(job.kafka_properties(WRONG))).partitions(["secured"])
    with pytest.raises(NoAuthError):
        asked_of_zookeeper(job, WRONG)


def test_servers_that_show_another_certificate_are_not_talked_to(
    secured: Secured, stranger: Certificate, tmp_path: Path
) -> None:
    job = manifest(tmp_path, secured, stranger)

    with pytest.raises(ConnectionFailedError, match=r"(?i)certificate"):
        Topics(KafkaConnection(job.kafka_properties(RIGHT))).partitions(["secured"])
    with pytest.raises(KazooTimeoutError):
        asked_of_zookeeper(job, RIGHT, 5.0)
