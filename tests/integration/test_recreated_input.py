"""An input topic that was deleted and created again is another topic, however many records it has."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from integration.refusals import Refusals
from integration.small_job import COPY, HEARTBEAT, SmallJob
from integration.tiers import variants
from integration.traffic import PARTITIONS
from integration.workload import Cluster
from integration.written_job import PATIENCE_S, WrittenJob, create_topics, marker, transactional_producer
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TopicMismatchError
from tandem.kafka.history import current_decisions, watermarks
from tandem.kafka.topic_ids import ids_of
from tandem.kafka.topics import NewTopic, Topics
from tandem.orderer.inputs import InputWatch
from tandem.protocol.values import Cut, Offsets, TopicPartition
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def begun(kafka: KafkaBroker, topic_prefix: str) -> WrittenJob:
    """A job that has read 10 of 20 input records; its log says which topic that was."""
    begun = WrittenJob(kafka.bootstrap, topic_prefix)
    begun.feed(20)
    ids = ids_of(Topics(begun.connection), [begun.input, begun.commits])
    assert len(ids) == 2
    offset = begun.propose(Cut(0, begun.positions(10), 1_000, 0, "orderer-0", ids))
    begun.publish(marker(0, 0, offset), [])
    return begun


def create_again(bootstrap: str, topic: str, partitions: int = 1) -> None:
    """Delete a topic, and create another one of its name, which is empty."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_topics([topic]).values():
        future.result(PATIENCE_S)
    topics = Topics(KafkaConnection({"bootstrap.servers": bootstrap}))

    def is_there_again() -> bool:
        try:
            topics.ensure([NewTopic(topic, partitions)])
            return topics.ends({topic: partitions}, "read_uncommitted")[TopicPartition(topic, 0)] == 0
        except (KafkaException, TopicMismatchError):
            return False

    assert wait_until(is_there_again, Deadline(PATIENCE_S))


def test_while_the_job_is_down_neither_orderer_nor_replica_reads_on_in_another_topic(
    begun: WrittenJob, tmp_path: Path
) -> None:
    create_again(begun.bootstrap, begun.input)
    begun.feed(30)
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    for program in ("orderer", "replica"):
        story = job.refused(program, job.manifest())
        assert story.error == "RecreatedTopicError"
        assert f"topic {begun.input} (its id was " in story.reason
        assert "give the job another metadata.name" in story.reason

    assert watermarks(begun.connection, begun.ordering, PATIENCE_S)[1] == begun.log_offset  # nothing was cut


@pytest.mark.parametrize("log", variants(["commits", "ordering"], in_ci=["commits"]))
def test_a_log_of_the_job_that_is_gone_is_not_begun_again(begun: WrittenJob, tmp_path: Path, log: str) -> None:
    """Tandem makes the topic that is missing, and sees that it is not the one that the job has written."""
    Topics(begun.connection).delete([f"{begun.name}.{log}"])
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    for program in ("orderer", "replica"):
        assert "was deleted and created again" in job.refused(program, job.manifest()).reason


def test_while_the_job_runs_the_orderer_ends_and_has_cut_nothing_of_another_topic(
    begun: WrittenJob, tmp_path: Path
) -> None:
    job = Refusals(tmp_path, begun.bootstrap, begun.name)

    def runs() -> bool:
        return '"started"' in (tmp_path / "orderer.log").read_text()

    def meanwhile() -> None:
        assert wait_until(runs, Deadline(PATIENCE_S))
        create_again(begun.bootstrap, begun.input)
        begun.feed(30)

    assert job.refused("orderer", job.manifest(), meanwhile).error == "RecreatedTopicError"
    ends = current_decisions(begun.connection, begun.ordering, begun.commits).last_ends
    assert ends[TopicPartition(begun.input, 0)] <= 20  # of the first topic it may have cut what was left


def test_a_running_replica_that_misses_records_says_that_their_topic_is_another_one(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, topic_prefix: str, tmp_path: Path
) -> None:
    sinks = [{"name": "copies", "topic": f"{topic_prefix}-copies"}]
    spec = {"sinks": sinks, "ordering": HEARTBEAT, "replicas": 1}
    job = SmallJob(tmp_path / "job", Cluster(kafka, zookeeper), topic_prefix, COPY, **spec)
    try:
        job.local.start()
        job.feed("1", "2")
        job.wait_for("1", "2")
        job.local.kill("generator-0", signal.SIGSTOP)  # it would say so itself, and end the job
        create_again(kafka.bootstrap, job.input, PARTITIONS)
        log = current_decisions(job.connection, job.ordering, job.commits)
        ends = Offsets({**log.last_ends, TopicPartition(job.input, 0): 9})
        appender = ProposalAppender(job.connection, job.ordering)
        appender.append(Cut(log.last_epoch + 1, ends, int(time.time() * 1000), 7, "generator-0"))
        appender.close(PATIENCE_S)

        assert f"topic {job.input} (its id was " in job.end().reason
    finally:
        job.local.stop()


def test_an_open_transaction_is_named_until_it_ends_and_what_is_behind_it_counts_as_waiting(
    kafka: KafkaBroker, topic_prefix: str, connection: KafkaConnection
) -> None:
    topic = f"{topic_prefix}.in"
    create_topics(kafka.bootstrap, {topic: 1})
    producer = transactional_producer(kafka.bootstrap, topic_prefix)
    producer.begin_transaction()
    for _ in range(4):
        producer.produce(topic, b"open")
    assert producer.flush(PATIENCE_S) == 0
    watch = InputWatch(connection, {topic: "read_committed"})
    start = Offsets({TopicPartition(topic, 0): 0})

    for second in (1, 7, 13):
        watch.refresh(start, second * 1_000.0)

    assert [(one.topic, one.partition, one.offset, one.records, one.seconds) for one in watch.held] == [
        (topic, 0, 0, 4, 12.0)
    ]
    available = watch.ends()
    assert available == start
    assert watch.waiting(available, start) == 4

    producer.abort_transaction(PATIENCE_S)
    assert wait_until(lambda: watch.ends() != start, Deadline(PATIENCE_S))
    watch.refresh(start, 19_000.0)
    assert watch.held == ()
