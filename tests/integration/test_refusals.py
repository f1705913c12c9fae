"""What cannot work is refused: exit code 78, one line that says what, where and how to fix it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.refusals import COPY, Refusals
from integration.written_job import PATIENCE_S
from tandem.devservers import KafkaBroker
from tandem.devservers.server import free_ports
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.topics import NewTopic
from tandem.manifest import config_parts, load
from tandem.protocol.values import Config, Offsets
from tandem.replica.identity_parts import identity_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

USER, PASSWORD, WRONG = "flights", "right-9f3a", "wrong-27c1"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that wants a password, beside its open listener."""
    with KafkaBroker(tmp_path_factory.mktemp("guarded"), sasl_users={USER: PASSWORD}) as broker:
        yield broker


@pytest.fixture
def job(kafka: KafkaBroker, tmp_path: Path, topic_prefix: str) -> Refusals:
    return Refusals(tmp_path, kafka.bootstrap, topic_prefix)


@pytest.mark.parametrize("program", ["orderer", "replica"])
def test_a_source_topic_that_does_not_exist(job: Refusals, program: str) -> None:
    manifest = job.manifest(sources=[{"name": "events", "topics": [f"{job.name}.in", "no-such-input"]}])

    story = job.refused(program, manifest)

    assert story.error == "MissingTopicError"
    assert story.reason.startswith("topic no-such-input does not exist. Create it, or correct its name in the manifest")


def test_a_sink_topic_that_does_not_exist(job: Refusals) -> None:
    story = job.refused("orderer", job.manifest(sinks=[{"name": "out", "topic": "no-such-output"}]))

    assert story.reason.startswith("topic no-such-output does not exist. Create it")


@pytest.mark.parametrize("program", ["orderer", "replica"])
def test_wrong_credentials_are_told_at_once_and_no_secret_is_logged(
    guarded: KafkaBroker, job: Refusals, program: str
) -> None:
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.username": USER}
    secret = {"sasl.password": {"env": "KAFKA_PASSWORD"}}
    manifest = job.manifest(
        kafka={"bootstrapServers": guarded.sasl_bootstrap, "properties": properties, "secretProperties": secret}
    )

    started = time.monotonic()
    story = job.refused(program, manifest, KAFKA_PASSWORD=WRONG)

    assert time.monotonic() - started < 30, "it waited for a broker that had answered long ago"
    assert story.error == "ConnectionFailedError"
    assert f"Kafka at {guarded.sasl_bootstrap} refused the connection: " in story.reason
    assert "Authentication failed" in story.reason
    assert "spec.kafka.secretProperties" in story.reason
    assert WRONG not in (job.folder / f"{program}.log").read_text()

    right = job.refused(program, manifest, KAFKA_PASSWORD=PASSWORD)
    assert "does not exist" in right.reason, "the right password is let in, and finds a broker without these topics"
    assert PASSWORD not in (job.folder / f"{program}.log").read_text()


def test_a_secret_that_is_not_set(job: Refusals) -> None:
    secret = {"sasl.password": {"env": "NO_SUCH_VARIABLE"}}
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.username": USER}
    kafka = {"bootstrapServers": job.bootstrap, "properties": properties, "secretProperties": secret}

    story = job.refused("orderer", job.manifest(kafka=kafka))

    assert (
        "spec.kafka.secretProperties[sasl.password]: the environment variable NO_SUCH_VARIABLE is not set"
        in story.reason
    )


def test_no_broker_at_the_address(job: Refusals) -> None:
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"

    started = time.monotonic()
    story = job.refused("orderer", job.manifest(kafka={"bootstrapServers": address}))

    assert time.monotonic() - started < 40
    assert story.error == "ConnectionFailedError"
    assert story.reason.startswith(f"no answer from Kafka at {address} within 10 s")
    assert "Check spec.kafka.bootstrapServers" in story.reason


def test_a_log_with_several_partitions(job: Refusals) -> None:
    job.topics.ensure([NewTopic(f"{job.name}.commits", 3)])

    story = job.refused("orderer", job.manifest())

    assert story.error == "TopicMismatchError"
    assert f"topic {job.name}.commits has 3 partitions" in story.reason
    assert "spec.kafka.topics" in story.reason


def test_a_topic_that_cannot_be_created(job: Refusals) -> None:
    story = job.refused("orderer", job.manifest(kafka={"bootstrapServers": job.bootstrap, "replicationFactor": 3}))

    assert story.error == "TopicMismatchError"
    assert f"topic {job.name}.ordering cannot be created: " in story.reason
    assert "spec.kafka.replicationFactor" in story.reason


def test_a_sink_that_does_not_take_records_as_large_as_promised(job: Refusals) -> None:
    story = job.refused("replica", job.manifest(maxRecordBytes=1_100_000))

    assert story.error == "TopicMismatchError"
    assert f"topic {job.name}.out takes at most 1048588 bytes (its max.message.bytes)" in story.reason
    assert "at least 1116384" in story.reason


def test_a_table_of_an_earlier_run_is_told_at_once(job: Refusals, tmp_path: Path) -> None:
    table = tmp_path / "archive"
    table.mkdir()
    (table / "epoch-000000010000.parquet").touch()
    manifest = job.manifest(sinks=[{"name": "archive", "parquet": {"path": str(table)}}])

    story = job.refused("replica", manifest)

    assert story.error == "TableError"
    assert story.reason.startswith(f"sink archive: the parquet table {table} has epochs up to 10000")


@pytest.mark.parametrize("program", ["orderer", "replica"])
def test_a_manifest_of_a_newer_version(job: Refusals, program: str) -> None:
    manifest = job.manifest(ofTomorrow=True)

    assert job.refused(program, manifest).reason.startswith(f"{manifest}:1: spec.ofTomorrow: ")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ({"file": "jib.py"}, "jib.py: No such file or directory"),
        ({"module": "no_such.jib"}, "there is no module no_such.jib"),
    ],
)
def test_code_that_is_not_there(job: Refusals, code: dict[str, str], reason: str) -> None:
    story = job.refused("replica", job.manifest(job=code))

    assert story.error == "CodeNotFoundError"
    assert story.reason.endswith(reason)


def test_a_log_that_another_job_began_is_refused_with_what_differs(job: Refusals) -> None:
    theirs = load(job.manifest(code=COPY + "# older", job={"file": "job.py", "options": {"colour": "red"}}))
    job.topics.ensure([NewTopic(f"{job.name}.ordering")])
    appender = ProposalAppender(job.connection, f"{job.name}.ordering")
    appender.append(Config(0, identity_of(config_parts(theirs)), Offsets(), "replica-7"))
    appender.close(PATIENCE_S)

    story = job.refused("replica", job.manifest())

    assert story.error == "OtherJobError"
    assert f"not the one that {job.name}.ordering runs, by replica-7: different are the job's code" in story.reason
    assert "spec.job.options. If the change is meant" in story.reason
    assert "run the same files and versions in every replica" in story.reason
    assert "Spark" not in (job.folder / "replica.log").read_text(), "it is refused before anything slow"
