"""A replica finds its place in logs where markers come again, late, and where somebody else has written something too."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from confluent_kafka import Producer
from structlog.testing import capture_logs
from structlog.typing import EventDict

from integration.written_job import PATIENCE_S, WrittenJob, everything, marker
from tandem.checkpoint.position import EnginePosition
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.headers import RowId
from tandem.kafka.history import config_at, cut_at, last_marker
from tandem.kafka.tail import LogTail
from tandem.process.info import RefusedError
from tandem.protocol.codec import decode_marker, encode_proposal
from tandem.protocol.publication import MissingMarkerError, Publication
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Config, Cut, LagReport, Offsets
from tandem.replica.kafka_clients import Place, find_place

pytestmark = pytest.mark.integration

FIRST_LOOK = 64
"""So many records are looked at first, from the end."""


def job_with_markers(kafka: KafkaBroker, name: str, *epochs: int) -> WrittenJob:
    """A job that has cut all epochs, and published them in this order, the repeated ones by an owner that was paused."""
    job = WrittenJob(kafka.bootstrap, name, Delivery.AT_LEAST_ONCE)
    offsets = [job.cut(epoch, 10 * (epoch + 1)) for epoch in range(max(epochs) + 1)]
    job.write_markers(*(marker(epoch, 0, offsets[epoch]) for epoch in epochs))
    return job


def place_after(job: WrittenJob, epoch: int) -> Place:
    return find_place(job.connection, job.ordering, job.commits, EnginePosition(epoch, epoch + 1))


def head_after_reading_on(job: WrittenJob, place: Place) -> int:
    """The epoch after the last one, when a replica has read all markers from its place on. Raises `MissingMarkerError`."""
    bound = AdaptiveTimeout(20.0, 120.0)
    publication = Publication("me", place.decisions, place.head, Delivery.AT_LEAST_ONCE, bound)
    with LogTail(job.connection, {job.commits: place.starts[job.commits]}) as tail:
        for record in everything(tail):
            publication.on_marker(decode_marker(record.value), 0.0)
    return publication.head


def test_a_replica_starts_behind_the_first_marker_of_its_epoch_not_behind_one_that_came_late(
    kafka: KafkaBroker, topic_prefix: str
) -> None:
    job = job_with_markers(kafka, topic_prefix, 0, 1, 2, 3, 4, 2, 5)

    place = place_after(job, 2)

    assert place.starts[job.commits] == 3
    assert head_after_reading_on(job, place) == 6


@pytest.mark.parametrize("late", [(3,), (2,), (3, 4), (2, 3, 4)])
def test_a_marker_that_came_late_where_it_looks_first_does_not_stand_for_the_one_before_it(
    kafka: KafkaBroker, topic_prefix: str, late: tuple[int, ...]
) -> None:
    before = range(10)
    behind = range(10, 10 + FIRST_LOOK - len(late))
    job = job_with_markers(kafka, topic_prefix, *before, *late, *behind)

    place = place_after(job, 3)

    assert place.starts[job.commits] == 4
    assert head_after_reading_on(job, place) == behind.stop


def test_a_place_that_the_commits_topic_does_not_have_is_an_error(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = job_with_markers(kafka, topic_prefix, 0, 1, 3)

    with pytest.raises(MissingMarkerError, match="no marker of epoch 2"):
        place_after(job, 2)


def test_a_state_of_the_log_that_stood_there_before_is_refused(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = job_with_markers(kafka, topic_prefix, 0, 1, 2)

    with pytest.raises(RefusedError, match="the state of epoch 1 is of another log: its cut stood at offset 7"):
        find_place(job.connection, job.ordering, job.commits, EnginePosition(1, 7))


def test_what_others_wrote_between_the_markers_is_passed_over_and_told_once(
    kafka: KafkaBroker, topic_prefix: str
) -> None:
    job = WrittenJob(kafka.bootstrap, topic_prefix)
    job.run([0])
    foreign = write(kafka, job.commits, b"no marker", None)
    job.run([1])
    foreign += write(kafka, job.commits, b"[]")

    with capture_logs() as lines:
        newest = last_marker(job.connection, job.commits)
        place = place_after(job, 0)

    assert newest == marker(1, 4, 2)
    assert (place.head, place.starts[job.commits]) == (1, 1)
    assert told(lines) == foreign


def test_what_others_wrote_between_the_proposals_is_passed_over_and_told(
    kafka: KafkaBroker, connection: KafkaConnection, topic: str
) -> None:
    config, cut = Config(0, "c0ffee", Offsets(), "replica-0"), Cut(0, Offsets(), 0, 0, "orderer-0")
    write(kafka, topic, b"no proposal", encode_proposal(config), None, encode_proposal(cut))

    with capture_logs() as lines:
        with pytest.raises(ValueError, match="no config at offset 0"):
            config_at(connection, topic, 0)
        assert config_at(connection, topic, 1) == config
        assert cut_at(connection, topic, 3) == cut
        with pytest.raises(ValueError, match="no cut at offset 2"):
            cut_at(connection, topic, 2)

    assert told(lines) == [(topic, 0), (topic, 2)]


GENERATIONS = 3
EARLIER = 17
"""So many records stand before the config in force that no look at the log's first ones finds it."""


