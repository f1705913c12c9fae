"""Topics that would take no record are refused before the job begins, with the setting and what to do."""

from __future__ import annotations

import pytest

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TopicMismatchError
from tandem.kafka.topics import NewTopic
from tandem.replica.divergence import likely_cause
from tandem.topics.checks import check_defaults, check_written, losing

OWN = [NewTopic("job.ordering", 1, 1, is_log=True), NewTopic("job.dead-letter", 1, 1)]
CONNECTION = KafkaConnection({"bootstrap.servers": "kafka:9092"})
MIN_2 = {"min.insync.replicas": "2"}


def test_nothing_is_made_with_fewer_replicas_than_must_be_in_sync() -> None:
    with pytest.raises(TopicMismatchError) as error:
        check_defaults(OWN, {"job.ordering"}, MIN_2)

    said = "topic job.dead-letter would get 1 replica, but 2 must be in sync before a record is taken"
    assert str(error.value).startswith(said)
    assert "Give spec.kafka.replicationFactor: 2" in str(error.value)


def test_an_input_that_loses_records_soon_is_told_and_one_that_keeps_them_for_long_is_not() -> None:
    compacted = {"cleanup.policy": "compact,delete", "min.compaction.lag.ms": "0"}
    kept = compacted | {"min.compaction.lag.ms": "86400000"}

    found = losing({"state": compacted, "kept": kept, "events": {"cleanup.policy": "delete"}, "unseen": {}})

    assert list(found) == ["state"]
    assert "its cleanup.policy is compact,delete" in found["state"]
    assert "it is 0" in found["state"]
    assert "state is compacted, and may have lost records" in likely_cause((), (), found)
    assert "please report this" in likely_cause((), (), ())


def test_what_is_there_and_what_may_not_be_seen_is_made_as_ever() -> None:
    check_defaults(OWN, {topic.name for topic in OWN}, MIN_2)
    check_defaults(OWN, (), {})
    check_defaults([NewTopic("job.ordering", 1, 3)], (), MIN_2)


@pytest.mark.parametrize(
    ("name", "said"), [("job.ordering", "delete the topic if nothing is in it yet"), ("out", "Give it 2")]
)
def test_a_topic_that_can_never_take_a_record_is_refused(name: str, said: str) -> None:
    with pytest.raises(TopicMismatchError) as error:
        check_written(OWN, {name: 1}, {name: MIN_2}, CONNECTION)

    assert f"topic {name} has 1 replica, but 2 must be in sync" in str(error.value)
    assert said in str(error.value)
    assert "spec.kafka.replicationFactor" in str(error.value)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_one_of_the_jobs_own_topics_that_is_compacted_is_refused_and_a_sink_is_not(policy: str) -> None:
    settings = {name: {"cleanup.policy": policy} for name in ("job.dead-letter", "out")}

    check_written(OWN, {"out": 1}, settings, CONNECTION)
    with pytest.raises(TopicMismatchError, match=rf"job.dead-letter is compacted \(its cleanup.policy is {policy}\)"):
        check_written(OWN, {"job.dead-letter": 1}, settings, CONNECTION)


def test_topics_with_replicas_enough_or_settings_unseen_are_let_in() -> None:
    check_written(OWN, {"job.ordering": 2, "out": 1}, {"job.ordering": MIN_2}, CONNECTION)
