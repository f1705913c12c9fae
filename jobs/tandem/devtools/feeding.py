"""Lines into a topic, each one a record."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.producer import Producer
from tandem.kafka.topics import Topics

_DELIVERED_WITHIN_S: Final = 30.0
_FULL_S: Final = 0.1


class LineProducer:
    """Sends values to a topic, all with the same key; `sent` counts them.

    Raises, when it is made, `MissingTopicError` and `ConnectionFailedError`.
    """

    def __init__(self, connection: KafkaConnection, topic: str, key: bytes | None) -> None:
        Topics(connection).partitions([topic])  # the client itself would look for a topic for half a minute
        self.sent = 0
        self._topic, self._key = topic, key
        self._failure: KafkaError | None = None
        quiet = {"log_level": "3"}  # a broker that has just started is no news: what fails is raised
        settings = {"message.timeout.ms": int(_DELIVERED_WITHIN_S * 1_000), "partitioner": "murmur2_random"}
        self._producer = Producer(quiet | connection.plain_producer() | settings)

    def send(self, values: Iterable[bytes], per_second: float = math.inf) -> None:
        """Send each one when it is there, no more than so many a second. Raises `KafkaException`: Kafka refuses one."""
        started = time.monotonic()
        for number, value in enumerate(values):
            while (early_s := started + number / per_second - time.monotonic()) > 0:
                self._producer.poll(early_s)
            self._produce(value)
            self._raise_failure()

    def finish(self) -> None:
        """Wait until all are in the topic, 30 s at most. Raises `KafkaException`, `ReadTimeoutError`."""
        left = self._producer.flush(_DELIVERED_WITHIN_S + 1)
        self._raise_failure()
        if left:
            raise ReadTimeoutError(f"Kafka has not answered for {left} records within {_DELIVERED_WITHIN_S:.0f} s")

    def _produce(self, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, self._key, on_delivery=self._delivered)
                break
            except BufferError:  # what is in the buffer goes, or fails in time
                self._producer.poll(_FULL_S)
                self._raise_failure()
        self.sent += 1
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._failure = self._failure or error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise KafkaException(self._failure)


def values_of(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without their ends; blank ones are passed over."""
    for line in lines:
        value = line.rstrip(b"\r\n")
        if value.strip():
            yield value
