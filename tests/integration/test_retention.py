"""Retention of a real broker's topics is compared with what a restart would read, and told before anything is lost."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AdminClient
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from integration.topic_settings import configure
from integration.waiting import eventually
from integration.written_job import WrittenJob
from tandem.checkpoint.position import EnginePosition
from tandem.devservers import KafkaBroker
from tandem.protocol.values import TopicPartition
from tandem.status.metrics import ReplicaMetrics
from tandem.topics.declared import LogTopics
from tandem.topics.retention import RetentionWatch, Watched

pytestmark = pytest.mark.integration

AGE_S = 50
HOUR_S = 3_600


class RetainedJob:
    """A job that has published two epochs of ten records each; its oldest state stands at the first of them."""

    def __init__(self, kafka: KafkaBroker, name: str) -> None:
        self.job = WrittenJob(kafka.bootstrap, name)
        self.written_s = time.time() - AGE_S
        written_ms = int(self.written_s * 1000)
        for number in range(20):
            self.job.plain.produce(self.job.input, f"{number:090}", partition=0, timestamp=written_ms)
        assert self.job.plain.flush(30) == 0
        self.job.run([0, 1])
        self.registry = CollectorRegistry()
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        self.watch = RetentionWatch(
            self.job.connection,
            Watched(LogTopics(self.job.ordering, self.job.commits), frozenset({self.job.input})),
            lambda last_published: EnginePosition(last_published - 1, 1),  # the cut of epoch 0 stands after the config
            ReplicaMetrics(self.registry, name, "replica-0"),
            every_s=0.2,
        )
        for topic in (self.job.input, self.job.ordering, self.job.commits):
            self.configure(topic, retention_ms="-1")

    def configure(self, topic: str, **settings: str) -> None:
        configure(self.job.bootstrap, topic, **settings)

    def delete_input_before(self, offset: int) -> None:
        for future in self._admin.delete_records([KafkaTopicPartition(self.job.input, 0, offset)]).values():
            future.result(30)

    def margin(self, unit: str) -> float | None:
        labels = {"job_name": self.job.name, "replica": "replica-0", "topic": self.job.input}
        return self.registry.get_sample_value(f"tandem_retention_margin_{unit}", labels)


@pytest.fixture
def retained(kafka: KafkaBroker, topic_prefix: str) -> RetainedJob:
    return RetainedJob(kafka, topic_prefix)


def test_topics_that_are_kept_for_ever_are_not_even_looked_at(retained: RetainedJob) -> None:
    assert retained.watch.look() == []


def test_time_that_is_left_counts_from_the_first_record_that_a_restart_reads(retained: RetainedJob) -> None:
    retained.configure(retained.job.input, retention_ms=str(HOUR_S * 1000))

    (margin,) = retained.watch.look()

    assert margin.place == TopicPartition(retained.job.input, 0)
    assert margin.problem == ""
    assert margin.seconds == pytest.approx(HOUR_S - (time.time() - retained.written_s), abs=20)


def test_a_retention_that_is_nearly_over_is_told_in_the_log_and_the_metrics_with_what_to_do(
    retained: RetainedJob,
) -> None:
    retained.configure(retained.job.input, retention_ms="55000")
    with capture_logs() as lines:
        retained.watch.start()
        try:
            assert eventually(lambda: retained.margin("seconds") is not None)
        finally:
            retained.watch.stop()

    warned = [line for line in lines if line["event"] == "retention_thin"]
    assert len(warned) == 1, "once, not at every look"
    assert "retention.ms is 55000, but a restart" in warned[0]["reason"]
    assert "reads on from record 10, written" in warned[0]["reason"]
    assert warned[0]["remedy"].endswith(f"--entity-name {retained.job.input} --add-config retention.ms=3600000")
    assert (retained.margin("seconds") or 0) <= 55 - AGE_S


def test_bytes_that_are_nearly_used_up_are_told(retained: RetainedJob) -> None:
    retained.configure(retained.job.input, retention_bytes="1000")

    (margin,) = retained.watch.look()

    assert margin.records == 11 - 10
    assert "retention.bytes is 1000, but a restart" in margin.problem


def test_what_was_deleted_already_is_told(retained: RetainedJob) -> None:
    retained.configure(retained.job.input, retention_ms=str(HOUR_S * 1000))
    retained.delete_input_before(15)

    (margin,) = retained.watch.look()

    assert "from record 10, but the records before 15 are deleted already" in margin.problem


def test_the_logs_of_the_job_are_watched_too(retained: RetainedJob) -> None:
    retained.configure(retained.job.ordering, retention_ms="1")
    retained.configure(retained.job.commits, retention_ms="1")

    margins = {margin.place.topic: margin for margin in retained.watch.look()}

    assert "reads on from record 0" in margins[retained.job.ordering].problem, "where the config stands"
    assert "reads on from record" in margins[retained.job.commits].problem


def test_a_job_that_never_published_has_nothing_to_lose(kafka: KafkaBroker, topic_prefix: str) -> None:
    retained = RetainedJob(kafka, topic_prefix)
    retained.configure(retained.job.input, retention_ms="1")
    unborn = WrittenJob(kafka.bootstrap, f"{topic_prefix}-new")
    logs = LogTopics(unborn.ordering, unborn.commits)
    watched = Watched(logs, frozenset({retained.job.input}))
    metrics = ReplicaMetrics(CollectorRegistry(), "new", "replica-0")

    assert RetentionWatch(unborn.connection, watched, lambda _: EnginePosition(), metrics).look() == []
