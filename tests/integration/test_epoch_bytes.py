"""Epochs are bounded by what their records weigh, however they are sent; one that is too large for the heap is refused."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from integration.refusals import Refusals
from integration.written_job import PATIENCE_S, create_topics, transactional_producer
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import current_config, last_marker
from tandem.kafka.topics import Topics
from tandem.orderer.sizes import InputSizes
from tandem.protocol.codec import encode_proposal
from tandem.protocol.cutting import next_ends
from tandem.protocol.values import Cut, Offsets, TopicPartition
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

MOST = 1_000_000


def epochs(connection: KafkaConnection, topic: str, partitions: int, most: int = MOST) -> list[Offsets]:
    """How an orderer cuts all that is in the topic."""
    sizes = InputSizes(connection, {topic: "read_committed"}, most, 10_000)
    ends = Topics(connection).ends({topic: partitions})
    found = [Offsets(dict.fromkeys(ends, 0))]
    deadline = Deadline(PATIENCE_S)
    while found[-1] != ends:
        assert not deadline.passed, found
        cut = sizes.bounded(found[-1], ends, len(found), 0.0)
        if cut != found[-1]:
            found.append(cut)
    sizes.close()
    return found


def test_the_first_record_of_an_idle_job_is_seen_without_asking_for_it(
    kafka: KafkaBroker, topic_prefix: str, connection: KafkaConnection
) -> None:
    topic, tp = f"{topic_prefix}.in", TopicPartition(f"{topic_prefix}.in", 0)
    create_topics(kafka.bootstrap, {topic: 1})
    sizes = InputSizes(connection, {topic: "read_committed"}, MOST, 10_000)
    nothing = Offsets({tp: 0})
    sizes.follow(nothing, (tp,), 0.0)
    assert sizes.read_to() == nothing
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, b"first")
    assert producer.flush(PATIENCE_S) == 0
    assert wait_until(lambda: sizes.read_to() == {tp: 1}, Deadline(PATIENCE_S))
    assert sizes.bounded(nothing, Offsets({tp: 1}), 0, 0.0) == {tp: 1}
    sizes.close()


def test_what_is_counted_ahead_is_bounded_while_no_cut_can_be_made(
    kafka: KafkaBroker, topic_prefix: str, connection: KafkaConnection
) -> None:
    """Beside a partition that is empty, a full one is counted as far as twenty epochs and one batch reach."""
    topic, full, empty = f"{topic_prefix}.in", *(TopicPartition(f"{topic_prefix}.in", one) for one in range(2))
    create_topics(kafka.bootstrap, {topic: 2})
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(5_000):
        producer.produce(topic, f"{number}", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    sizes = InputSizes(connection, {topic: "read_committed"}, MOST, 10)
    sizes.follow(Offsets({full: 0, empty: 0}), (full, empty), 0.0)
    assert wait_until(lambda: sizes.read_to()[full] > 200, Deadline(PATIENCE_S))
    assert not wait_until(lambda: sizes.read_to()[full] > 200 + 500, Deadline(3.0))
    sizes.close()


def largest(found: list[Offsets]) -> int:
    """Records of the largest epoch."""
    return max(after.records_since(before) for before, after in itertools.pairwise(found))


def test_compressed_records_count_as_what_they_are_and_a_larger_one_has_an_epoch_of_its_own(
    kafka: KafkaBroker, topic_prefix: str, connection: KafkaConnection
) -> None:
    """A batch of 5 MB of zeros is a few kB on the wire, less than `max.message.bytes`."""
    topic = f"{topic_prefix}.in"
    create_topics(kafka.bootstrap, {topic: 2})
    config = {"bootstrap.servers": kafka.bootstrap, "compression.type": "gzip", "message.max.bytes": 10_000_000}
    producer = Producer({**config, "linger.ms": 50})
    for number in range(40):
        producer.produce(topic, bytes(200_000), partition=number % 2)
    producer.produce(topic, bytes(5_000_000), partition=1)
    assert producer.flush(PATIENCE_S) == 0

    found = epochs(connection, topic, 2)

    assert largest(found) <= MOST // 200_000
    large = TopicPartition(topic, 1)
    alone = next((a, b) for a, b in itertools.pairwise(found) if b[large] == 21)
    assert alone[1].records_since(alone[0]) == 1
    assert len(found) - 1 <= 14  # two epochs of five records or more could be one


@pytest.mark.parametrize("codec", ["zstd", "lz4", "gzip", "snappy"])
def test_a_batch_is_read_that_is_hundred_times_as_large_as_it_was_sent(
    kafka: KafkaBroker, topic_prefix: str, connection: KafkaConnection, codec: str
) -> None:
    """Kafka bounds what is sent: 8 kB with zstd, for 120 MB."""
    topic, size, count = f"{topic_prefix}.in", 500_000, 240 if codec != "snappy" else 30
    create_topics(kafka.bootstrap, {topic: 1})
    large = {"message.max.bytes": 10**9, "batch.size": 10**9, "linger.ms": 5_000, "queue.buffering.max.kbytes": 500_000}
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec, **large})
    for _ in range(count):
        producer.produce(topic, bytes(size))
    assert producer.flush(PATIENCE_S) == 0

    found = epochs(connection, topic, 1, most=40 * size)

    assert found[-1][TopicPartition(topic, 0)] == count
    assert largest(found) < 40


def test_offsets_without_records_make_no_epochs_of_their_own(
    kafka: KafkaBroker, topic_prefix: str, connection: KafkaConnection
) -> None:
    """As compaction leaves them, and transactions that were aborted: an epoch has so many records, not offsets."""
    topic, tp = f"{topic_prefix}.in", TopicPartition(f"{topic_prefix}.in", 0)
    create_topics(kafka.bootstrap, {topic: 1})
    producer = transactional_producer(kafka.bootstrap, topic_prefix)
    for count, ends in ((3_000, producer.abort_transaction), (5, producer.commit_transaction)):
        producer.begin_transaction()
        for number in range(count):
            producer.produce(topic, f"{number}")
        producer.flush(PATIENCE_S)
        ends(PATIENCE_S)
    sizes = InputSizes(connection, {topic: "read_committed"}, MOST, 2)
    available, found = Topics(connection).ends({topic: 1}), [Offsets({tp: 0})]
    deadline = Deadline(PATIENCE_S)
    while found[-1] != available:
        assert not deadline.passed, found
        cut = sizes.bounded(found[-1], next_ends(found[-1], available, 2), len(found), 0.0, available)
        if cut != found[-1]:
            found.append(cut)
    sizes.close()

    assert found[1][tp] > 3_000
    assert len(found) <= 7, "at most an epoch for each record and the marks"


def test_marks_of_transactions_and_what_was_aborted_weigh_nothing(
    kafka: KafkaBroker, topic_prefix: str, connection: KafkaConnection
) -> None:
    topic = f"{topic_prefix}.in"
    create_topics(kafka.bootstrap, {topic: 1})
    producer = transactional_producer(kafka.bootstrap, topic_prefix)
    for commit in (True, False, True, False):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic, bytes(1_000 if commit else 300_000))
        if commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            assert producer.flush(PATIENCE_S) == 0
            producer.abort_transaction(PATIENCE_S)

    whole = Offsets({TopicPartition(topic, 0): 16})
    assert wait_until(lambda: Topics(connection).ends({topic: 1}) == whole, Deadline(PATIENCE_S))  # the last mark, too

    found = epochs(connection, topic, 1, most=8_000)

    assert found[-1] == whole
    assert largest(found) <= 16  # six records of 1,256 bytes, six that were aborted, and four marks


@contextmanager
def running(job: Refusals, manifest: Path) -> Iterator[None]:
    """A replica runs while the block does."""
    log = job.folder / "running.log"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "tandem.replica", str(manifest)], stdout=out, stderr=out)
        try:
            yield
            assert process.poll() is None, log.read_text()
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.thorough
def test_an_epoch_of_an_earlier_version_that_does_not_fit_is_refused_and_computed_with_the_heap_that_is_named(
    kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    job = Refusals(tmp_path, kafka.bootstrap, topic_prefix)
    topic, logs = f"{topic_prefix}.in", (f"{topic_prefix}.ordering", f"{topic_prefix}.commits")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    for _ in range(220):
        producer.produce(topic, os.urandom(900_000))
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0

    def has_begun() -> bool:
        return set(logs) <= job.topics.all().keys() and current_config(job.connection, *logs) is not None

    def cut() -> None:
        assert wait_until(has_begun, Deadline(180))
        ends = Offsets({TopicPartition(topic, 0): 220})
        producer.produce(logs[0], encode_proposal(Cut(0, ends, 1_000, 0, "orderer-0")))
        assert producer.flush(PATIENCE_S) == 0

    story = job.refused("replica", job.manifest(spark={"driverMemory": "512m"}), cut)

    assert story.error == "EpochTooLargeError"
    assert "epoch 0 with 220 records of 188." in story.reason
    assert " MiB in all does not fit into Spark's heap of 512m" in story.reason
    assert "raise spec.spark.driverMemory to" in story.reason
    assert list((tmp_path / "checkpoint").iterdir()) == []

    def has_published(epoch: int) -> bool:
        newest = last_marker(job.connection, logs[1])
        return newest is not None and newest.epoch == epoch

    named = re.search(r"raise spec.spark.driverMemory to (\d+m) or more", story.reason)
    assert named
    with running(job, job.manifest(spark={"driverMemory": named[1]})):
        assert wait_until(lambda: has_published(0), Deadline(120))
    producer.produce(topic, b"later")
    producer.produce(logs[0], encode_proposal(Cut(1, Offsets({TopicPartition(topic, 0): 221}), 2_000, 0, "orderer-0")))
    assert producer.flush(PATIENCE_S) == 0
    with running(job, job.manifest(spark={"driverMemory": "512m"})):  # as the message says
        assert wait_until(lambda: has_published(1), Deadline(120))
