"""Whether input topics are still those that the job has read: Kafka gives each an id when it is created (KIP-516)."""

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache

from confluent_kafka import KafkaException

from tandem.kafka.errors import LostInputError, RecreatedTopicError, TandemKafkaError
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.protocol.values import TopicIds
from tandem.waiting import Deadline, wait_until

_log = get_logger(__name__)

_NAMED_WITHIN_S = 3.0
"""So long a broker may go on naming the old id of a topic that was created again."""
_LOOKS, _PAUSE_S = 3, 0.3
"""A broker that has just started may answer with what it knew before: another id has to be seen so often in a row."""


def ids_of(topics: Topics, names: Iterable[str]) -> TopicIds:
    """The ids of topics that are there, by name; without those that the brokers give none to (older than Kafka 2.8)."""
    wanted = sorted(set(names))
    found = topics.ids(wanted)
    unknown = [name for name in wanted if name in found and not found[name]]
    if unknown:
        _tell_unknown(", ".join(unknown))
    return tuple((name, found[name]) for name in wanted if found.get(name))


def settled_id(topics: Topics, name: str) -> str:
    """The id of a topic, once it was seen several times in a row: brokers may name an old one or none. "": there is none."""
    seen: list[str] = []

    def is_settled() -> bool:
        seen.append(topics.ids([name]).get(name, ""))
        return bool(seen[-1]) and seen[-_LOOKS:] == [seen[-1]] * _LOOKS

    return seen[-1] if wait_until(is_settled, Deadline(_NAMED_WITHIN_S), _PAUSE_S) else ""


def with_settled(topics: Topics, ids: TopicIds, name: str) -> TopicIds:
    """`ids` with the settled id of the topic `name`, which may just have been made."""
    found = settled_id(topics, name)
    others = {other: number for other, number in ids if other != name}
    return tuple(sorted((others | {name: found} if found else others).items()))


@lru_cache
def _tell_unknown(names: str) -> None:
    _log.warning(
        "topic_ids_unknown",
        topics=names,
        reason="the brokers give topics no ids. An input that is deleted and created again is only noticed while it has "
        "fewer records or partitions than the job has read",
    )


def changed(known: TopicIds, found: TopicIds) -> dict[str, tuple[str, str]]:
    """Topic → its id as the job knows it and as it is now, of those that are other topics than they were.

    >>> changed((("in", "a"), ("gone", "b")), (("in", "c"), ("new", "d")))
    {'in': ('a', 'c')}
    """
    now = dict(found)
    return {name: (old, now[name]) for name, old in known if name in now and now[name] != old}


def check_same(topics: Topics, known: TopicIds) -> TopicIds:
    """The ids now, of the topics in `known`. Raises `RecreatedTopicError` if one of them is another topic by now."""
    names = [name for name, _ in known]
    for look in range(_LOOKS):
        found = ids_of(topics, names)
        others = changed(known, found)
        if not others:
            return found
        if look < _LOOKS - 1:
            time.sleep(_PAUSE_S)
    raise RecreatedTopicError(_in_words(others))


def cause_of(loss: LostInputError, topics: Topics, known: TopicIds) -> LostInputError:
    """Why records of an input are lost: `RecreatedTopicError` if one of `known` is another topic by now, else `loss` itself.

    A topic that was created again may be met by its records before the brokers name its id, so they are asked for a while.
    """
    found = [loss]

    def is_other() -> bool:
        try:
            check_same(topics, known)
        except RecreatedTopicError as other:
            found.append(other)
        except (KafkaException, TandemKafkaError) as error:
            _log.warning("inputs_unknown", reason=str(error))
        return len(found) > 1

    if known and not isinstance(loss, RecreatedTopicError):
        wait_until(is_other, Deadline(_NAMED_WITHIN_S), _PAUSE_S)
    return found[-1]


def _in_words(others: Mapping[str, tuple[str, str]]) -> str:
    which = ", ".join(f"{name} (its id was {old}, now it is {new})" for name, (old, new) in sorted(others.items()))
    return (
        f"topic {which}: it was deleted and created again after this job began. The positions that the job has read to, or "
        "what it has published, are of the deleted topic: going on would skip records of an input, or repeat what was "
        "published. None was read. To read a new input from its beginning, give the job another metadata.name, with logs "
        "and sinks of its own as you need them. Records of a deleted input that the job had not read are gone with it"
    )
