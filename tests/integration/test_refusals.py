"""What cannot work is refused: exit code 78, one line that says what, where and how to mend it, and no restart storm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AdminClient
from written_job import PATIENCE_S, WrittenJob

from tandem.embedded import KafkaBroker
from tandem.embedded.ports import free_ports
from tandem.embedded.waiting import Deadline, wait_until
from tandem.engine.fetch import EpochFetcher
from tandem.engine.interface import EnginePosition
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, TopicMismatchError
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob
from tandem.local.endings import LogStory, read_story
from tandem.manifest import config_parts, load
from tandem.process import ExitCode
from tandem.protocol.values import Config, Positions, TopicPartition
from tandem.replica.identity import identity_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

COPY = "def job(events):\n    return events.select('key', 'value')\n"
USER, PASSWORD, WRONG = "flights", "right-9f3a", "wrong-27c1"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that wants a password, beside its open listener."""
    with KafkaBroker(tmp_path_factory.mktemp("guarded"), sasl_users={USER: PASSWORD}) as broker:
        yield broker


class Refusals:
    """A job whose topics are all there, in a folder of its own, to be spoilt by a test."""

    def __init__(self, folder: Path, bootstrap: str, name: str) -> None:
        self.folder, self.name = folder, name
        self.bootstrap = bootstrap
        self.connection = KafkaConnection({"bootstrap.servers": bootstrap})
        self.topics = Topics(self.connection)
        self.topics.ensure([NewTopic(f"{name}.in"), NewTopic(f"{name}.out", 2)])

    def manifest(self, code: str = COPY, **spec: Any) -> Path:
        """The job's manifest; `spec` overrides its fields."""
        (self.folder / "job.py").write_text(code)
        body = {
            "job": {"file": "job.py"},
            "replicas": 1,
            "kafka": {"bootstrapServers": self.bootstrap},
            "sources": [{"name": "events", "topics": [f"{self.name}.in"]}],
            "sinks": [{"name": "out", "topic": f"{self.name}.out"}],
            "ordering": {"mode": "heartbeat", "generators": 1},
            "checkpoint": {"directory": str(self.folder / "checkpoint")},
            **spec,
        }
        metadata = {"name": self.name}
        manifest = {
            "apiVersion": "tandem.dev/v1alpha1",
            "kind": "ReplicatedStreamJob",
            "metadata": metadata,
            "spec": body,
        }
        path = self.folder / "job.yaml"
        path.write_text(json.dumps(manifest))
        return path

    def refused(self, program: str, manifest: Path, **environ: str) -> LogStory:
        """Run the program until it refuses; why it did. Its reason is one line of text."""
        log = self.folder / f"{program}.log"
        with log.open("wb") as out:
            code = subprocess.call(
                [sys.executable, "-m", f"tandem.{program}", str(manifest)],
                env={**os.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                timeout=60,
            )
        assert code == ExitCode.REFUSED, log.read_text()
        story = read_story(log, 0)
        assert story.reason
        assert "\n" not in story.reason
        return story


@pytest.fixture
def job(kafka: KafkaBroker, tmp_path: Path, topic_prefix: str) -> Refusals:
    return Refusals(tmp_path, kafka.bootstrap, topic_prefix)


# The cluster ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["orderer", "replica"])
def test_a_source_topic_that_does_not_exist(job: Refusals, program: str) -> None:
    manifest = job.manifest(sources=[{"name": "events", "topics": [f"{job.name}.in", "no-such-input"]}])

    story = job.refused(program, manifest)

    assert story.error == "MissingTopicError"
    assert story.reason.startswith("topic no-such-input does not exist. Create it, or correct its name in the manifest")


def test_a_sink_topic_that_does_not_exist(job: Refusals) -> None:
    story = job.refused("orderer", job.manifest(sinks=[{"name": "out", "topic": "no-such-output"}]))

    assert story.reason.startswith("topic no-such-output does not exist. Create it")


def test_wrong_credentials_are_told_at_once_and_no_secret_is_logged(guarded: KafkaBroker, job: Refusals) -> None:
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.username": USER}
    secret = {"sasl.password": {"env": "KAFKA_PASSWORD"}}
    manifest = job.manifest(
        kafka={"bootstrapServers": guarded.sasl_bootstrap, "properties": properties, "secretProperties": secret}
    )

    started = time.monotonic()
    story = job.refused("orderer", manifest, KAFKA_PASSWORD=WRONG)

    assert time.monotonic() - started < 8, "it waited for a broker that had answered long ago"
    assert story.error == "ConnectionFailedError"
    assert f"Kafka at {guarded.sasl_bootstrap} refused the connection: " in story.reason
    assert "Authentication failed" in story.reason
    assert "spec.kafka.secretProperties" in story.reason
    assert WRONG not in (job.folder / "orderer.log").read_text()

    right = job.refused("orderer", manifest, KAFKA_PASSWORD=PASSWORD)
    assert "does not exist" in right.reason, "the right password is let in, and finds a broker without these topics"
    assert PASSWORD not in (job.folder / "orderer.log").read_text()


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

    assert time.monotonic() - started < 25
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


# The job's identity --------------------------------------------------------------------------------------------------


def test_a_log_that_another_job_began_is_refused_with_what_differs(job: Refusals) -> None:
    theirs = load(job.manifest(code=COPY + "# older", job={"file": "job.py", "options": {"colour": "red"}}))
    job.topics.ensure([NewTopic(f"{job.name}.ordering")])
    appender = ProposalAppender(job.connection, f"{job.name}.ordering")
    appender.append(Config(0, identity_of(config_parts(theirs)), Positions(), "replica-7"))
    appender.close(PATIENCE_S)

    story = job.refused("replica", job.manifest())

    assert story.error == "RefusedError"
    assert (
        f"not the one that {job.name}.ordering was begun with, by replica-7: different are the job's code"
        in story.reason
    )
    assert "spec.job.options. Run the same files and versions in every replica" in story.reason


# Input that is gone --------------------------------------------------------------------------------------------------


@pytest.fixture
def begun(kafka: KafkaBroker, topic_prefix: str) -> WrittenJob:
    """A job with 20 input records that has been begun."""
    begun = WrittenJob(kafka.bootstrap, topic_prefix)
    begun.feed(20)
    return begun


def delete_before(begun: WrittenJob, offset: int) -> None:
    """What retention does."""
    admin = AdminClient({"bootstrap.servers": begun.bootstrap})
    for future in admin.delete_records([KafkaTopicPartition(begun.input, 0, offset)]).values():
        future.result(PATIENCE_S)


def make_anew(begun: WrittenJob) -> None:
    """Delete the input topic and create it again."""
    admin = AdminClient({"bootstrap.servers": begun.bootstrap})
    for future in admin.delete_topics([begun.input]).values():
        future.result(PATIENCE_S)
    topics = Topics(begun.connection)

    def is_there_again() -> bool:
        try:
            topics.ensure([NewTopic(begun.input)])
            return topics.ends({begun.input: 1}, "read_uncommitted")[TopicPartition(begun.input, 0)] == 0
        except (KafkaException, TopicMismatchError):
            return False

    assert wait_until(is_there_again, Deadline(PATIENCE_S))


def test_the_orderer_refuses_when_input_was_deleted_before_the_job_read_any(begun: WrittenJob, tmp_path: Path) -> None:
    delete_before(begun, 5)
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    story = job.refused("orderer", job.manifest())

    assert story.error == "LostInputError"
    assert f"{begun.input}/0: records 0 to 4 were deleted before the job read them" in story.reason
    assert "Nothing was skipped: restore the records" in story.reason


def test_the_orderer_refuses_when_input_was_deleted_while_the_job_was_stopped(
    begun: WrittenJob, tmp_path: Path
) -> None:
    begun.run([0])
    delete_before(begun, 15)
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    assert f"{begun.input}/0: records 10 to 14 were deleted" in job.refused("orderer", job.manifest()).reason


def test_the_orderer_refuses_a_topic_that_was_made_anew(begun: WrittenJob, tmp_path: Path) -> None:
    begun.run([0])
    make_anew(begun)
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    story = job.refused("orderer", job.manifest())

    assert f"{begun.input}/0: the job has read up to 10, but the topic ends at 0: it was made anew" in story.reason


@pytest.mark.parametrize("published", [False, True])
def test_a_replica_refuses_an_epoch_whose_input_was_deleted(begun: WrittenJob, published: bool) -> None:
    after = EnginePosition()
    if published:
        begun.run([0])
        after = EnginePosition(0, begun.log_offset - 1)
    wanted = after.epoch + 1
    begun.cut(wanted, 10 * (wanted + 1))
    delete_before(begun, 10 * wanted + 5)
    fetcher = EpochFetcher(begun.connection, begun.ordering, {begun.input: "read_committed"}, after)
    epoch = fetcher.next_cut(PATIENCE_S)
    assert epoch is not None

    with pytest.raises(LostInputError, match=rf"{begun.input}/0: offset {10 * wanted} was deleted before it was read"):
        fetcher.fetch(epoch, PATIENCE_S)
    fetcher.close()


# The job's own code: these come as far as Spark, and LocalJob must not start them again ----------------------------------

BROKEN = {
    "raises": "def job(events):\n    raise RuntimeError('no licence')\n",
    "no-import": "import no_such_module\n\ndef job(events):\n    return events\n",
    "undetermined": (
        "from pyspark.sql import functions as F\n\n"
        "def job(events):\n    return events.select(F.current_timestamp().cast('string').alias('value'))\n"
    ),
}
REASONS = {
    "raises": "the job raised RuntimeError: no licence (job.py:2)",
    "no-import": "job.py could not be imported: ModuleNotFoundError: No module named 'no_such_module' (job.py:1)",
    "undetermined": "the job's plan is not determined by its input, so its replicas would differ. Replace current_timestamp",
}


@pytest.fixture(scope="module")
def broken(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LocalJob]]:
    """All three start at the same time, because each takes as long as Spark does."""
    jobs = {}
    for name, code in BROKEN.items():
        job = Refusals(tmp_path_factory.mktemp(name), kafka.bootstrap, f"{name}-{uuid.uuid4().hex[:6]}")
        jobs[name] = LocalJob(job.manifest(code), job.folder / "run").start()
    yield jobs
    for started in jobs.values():
        started.stop()


@pytest.mark.parametrize("name", BROKEN)
def test_a_job_that_cannot_run_is_started_once(broken: dict[str, LocalJob], name: str) -> None:
    outcome = broken[name].wait(240)

    assert outcome is not None, broken[name].log_file("replica-0").read_text()
    assert outcome.code == ExitCode.REFUSED
    assert outcome.reason.startswith(f"replica-0 refused to run: {REASONS[name]}")
    assert "\n" not in outcome.reason
    happened = [event.text for event in broken[name].events() if event.process == "replica-0"]
    assert happened == ["started", f"refused to run: {outcome.reason.partition(': ')[2]}; stays down"]
    assert broken[name].process("replica-0").restarts == 0
