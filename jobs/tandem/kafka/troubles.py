"""What a broker's refusal means that is not the fault of a row, and what to do about it. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError


@dataclass(frozen=True, slots=True)
class TopicState:
    """How a topic stands.

    `in_sync` : partition → how many replicas are in sync. `leaderless` : partitions without a leader.
    """

    replicas: int
    in_sync: Mapping[int, int]
    leaderless: tuple[int, ...] = ()


def findings(
    names: Iterable[str], states: Mapping[str, TopicState], settings: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Why topics take no records at the moment, each with what to do.

    `names` : topics that are written. Of these, those without a state do not exist.
    `settings` : as far as they may be seen.
    """
    for name in names:
        state = states.get(name)
        if state is None:
            if name != TRANSACTIONS:  # not everybody may see that one
                yield (
                    f"topic {name} does not exist any more, or the account may not see it. Create it again, with as many "
                    "partitions; nothing is lost meanwhile"
                )
            continue
        if state.leaderless:
            where = _partitions(name, state.leaderless)
            yield f"{where} has no leader. Bring the broker back that has it, or its disk"
            continue
        least = int(settings.get(name, {}).get("min.insync.replicas", 1))
        short = tuple(partition for partition, count in state.in_sync.items() if count < least)
        if short:
            have = min(state.in_sync[partition] for partition in short)
            remedy = (
                "Bring the other brokers back"
                if state.replicas >= least
                else "Give the topic more replicas (kafka-reassign-partitions.sh; spec.kafka.replicationFactor)"
            )
            yield (
                f"{_partitions(name, short)} has {have} of {state.replicas} replicas in sync, but min.insync.replicas is "
                f"{least} (NOT_ENOUGH_REPLICAS). {remedy}, or lower that setting"
            )


def _partitions(name: str, partitions: tuple[int, ...]) -> str:
    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
    return f"{name}/{partitions[0]}{more}"


TRANSACTIONS: Final = "__transaction_state"
"""Where Kafka keeps transactions."""

_GENERIC: Final = (
    KafkaError._MSG_TIMED_OUT,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._INCONSISTENT,
    KafkaError._PURGE_QUEUE,
    KafkaError._PURGE_INFLIGHT,
    KafkaError._STATE,
)
"""They say that something failed, not what."""

_REMEDIES: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "Give the account the rights Write and Describe on the topic",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "Give the account the rights Write and Describe on transactional ids that begin with the job's name"
    ),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "Give the account the right IdempotentWrite on the cluster",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "Give the account the right Read on the group",
    KafkaError.NOT_ENOUGH_REPLICAS: "Bring the other brokers back, or lower min.insync.replicas",
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "Bring the other brokers back, or lower min.insync.replicas",
    KafkaError.INVALID_TIMESTAMP: (
        "Correct this machine's clock, or the topic's message.timestamp.before.max.ms and message.timestamp.after.max.ms"
    ),
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "Raise transaction.max.timeout.ms of the brokers",
    KafkaError.POLICY_VIOLATION: "Change the policy of the brokers, or what it is about",
    KafkaError.KAFKA_STORAGE_ERROR: "See the log and the disks of the brokers",
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE: "Give spec.kafka.properties another compression.type",
    KafkaError.INVALID_RECORD: "If the topic is compacted, give it cleanup.policy=delete",
    KafkaError.MSG_SIZE_TOO_LARGE: "Raise the topic's max.message.bytes",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "Create the topic again",
}
_RIGHTS: Final = (
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.INVALID_TRANSACTION_TIMEOUT,
)


def says_nothing(error: KafkaError) -> bool:
    """Whether an error only says that something failed."""
    return error.code() in _GENERIC


def is_for_good(error: KafkaError) -> bool:
    """Whether a producer that cannot start for this error never will, unless somebody changes something."""
    return error.code() in _RIGHTS


def in_words(error: KafkaError, topic: str = "") -> str:
    """An error by name, with what to do about it. `topic` : where the record was to go; "": not known."""
    where = f"topic {topic}: " if topic else ""
    remedy = _REMEDIES.get(error.code(), "")
    text = error.str().removeprefix("Broker: ").removeprefix("Local: ")
    return f"{where}{text} ({error.name()})" + (f". {remedy}" if remedy else "")


def quota_in_words(broker: str, seconds: float) -> str:
    """A quota holds requests back for so long."""
    return (
        f"Kafka holds requests back for {seconds:.1f} s each, because of a quota of {broker}. Raise producer_byte_rate, "
        "consumer_byte_rate or request_percentage of the job's user or client (kafka-configs.sh --entity-type users)"
    )


def rights_in_words(topic: str) -> str:
    """The account may not write a topic."""
    return f"the account may not write topic {topic}. Give it the right Write on the topic"
