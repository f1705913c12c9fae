"""How a job's own topics differ from what Tandem asks of them, and what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic
from tandem.status.report import TopicDrift
from tandem.topics.commands import alter_topic

_COMPARED: Final = ("cleanup.policy", "retention.ms", "retention.bytes")
"""Settings by which records vanish that a replica may need."""


def drift_of(
    declared: Iterable[NewTopic],
    partitions: Mapping[str, int],
    settings: Mapping[str, Mapping[str, str]],
    connection: KafkaConnection,
) -> tuple[TopicDrift, ...]:
    """All differences, topic by topic.

    Parameters
    ----------
    partitions : of the topics that are there.
    settings : as far as they may be seen: what is not known is no difference.
    connection : names the brokers in the remedies.
    """
    return tuple(one for topic in declared for one in _of(topic, partitions.get(topic.name), settings, connection))


def _of(
    topic: NewTopic, count: int | None, settings: Mapping[str, Mapping[str, str]], connection: KafkaConnection
) -> Iterator[TopicDrift]:
    if count is None:
        yield TopicDrift(topic.name, "", "the topic is missing", _LOST if topic.is_log else _MADE_ANEW)
        return
    if topic.is_log and count != topic.partitions:
        words = f"it has {count} partitions, and must have exactly {topic.partitions}"
        yield TopicDrift(topic.name, "partitions", words, _TOO_MANY)
    found = settings.get(topic.name, {})
    for name in _COMPARED:
        declared = topic.config.get(name)
        if declared is not None and found.get(name, declared) != declared:
            remedy = alter_topic(connection, topic.name, f"{name}={declared}")
            yield TopicDrift(topic.name, name, f"{name} is {found[name]}, and should be {declared}", remedy)


_LOST: Final = (
    "What was in it is lost, and the job has no place to go on from. Delete the job, its other topics and its snapshots "
    "(tandem topics delete MANIFEST --with-snapshots), and apply it anew"
)
_MADE_ANEW: Final = "The next replica that starts makes it: give spec.restartNonce another number, or restart a replica"
_TOO_MANY: Final = (
    "Kafka takes no partition away. Replicas that run go on with the first one; one that starts will refuse. Give the job "
    "another metadata.name, or delete it and its topics, and apply it anew"
)
