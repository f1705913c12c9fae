"""How a job's topics must be: what is checked before a replica writes into them, how its own differ from what Tandem asks of
them later, and what to do about it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TopicMismatchError
from tandem.kafka.topics import NewTopic
from tandem.status.report import TopicDrift


def alter_topic(connection: KafkaConnection, topic: str, settings: str) -> str:
    """The command that gives a topic other settings, e.g. `retention.ms=-1`."""
    servers = connection.properties.get("bootstrap.servers", "")
    return (
        f"kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name {topic} "
        f"--add-config {settings}"
    )


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

    `broker` : settings of a broker, as far as they may be seen: what its new topics get.
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

    `replicas` : topic, own or sink → how many replicas it has.
    `settings` : as far as they may be seen: what is not known is no mismatch.
    `connection` : names the brokers in the remedies.
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


_COMPARED: Final = ("cleanup.policy", "retention.ms", "retention.bytes")
"""Settings by which records vanish that a replica may need."""


def drift_of(
    declared: Iterable[NewTopic],
    partitions: Mapping[str, int],
    settings: Mapping[str, Mapping[str, str]],
    connection: KafkaConnection,
) -> tuple[TopicDrift, ...]:
    """All differences, topic by topic.

    `partitions` : of the topics that are there.
    `settings` : as far as they may be seen: what is not known is no difference.
    `connection` : names the brokers in the remedies.
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
    "(tandem topics delete MANIFEST --with-snapshots), and apply it again"
)
_MADE_ANEW: Final = "The next replica that starts makes it: give spec.restartNonce another number, or restart a replica"
_TOO_MANY: Final = (
    "Kafka takes no partition away. Replicas that run go on with the first one; one that starts will refuse. Give the job "
    "another metadata.name, or delete it and its topics, and apply it again"
)