@dataclass
class Upgraded:
    """A job of three generations, which has published an epoch of each, and cut two more."""

    job: WrittenJob
    config_offset: int


def upgraded(kafka: KafkaBroker, name: str) -> Upgraded:
    job = WrittenJob(kafka.bootstrap, name)
    job.feed(10 * (GENERATIONS + 2))
    config_offset = 0
    for generation in range(GENERATIONS):
        if generation:
            job.propose(*(LagReport("replica-0", generation, 1.0) for _ in range(EARLIER)))
            config_offset = job.propose(Config(generation, f"c{generation}", job.positions(0), "replica-0"))
        offset = job.cut(generation, 10 * (generation + 1))
        known = replace(marker(generation, 4, offset), generation=generation, config_offset=config_offset)
        job.publish(known, [RowId(generation, index) for index in range(4)])
    for epoch in range(GENERATIONS, GENERATIONS + 2):
        job.cut(epoch, 10 * (epoch + 1))
    return Upgraded(job, config_offset)


def test_whoever_reads_the_log_reaches_the_same_decisions_after_changes_of_generation(
    kafka: KafkaBroker, topic_prefix: str
) -> None:
    one = upgraded(kafka, topic_prefix)
    after = one.job.clients.newest_published()

    fetcher = one.job.clients.fetcher(after)
    cut = fetcher.next_cut(PATIENCE_S)
    publisher = one.job.clients.place_at(after).decisions
    publisher.apply(cut_at(one.job.connection, one.job.ordering, after.log_offset + 1), after.log_offset + 1)

    assert cut == publisher.epoch_range(GENERATIONS)
    assert cut is not None
    assert cut.config_offset == one.config_offset
    fetcher.close()


def test_a_log_that_lost_what_nobody_needs_any_more_is_read_on_from_the_config_in_force(
    kafka: KafkaBroker, topic_prefix: str
) -> None:
    one = upgraded(kafka, topic_prefix)
    after = one.job.clients.newest_published()
    one.job.lose(one.job.ordering, one.config_offset - EARLIER)

    fetcher = one.job.clients.fetcher(after)
    cut = fetcher.next_cut(PATIENCE_S)

    assert cut is not None
    assert [len(records) for _, records in fetcher.fetch(cut, PATIENCE_S).records] == [10]
    fetcher.close()


def write(kafka: KafkaBroker, topic: str, *values: bytes | None) -> list[tuple[str, int]]:
    """Append records as anybody may; where they stand."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
    written: list[tuple[str, int]] = []
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=lambda _, at: written.append((at.topic(), at.offset())))
    assert producer.flush(PATIENCE_S) == 0
    return written


def told(lines: list[EventDict]) -> list[tuple[str, int]]:
    """Which records the log calls foreign."""
    return [(line["topic"], line["offset"]) for line in lines if line["event"] == "foreign_record"]
