"""Topics that would take no record, refused before a job begins, and inputs that may lose records. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TopicMismatchError
from tandem.kafka.topics import NewTopic
from tandem.topics.commands import alter_topic

MIN_ISR: Final = "min.insync.replicas"
_LAG: Final = "min.compaction.lag.ms"
_SHORT_LAG_MS: Final = 3_600_000


def is_compacted(settings: Mapping[str, str]) -> bool:
    """Whether a topic with these settings takes only records that have a key (KIP-135)."""
    return "compact" in settings.get("cleanup.policy", "")


def losing(settings: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Inputs whose records may soon be gone though newer ones are there, each with why and what to do.

    An epoch that a replica computes again must have the records that it had. Compaction spares the last segment, and
    `min.compaction.lag.ms`.
    """
    return {
        name: f"topic {name} is compacted (its cleanup.policy is {found['cleanup.policy']}), so a record disappears when "
        "there is a newer one of its key. A replica that starts with an old state, or with none, computes other rows then "
        "and is refused. Take snapshots (spec.snapshots), and give the topic a min.compaction.lag.ms that is longer than "
        f"the job may be down, e.g. a day; it is {found.get(_LAG, '0')}"
        for name, found in settings.items()
        if is_compacted(found) and int(found.get(_LAG, 0)) < _SHORT_LAG_MS
    }


def check_defaults(own: Sequence[NewTopic], existing: Collection[str], broker: Mapping[str, str]) -> None:
    """Raise `TopicMismatchError` if topics that are to be made would have fewer replicas than must be in sync.

    Parameters
    ----------
    broker : settings of a broker, as far as they may be seen: what its new topics get.
    """
    least = int(broker.get(MIN_ISR, 1))
    for topic in own:
        if topic.name not in existing and topic.replication_factor < int(topic.config.get(MIN_ISR, least)):
            raise TopicMismatchError(
                f"topic {topic.name} would get {_replicas(topic.replication_factor)}, but {least} must be in sync before a "
                f"record is taken ({MIN_ISR} of the brokers). Give spec.kafka.replicationFactor: {least}, or more"
            )


def check_written(
    own: Sequence[NewTopic],
    replicas: Mapping[str, int],
    settings: Mapping[str, Mapping[str, str]],
    connection: KafkaConnection,
) -> None:
    """Raise `TopicMismatchError` if a topic has fewer replicas than must be in sync, or one of Tandem's own is compacted.

    Parameters
    ----------
    replicas : topic, own or sink → how many replicas it has.
    settings : as far as they may be seen: what is not known is no mismatch.
    connection : names the brokers in the remedies.
    """
    mine = {topic.name for topic in own}
    for name, count in replicas.items():
        found = settings.get(name, {})
        least = int(found.get(MIN_ISR, 1))
        if count < least:
            raise TopicMismatchError(_out_of_sync(name, name in mine, count, least, connection))
        if name in mine and is_compacted(found):
            command = alter_topic(connection, name, "cleanup.policy=delete")
            raise TopicMismatchError(
                f"topic {name} is compacted (its cleanup.policy is {found['cleanup.policy']}): it would refuse records "
                f"without a key, and lose others. Correct it: {command}"
            )


def _out_of_sync(name: str, is_own: bool, count: int, least: int, connection: KafkaConnection) -> str:
    what = (
        f"topic {name} has {_replicas(count)}, but {least} must be in sync before it takes a record (its {MIN_ISR}). "
    )
    lower = f"or lower the setting: {alter_topic(connection, name, f'{MIN_ISR}={count}')}"
    if is_own:
        remedy = (
            f"Give spec.kafka.replicationFactor: {least}, and delete the topic if nothing is in it yet, so that it is made "
            f"again; else give it more replicas (kafka-reassign-partitions.sh), {lower}"
        )
    else:
        remedy = (
            f"Give it {least} replicas (kafka-reassign-partitions.sh; spec.kafka.replicationFactor is only for the topics "
            f"that Tandem makes), {lower}"
        )
    return what + remedy


def _replicas(count: int) -> str:
    return f"{count} replica" if count == 1 else f"{count} replicas"
