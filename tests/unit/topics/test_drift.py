"""How topics differ from what Tandem asks of them, and which topics are its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import KEPT_FOR_EVER, NewTopic
from tandem.manifest import Manifest, parse
from tandem.topics.checks import drift_of
from tandem.topics.declared import left_by, own_topics

CONNECTION = KafkaConnection({"bootstrap.servers": "kafka:9092"})
LOG = NewTopic("flights.ordering", 1, 3, KEPT_FOR_EVER, is_log=True)
LETTERS = NewTopic("flights.dead-letter", 1, 3, {"retention.ms": "-1", "max.message.bytes": "5"})


def manifest(**spec: Any) -> Manifest:
    body = {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": "kafka:9092"},
        "zookeeper": {"connect": "zookeeper:2181"},
        "sources": [{"name": "flights", "topics": ["flights"]}],
        "sinks": [{"name": "delays", "topic": "delays"}],
        **spec,
    }
    tree = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": "flights"},
        "spec": body,
    }
    return Manifest(parse(tree), Path("job.yaml"), Path())


def settings_of(topic: NewTopic, **other: str) -> dict[str, dict[str, str]]:
    return {topic.name: {**topic.config, **{name.replace("_", "."): value for name, value in other.items()}}}


def test_a_topic_as_it_was_made_shows_no_difference() -> None:
    assert drift_of([LOG], {LOG.name: 1}, settings_of(LOG, segment_ms="9"), CONNECTION) == ()


def test_each_setting_that_is_otherwise_is_named_with_the_command_that_mends_it() -> None:
    settings = settings_of(LOG, retention_ms="60000", cleanup_policy="compact,delete")
    policy, retention = drift_of([LOG], {LOG.name: 1}, settings, CONNECTION)

    assert policy.difference == "cleanup.policy is compact,delete, and should be delete"
    assert retention.difference == "retention.ms is 60000, and should be -1"
    assert retention.remedy == (
        "kafka-configs.sh --bootstrap-server kafka:9092 --alter --entity-type topics --entity-name flights.ordering "
        "--add-config retention.ms=-1"
    )


def test_a_log_has_one_partition_and_other_topics_as_many_as_somebody_gave_them() -> None:
    (found,) = drift_of([LOG, LETTERS], {LOG.name: 2, LETTERS.name: 3}, {}, CONNECTION)

    assert (found.topic, found.setting) == (LOG.name, "partitions")
    assert found.difference == "it has 2 partitions, and must have exactly 1"


def test_a_missing_topic_is_named_and_a_lost_log_is_not_made_little_of() -> None:
    log, letters = drift_of([LOG, LETTERS], {}, {}, CONNECTION)

    assert (log.setting, log.difference) == ("", "the topic is missing")
    assert "the job has no place to go on from" in log.remedy
    assert "The next replica that starts makes it" in letters.remedy


def test_settings_that_may_not_be_seen_are_no_difference() -> None:
    assert drift_of([LOG], {LOG.name: 1}, {}, CONNECTION) == ()


def test_a_jobs_own_topics_are_those_that_it_makes() -> None:
    assert [topic.name for topic in own_topics(manifest(standbys=1), "replica-0")] == [
        "flights.ordering",
        "flights.commits",
        "flights.dead-letter",
        "flights.checkpoints",
    ]
    assert [topic.is_log for topic in own_topics(manifest(), "replica-0")] == [True, True, False]


def test_what_a_job_left_are_its_own_topics_and_no_others() -> None:
    there = ["flights", "delays", "flights.ordering", "flights.commits", "flights.dead-letter", "flights.checkpoints"]
    others = ["flights.ordering.replica-0", "flights2.ordering", "flightsXordering", "orders.ordering"]

    assert left_by(manifest(), [*there, *others]) == sorted(there[2:])


def test_in_mode_none_the_logs_of_every_replica_that_ever_was_are_left() -> None:
    there = ["flights.ordering.replica-0", "flights.commits.replica-17", "flights.dead-letter"]
    others = ["flights.ordering", "flights.ordering.replica-x", "flights.ordering.replica-0.copy"]

    assert left_by(manifest(ordering={"mode": "none"}, delivery="atLeastOnce"), [*there, *others]) == sorted(there)


def test_a_topic_that_the_job_reads_or_writes_is_never_its_own() -> None:
    reads = manifest(
        sources=[{"name": "flights", "topics": ["flights.checkpoints"]}],
        ordering={"mode": "none"},
        delivery="atLeastOnce",
        sinks=[{"name": "delays", "topic": "flights.ordering.replica-3"}],
    )
    there = ["flights.checkpoints", "flights.ordering.replica-3", "flights.ordering.replica-1"]

    assert left_by(reads, there) == ["flights.ordering.replica-1"]
