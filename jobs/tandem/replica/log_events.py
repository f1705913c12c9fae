"""Reading a job's logs in order from a place on: each record as the event that a core is given."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.core.events import LogRecord, MarkerRecord
from tandem.kafka.tail import LogTail
from tandem.logs import get_logger
from tandem.protocol.codec import CodecError, decode_marker, decode_proposal
from tandem.topics.declared import LogTopics

_log = get_logger(__name__)


class LogEvents:
    """What `tail` reads: the ordering log, the commits topic, or both. Used by one thread."""

    def __init__(self, tail: LogTail, logs: LogTopics) -> None:
        self.tail = tail
        self._commits = logs.commits

    def read(self, timeout_s: float) -> Iterator[LogRecord | MarkerRecord]:
        """What has arrived; waits up to `timeout_s` for the first record. Raises what `LogTail.poll` does."""
        for record in self.tail.poll(timeout_s):
            try:
                if record.topic == self._commits:
                    yield MarkerRecord(decode_marker(record.value), record.timestamp_ms)
                else:
                    yield LogRecord(record.offset, decode_proposal(record.value), record.timestamp_ms)
            except CodecError as error:
                _log.error("foreign_record", topic=record.topic, offset=record.offset, reason=str(error))
