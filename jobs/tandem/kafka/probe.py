"""What is left to read before the end of a log, found without waiting for the broker's next answer to its reader.

A reader learns that it is at a partition's end from the next answer of the broker, which comes with the next record, or up
to `fetch.wait.max.ms` later. Where the last thing in a log is the mark that ends a transaction, as after an owner was
fenced, the reader has nothing left to read, and does not know it for that long (55 ms of a take-over, measured).
"""

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.workarounds import learn
from tandem.logs import get_logger

_log = get_logger(__name__)

_AT_ONCE_MS = 1
_POLL_S = 0.02


class EndProbe:
    """Reads the last records of one-partition topics, for whom follows them already. Used by one thread.

    It fetches only while it is asked; it connects when it is made.
    """

    def __init__(self, connection: KafkaConnection, topics: tuple[str, ...]) -> None:
        # nobody polls it in between
        self._consumer = Consumer(connection.silent.consumer() | {"fetch.wait.max.ms": _AT_ONCE_MS})
        learn(self._consumer, topics)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def needed(self, passed: Mapping[str, int], ends: Mapping[str, int], timeout_s: float) -> dict[str, int]:
        """Topic → up to where a reader of committed records that has passed `passed` has records to read before `ends`.

        Never more than `ends`, and that itself where it cannot be found out within `timeout_s`: a reader that waits for it
        is right in any case. What an open transaction holds back is not known to be nothing.
        """
        left = {topic: end for topic, end in ends.items() if passed[topic] < end}
        if not left:
            return dict(ends)
        try:
            self._consumer.assign([TopicPartition(topic, 0, passed[topic]) for topic in left])
            found = self._read({topic: passed[topic] for topic in left}, left, time.monotonic() + timeout_s)
            self._consumer.unassign()
        except KafkaException as error:
            _log.debug("not_probed", reason=str(error))
            return dict(ends)
        return dict(ends) | found

    def _read(self, needed: dict[str, int], ends: Mapping[str, int], deadline: float) -> dict[str, int]:
        """Of the topics that were read to their ends: where the last record ends, or where it began if there is none."""
        done = dict[str, int]()
        while len(done) < len(ends) and time.monotonic() < deadline:
            message = self._consumer.poll(_POLL_S)
            if message is None:
                continue
            topic, offset, error = message.topic() or "", message.offset(), message.error()
            if topic not in ends or offset is None:
                continue
            if error is None:
                needed[topic] = max(needed[topic], min(offset + 1, ends[topic]))
                at = offset + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                at = offset
            else:
                raise KafkaException(error)
            if at >= ends[topic]:
                done[topic] = needed[topic]
        return done
