"""What has to be done beside librdkafka: it forgets all brokers, and does not ask for metadata at once."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException

_INTERVAL_MS: Final = 1_000
_PATIENCE: Final = 2


class BrokerWatch:
    """Notices that a client knows no broker any more, not even those of `bootstrap.servers`.

    From 2.10 on, librdkafka removes the brokers that a Metadata response does not name. One that starts may name none
    at all for a moment; the client then asks those of `bootstrap.servers` again, but now and then it loses them too,
    for good, and tells nobody: https://github.com/confluentinc/librdkafka/issues/5301 (seen with 2.16 in about one of
    300 restarts of a broker, for each client). Poll a watched client all the time, or its statistics pile up.
    """

    def __init__(self) -> None:
        self._without = 0
        self.unknown: frozenset[str] | None = None
        """The topics that the client reads, and the brokers do not know; None: it has not said yet."""

    @property
    def settings(self) -> dict[str, int | Callable[[str], None]]:
        """What the client is configured with, so that it tells its statistics."""
        return {"statistics.interval.ms": _INTERVAL_MS, "stats_cb": self.see}

    @property
    def forgot_all(self) -> bool:
        """Whether it is time for a new client."""
        return self._without >= _PATIENCE

    def see(self, statistics: str) -> None:
        """Take in what the client tells: JSON, as in librdkafka's STATISTICS.md."""
        said = json.loads(statistics)
        brokers = said["brokers"].values()
        knows_one = any(broker["source"] != "logical" for broker in brokers)
        self._without = 0 if knows_one else self._without + 1
        self.unknown = frozenset(
            name
            for name, topic in said.get("topics", {}).items()
            if any(partition["desired"] and partition["unknown"] for partition in topic["partitions"].values())
        )


_PATIENCE_S = 1.0


def learn(consumer: Consumer, topics: Iterable[str]) -> None:
    """Let the consumer know where these topics are, before it is assigned to them.

    A consumer whose connection is there already is not informed about a topic that it has just been assigned to before
    librdkafka's next look at its topics, once a second (`rd_kafka_topic_scan_all`): the first record came after 950 ms
    instead of 2. If the brokers do not answer within a second, it goes on without.
    """
    for topic in topics:
        with suppress(KafkaException):
            consumer.list_topics(topic, _PATIENCE_S)
