"""Topics that are there are not asked to be made: that takes a right that a job need not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from confluent_kafka.admin import AdminClient

from integration.written_job import PATIENCE_S, create_topics
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TopicMismatchError
from tandem.kafka.topics import NewTopic, Topics
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration


class WatchedClient(AdminClient):
    """Tells what is asked to be made, and lets something happen after each look at the topics."""

    asked: ClassVar[list[str]]
    after_looking: ClassVar[Callable[[], object]]

    def list_topics(self, *args: Any, **options: Any) -> Any:
        found = super().list_topics(*args, **options)
        self.after_looking()
        return found

    def create_topics(self, new_topics: Any, **options: Any) -> Any:
        self.asked.extend(topic.topic for topic in new_topics)
        return super().create_topics(new_topics, **options)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[WatchedClient]:
    """The client of all `Topics` that are made in the test."""

    class OfThisTest(WatchedClient):
        asked: ClassVar[list[str]] = []
        after_looking = staticmethod(lambda: None)

    monkeypatch.setattr("tandem.kafka.admin.AdminClient", OfThisTest)
    return OfThisTest


def logs(*names: str) -> list[NewTopic]:
    return [NewTopic(name, is_log=True) for name in names]


def make(kafka: KafkaBroker, topics: Topics, name: str, partitions: int) -> None:
    """A topic that somebody made long ago: the brokers know of it."""
    create_topics(kafka.bootstrap, {name: partitions})
    assert wait_until(lambda: name in topics.all(), Deadline(PATIENCE_S))


def test_only_topics_that_are_missing_are_asked_to_be_made(
    watched: type[WatchedClient], kafka: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    there, missing = f"{topic_prefix}.ordering", f"{topic_prefix}.commits"
    topics = Topics(connection)
    make(kafka, topics, there, 1)

    topics.ensure(logs(there, missing))
    topics.ensure(logs(there, missing))

    assert watched.asked == [missing]
    assert topics.partitions([there, missing]) == {there: 1, missing: 1}


def test_a_log_that_is_there_with_more_partitions_is_refused_all_the_same(
    watched: type[WatchedClient], kafka: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    topics = Topics(connection)
    make(kafka, topics, topic_prefix, 3)

    with pytest.raises(TopicMismatchError, match="has 3 partitions"):
        topics.ensure(logs(topic_prefix))
    assert watched.asked == []


def test_two_that_find_a_topic_missing_at_once_both_go_on(
    watched: type[WatchedClient], kafka: KafkaBroker, connection: KafkaConnection, topic_prefix: str
) -> None:
    def other_is_quicker() -> None:
        watched.after_looking = staticmethod(lambda: None)
        create_topics(kafka.bootstrap, {topic_prefix: 1})

    watched.after_looking = staticmethod(other_is_quicker)
    Topics(connection).ensure(logs(topic_prefix))

    assert watched.asked == [topic_prefix]
