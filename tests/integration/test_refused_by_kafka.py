"""What Kafka does not take, on a broker with rights: refused at the start, or named while it lasts; then the job goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from integration.refusals import COPY, Refusals
from integration.small_job import HEARTBEAT
from integration.workload import START_DEADLINE_S
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import Topics
from tandem.local import LocalJob
from tandem.local.observe import Observer
from tandem.local.screen import progress_line

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

USER, PASSWORD = "tandem", "its-password"
NAME = "refused-by-kafka"
PATIENCE_S = 60.0
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
Allow, Deny = AclPermissionType.ALLOW, AclPermissionType.DENY


class Guarded:
    """A broker where the user of the job may do what it was given; the test itself may do all."""

    def __init__(self, kafka: KafkaBroker) -> None:
        self.kafka = kafka
        self.admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})

    def acl(
        self, kind: ResourceType, name: str, operation: AclOperation, permission: AclPermissionType = Allow
    ) -> AclBinding:
        literal = ResourcePatternType.LITERAL
        return AclBinding(kind, name, literal, f"User:{USER}", "*", operation, permission)

    def give(self, *acls: AclBinding) -> None:
        for future in self.admin.create_acls(list(acls)).values():
            future.result(30)

    def take_away(self, acl: AclBinding) -> None:
        only = AclBindingFilter(
            acl.restype,
            acl.name,
            acl.resource_pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for future in self.admin.delete_acls([only]).values():
            future.result(30)

    def topic(self, name: str) -> None:
        self.admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)

    def delete(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(30)

    def feed(self, *values: str) -> None:
        for value in values:
            self._producer.produce(f"{NAME}.in", value)
        assert self._producer.flush(60) == 0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    with KafkaBroker(folder, sasl_users={USER: PASSWORD}, extra=AUTHORIZER) as kafka:
        made = Guarded(kafka)
        made.give(
            made.acl(ResourceType.TOPIC, "*", AclOperation.ALL),
            made.acl(ResourceType.BROKER, "kafka-cluster", AclOperation.CREATE),
            made.acl(ResourceType.GROUP, "*", AclOperation.ALL),
        )
        yield made


@pytest.fixture(scope="module")
def manifest(guarded: Guarded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Refusals(tmp_path_factory.mktemp("job"), guarded.kafka.bootstrap, NAME)
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN"}
    kafka = {
        "bootstrapServers": guarded.kafka.sasl_bootstrap,
        "properties": {**properties, "sasl.username": USER},
        "secretProperties": {"sasl.password": {"env": "KAFKA_PASSWORD"}},
    }
    return made.manifest(COPY, kafka=kafka, ordering=HEARTBEAT)


class Running:
    """The job, watched as `tandem run` does."""

    def __init__(self, manifest: Path, guarded: Guarded) -> None:
        self.local = LocalJob(manifest, manifest.parent / "run")
        self._observer = Observer.of(self.local)
        self._topics = Topics(KafkaConnection({"bootstrap.servers": guarded.kafka.bootstrap}))
        self.said = ""

    def shows(self, *words: str, within_s: float = PATIENCE_S) -> bool:
        """Whether the line that `tandem run` prints comes to have these words."""

        def has_them() -> bool:
            self.said = progress_line(self._observer.look())
            return all(word in self.said for word in words)

        return self.local.wait_until(has_them, within_s)

    def is_fine(self) -> bool:
        """Whether no trouble is shown any more."""
        return self.local.wait_until(lambda: not self._observer.look().troubles, PATIENCE_S)


@pytest.mark.thorough
def test_a_job_that_may_not_use_its_transactional_id_is_refused_at_its_start(guarded: Guarded, manifest: Path) -> None:
    refusals = Refusals(manifest.parent, guarded.kafka.bootstrap, NAME)

    story = refusals.refused("replica", manifest, KAFKA_PASSWORD=PASSWORD)

    assert story.error == "NotAllowedError"
    assert "(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)" in story.reason
    assert "rights Write and Describe on transactional ids" in story.reason


@pytest.fixture(scope="module")
def job(guarded: Guarded, manifest: Path) -> Iterator[Running]:
    guarded.give(guarded.acl(ResourceType.TRANSACTIONAL_ID, "*", AclOperation.ALL))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KAFKA_PASSWORD", PASSWORD)
        made = Running(manifest, guarded)
        made.local.start()
        guarded.feed("first")
        assert made.shows("epoch 0", "publishes", within_s=START_DEADLINE_S), made.said
        yield made
        made.local.stop()


def test_a_right_that_is_taken_away_is_named_until_it_is_given_back(guarded: Guarded, job: Running) -> None:
    denied = guarded.acl(ResourceType.TOPIC, f"{NAME}.out", AclOperation.WRITE, Deny)
    guarded.give(denied)
    guarded.feed("second")

    assert job.shows("Kafka does not take the output", "TOPIC_AUTHORIZATION_FAILED"), job.said
    assert job.shows(f"the account may not write topic {NAME}.out. Give it the right Write"), job.said
    guarded.take_away(denied)
    assert job.is_fine(), job.said
    assert job.shows("epoch 1"), job.said


def test_a_topic_that_is_deleted_is_named_until_it_is_there_again(guarded: Guarded, job: Running) -> None:
    guarded.delete(f"{NAME}.out")
    guarded.feed("third")

    assert job.shows(f"topic {NAME}.out does not exist any more", "Create it again"), job.said
    guarded.topic(f"{NAME}.out")
    assert job.is_fine(), job.said
    assert job.shows("epoch 2"), job.said
