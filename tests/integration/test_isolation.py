"""Inputs that are written in transactions: committed, aborted and open ones, with the control records between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from integration.small_job import HEARTBEAT, SmallJob
from integration.workload import Cluster
from integration.written_job import PATIENCE_S, create_topics, transactional_producer
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.intake.fetch import InputReader
from tandem.kafka.client import KafkaConnection
from tandem.protocol.values import Offsets
from tandem.protocol.values import TopicPartition as TP  # noqa: N817
from tandem.verify.read import JobHistory, verify

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

BOTH = """
def job(events, drafts):
    return {"copies": events.select("key", "value"), "drafts": drafts.select("key", "value")}
"""


def begin(producer: Producer, value: str, *topics: str) -> None:
    """Begin a transaction with one record for each topic, which the broker has afterwards."""
    producer.begin_transaction()
    for topic in topics:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def transaction(producer: Producer, value: str, *topics: str, commit: bool = True) -> None:
    """A whole transaction: a record and a control record for each topic."""
    begin(producer, value, *topics)
    end = producer.commit_transaction if commit else producer.abort_transaction
    end(PATIENCE_S)


# One reader ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("isolation_level", "expected"),
    [
        ("read_committed", [[b"kept"], [], [], [b"kept too"], []]),
        ("read_uncommitted", [[b"kept"], [], [b"dropped"], [b"kept too"], [b"dropped too"]]),
    ],
)
def test_epochs_that_end_on_control_records_are_read_to_their_ends(
    kafka: KafkaBroker, topic_prefix: str, isolation_level: str, expected: list[list[bytes]]
) -> None:
    create_topics(kafka.bootstrap, {topic_prefix: 1})
    producer = transactional_producer(kafka.bootstrap, topic_prefix)
    for number, value in enumerate(("kept", "dropped", "kept too", "dropped too")):
        transaction(producer, value, topic_prefix, commit=number % 2 == 0)
    begin(producer, "open", topic_prefix)
    reader = InputReader(KafkaConnection({"bootstrap.servers": kafka.bootstrap}), isolation_level)

    def fetched(start: int, end: int) -> list[bytes | None]:
        tp = TP(topic_prefix, 0)
        ((_, records),) = reader.fetch(Offsets({tp: start}), Offsets({tp: end}), PATIENCE_S)
        return [record.value() for record in records]

    try:
        assert [fetched(*epoch) for epoch in ((0, 1), (1, 2), (2, 4), (4, 6), (6, 8))] == expected
    finally:
        reader.close()
        producer.abort_transaction(PATIENCE_S)


# A job ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, topic_prefix: str, tmp_path: Path) -> Iterator[SmallJob]:
    """A replica with a source of committed records, `events`, and one of all records, `drafts`."""
    create_topics(kafka.bootstrap, {f"{topic_prefix}-raw": 1})
    sources = [
        {"name": "events", "topics": [f"{topic_prefix}-in"], "isolationLevel": "read_committed"},
        {"name": "drafts", "topics": [f"{topic_prefix}-raw"], "isolationLevel": "read_uncommitted"},
    ]
    sinks = [{"name": name, "topic": f"{topic_prefix}-{name}"} for name in ("copies", "drafts")]
    made = SmallJob(
        *(tmp_path, Cluster(kafka, zookeeper), topic_prefix, BOTH),
        **{"replicas": 1, "sources": sources, "sinks": sinks, "ordering": HEARTBEAT},
    )
    made.local.start()
    yield made
    made.local.stop()


def test_a_source_yields_aborted_and_open_transactions_only_where_it_is_asked_to(job: SmallJob) -> None:
    producer = transactional_producer(job.cluster.kafka.bootstrap, job.name)
    topics, drafts = (job.input, f"{job.name}-raw"), f"{job.name}-drafts"

    for value, commit in (("1", True), ("2", False), ("3", True), ("4", False)):
        transaction(producer, value, *topics, commit=commit)
    job.wait(lambda: job.values(drafts) == ["1", "2", "3", "4"], "all records, also aborted ones")
    job.wait_for("1", "3")

    begin(producer, "5", *topics)
    job.wait(lambda: job.values(drafts)[-1] == "5", "the record of an open transaction")
    job.feed("6")  # no transaction, but behind the open one
    transaction(transactional_producer(job.cluster.kafka.bootstrap, f"{job.name}-2"), "7", topics[1])
    job.wait(lambda: job.values(drafts)[-1] == "7", "a record behind an open transaction")
    assert job.values() == ["1", "3"]

    producer.commit_transaction(PATIENCE_S)
    job.wait_for("5", "6")
    transaction(producer, "8", *topics, commit=False)
    job.wait(lambda: job.values(drafts)[-1] == "8", "the last aborted record")

    report = verify(job.connection, JobHistory.of(job.local.manifest), wait_s=PATIENCE_S)
    assert (report.good, report.unseen.epochs, report.unseen.rows) == (True, 0, 0), report
    assert job.values() == ["1", "3", "5", "6"]
    assert job.values(drafts) == ["1", "2", "3", "4", "5", "7", "8"]
