"""The consumer helper drops repeats on a real topic, also after a restart in the middle of an epoch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition

from integration.written_job import PATIENCE_S, WrittenJob, headers_of
from tandem.consumer import EpochConsumer
from tandem.devservers import KafkaBroker
from tandem.kafka.headers import JOB_HEADER, RowId, job_of, readable_headers, row_id
from tandem.waiting import Deadline

pytestmark = pytest.mark.integration

FIRST_TRY = [RowId(0, 0), RowId(0, 2)]
TAKEN_OVER = [RowId(0, 0), RowId(0, 2), RowId(0, 4)]
AND_THEN = [RowId(1, 0), RowId(0, 4), RowId(1, 2)]
ONCE = [RowId(0, 0), RowId(0, 2), RowId(0, 4), RowId(1, 0), RowId(1, 2)]


@pytest.fixture
def job(kafka: KafkaBroker, topic_prefix: str) -> WrittenJob:
    job = WrittenJob(kafka.bootstrap, topic_prefix)
    job.write_rows(*FIRST_TRY, *TAKEN_OVER, *AND_THEN)
    return job


@pytest.fixture
def consumer(job: WrittenJob) -> Iterator[EpochConsumer]:
    with reader(job) as consumer:
        yield consumer


def reader(job: WrittenJob, **options: int) -> EpochConsumer:
    return EpochConsumer(
        {
            "bootstrap.servers": job.bootstrap,
            "group.id": job.name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        },
        **options,
    )


def polled(consumer: EpochConsumer, until: RowId) -> list[RowId | None]:
    rows: list[RowId | None] = []
    deadline = Deadline(PATIENCE_S)
    while until not in rows:
        assert not deadline.passed, f"{until} did not come, only {rows}"
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None, message.error()
            rows.append(row_id(readable_headers(message)))
    return rows


def test_a_subscribed_consumer_sees_each_row_once(job: WrittenJob, consumer: EpochConsumer) -> None:
    assigned: list[TopicPartition] = []
    consumer.subscribe([job.output], on_assign=lambda _, partitions: assigned.extend(partitions))

    assert polled(consumer, RowId(1, 2)) == ONCE
    assert consumer.dropped == 3
    assert {partition.partition for partition in assigned} == {0, 1}


def test_batches_are_free_of_repeats_too(job: WrittenJob, consumer: EpochConsumer) -> None:
    consumer.assign([TopicPartition(job.output, 0, 0)])
    rows: list[RowId | None] = []
    deadline = Deadline(PATIENCE_S)
    while len(rows) < len(ONCE) and not deadline.passed:
        rows += [row_id(readable_headers(message)) for message in consumer.consume(2, 0.5)]

    assert rows == ONCE
    assert consumer.consume(1, 0.1) == []


def test_a_consumer_that_goes_on_in_the_middle_of_an_epoch_knows_what_came_before(job: WrittenJob) -> None:
    with reader(job) as first:
        first.subscribe([job.output])
        assert polled(first, RowId(0, 2)) == [RowId(0, 0), RowId(0, 2)]
        first.commit(offsets=[TopicPartition(job.output, 0, 2)], asynchronous=False)

    with reader(job) as second:
        second.subscribe([job.output])
        assert polled(second, RowId(1, 2)) == [RowId(0, 4), RowId(1, 0), RowId(1, 2)]


def test_without_reading_back_rows_come_again_but_none_is_lost(job: WrittenJob) -> None:
    with reader(job, read_back=0) as consumer:
        consumer.assign([TopicPartition(job.output, 0, 2)])

        assert polled(consumer, RowId(1, 2)) == ONCE


def test_a_consumer_that_seeks_back_sees_the_rows_again(job: WrittenJob, consumer: EpochConsumer) -> None:
    consumer.assign([TopicPartition(job.output, 0, 0)])
    assert polled(consumer, RowId(1, 2)) == ONCE

    consumer.seek(TopicPartition(job.output, 0, 0))

    assert polled(consumer, RowId(1, 2)) == ONCE


def test_records_of_others_are_passed_on(job: WrittenJob, consumer: EpochConsumer) -> None:
    job.plain.produce(job.output, b"stranger", partition=1)
    assert job.plain.flush(PATIENCE_S) == 0
    consumer.assign([TopicPartition(job.output, 1, 0)])

    message = consumer.poll(PATIENCE_S)

    assert message is not None
    assert message.value() == b"stranger"


def test_rows_of_two_jobs_in_one_topic_are_all_seen_once(job: WrittenJob, consumer: EpochConsumer) -> None:
    for row in (RowId(0, 0), RowId(0, 0), RowId(1, 2)):
        headers = [*headers_of(row), (JOB_HEADER, b"another")]
        job.plain.produce(job.output, b"of another", partition=0, headers=headers)
    assert job.plain.flush(PATIENCE_S) == 0
    consumer.assign([TopicPartition(job.output, 0, 0)])
    seen: list[tuple[str | None, RowId | None]] = []
    deadline = Deadline(PATIENCE_S)
    while ("another", RowId(1, 2)) not in seen and not deadline.passed:
        seen += [(job_of(readable_headers(m)), row_id(readable_headers(m))) for m in consumer.consume(10, 0.5)]

    assert [row for name, row in seen if name == "another"] == [RowId(0, 0), RowId(1, 2)]
    assert [row for name, row in seen if name is None] == ONCE
