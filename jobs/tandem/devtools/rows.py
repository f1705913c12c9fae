"""The rows of a topic, as committed transactions left them there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError
from tandem.kafka.headers import headers_of, row_id
from tandem.kafka.tail import is_transient
from tandem.kafka.topics import Topics

_BATCH: Final = 500
_ASKED_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Row:
    """A record of a topic. `value` None: a tombstone; `epoch` None: no job of Tandem wrote it."""

    value: bytes | None
    epoch: int | None

    def line(self, with_epoch: bool = False) -> str:
        """The value as one line, as it is but for line breaks; before it, if wanted, the epoch and a tab."""
        text = "null" if self.value is None else self.value.decode(errors="replace")
        text = re.sub(r"[\r\n]+", " ", text)
        return f"{'-' if self.epoch is None else self.epoch}\t{text}" if with_epoch else text


class RowReader:
    """Reads a topic from its beginning, or from where it ends when this is made.

    Raises, when it is made, `MissingTopicError`, `ConnectionFailedError`, `ReadTimeoutError`.
    """

    def __init__(self, connection: KafkaConnection, topic: str, from_beginning: bool) -> None:
        topics = Topics(connection)
        partitions = topics.partitions([topic])
        starts = topics.beginnings(partitions) if from_beginning else topics.ends(partitions)
        self._consumer = Consumer(connection.consumer("read_committed"))
        self._consumer.assign([TopicPartition(*tp, offset) for tp, offset in starts.items()])

    def rows(self, quiet_s: float) -> Iterator[Row]:
        """Each row when it is there; ends when none has come for `quiet_s` seconds.

        Raises `LostInputError`: retention deletes what is being read; `KafkaException`.
        """
        came_at = time.monotonic()
        while time.monotonic() - came_at < quiet_s:
            for message in self._consumer.consume(_BATCH, min(_ASKED_S, quiet_s)):
                if not _failed(message):
                    came_at = time.monotonic()
                    row = row_id(headers_of(message))
                    yield Row(message.value(), None if row is None else row.epoch)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()


def _failed(message: Message) -> bool:
    """Whether it is no record but news that the client gets over, as the end of a partition."""
    error = message.error()
    if error is None:
        return False
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        raise LostInputError(
            f"{message.topic()}: records were deleted before they were read ({error.str()}). Read again"
        )
    if error.code() != KafkaError._PARTITION_EOF and (error.fatal() or not is_transient(error)):
        raise KafkaException(error)
    return True
