"""Which rows the broker does not take, or a table, and what is known of the topics that they go to."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from confluent_kafka import KafkaError, KafkaException

from tandem.kafka.errors import TandemKafkaError
from tandem.kafka.headers import row_id
from tandem.kafka.refusals import Refusal, RowsRefusedError
from tandem.logs import get_logger
from tandem.topics.declared import SinkTopics

_log = get_logger(__name__)

_TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)


class RefusedRows:
    """Learns from refusals: from the settings that a topic has by then, if they explain one, else row by row.

    `sinks` : where rows go, as it was known at the start.
    `look` : where they go now. Raises `TandemKafkaError`, `KafkaException`.
    """

    def __init__(self, sinks: SinkTopics, look: Callable[[], SinkTopics] | None = None) -> None:
        self._sinks = sinks
        self._look = look
        self._need_keys = frozenset[str]()
        self._epoch = -1
        self._reasons: dict[int, str] = {}

    @property
    def sinks(self) -> SinkTopics:
        """Where rows go."""
        return self._sinks

    def of(self, epoch: int) -> Mapping[int, str]:
        """Index of a row of `epoch` → why the broker, or its table, does not take it."""
        return self._reasons if epoch == self._epoch else {}

    def look(self) -> None:
        """Ask the broker how the topics are now. Raises `TandemKafkaError`, `KafkaException`."""
        if self._look is not None:
            now = self._look()
            self._sinks = replace(now, compacted=now.compacted | (self._need_keys & now.unseen))

    def note(self, epoch: int, reasons: Mapping[int, str]) -> None:
        """Rows of `epoch` that their table does not take."""
        if epoch != self._epoch:
            self._epoch, self._reasons = epoch, {}
        self._reasons |= reasons

    def learn(self, epoch: int, refused: RowsRefusedError) -> None:
        """Records of `epoch` were refused."""
        self.note(epoch, {})
        before = self._sinks
        try:
            self.look()
        except (TandemKafkaError, KafkaException) as error:
            _log.warning("topics_unknown", reason=str(error))
        for refusal in refused.refusals or [one for one in refused.suspects if self._is_too_large(one)]:
            self._blame(refusal)
        if self._sinks != before:
            _log.warning("topics_changed", compacted=sorted(self._sinks.compacted), limits=dict(self._sinks.limits))

    def _is_too_large(self, suspect: Refusal) -> bool:
        """Whether a record alone is more than its topic takes, whatever it was in one batch with."""
        record, limit = suspect.record, self._sinks.limits.get(suspect.record.topic)
        return limit is not None and len(record.key or b"") + len(record.value or b"") > limit

    def _blame(self, refusal: Refusal) -> None:
        record, row = refusal.record, row_id(refusal.record.headers)
        if row is None or refusal.code == KafkaError._UNKNOWN_PARTITION:
            return  # the marker; or the topic has other partitions now
        if record.key is None and refusal.code == KafkaError.INVALID_RECORD:
            if record.topic in self._sinks.compacted:
                return
            if record.topic in self._sinks.unseen:
                self._need_keys |= {record.topic}
                self._sinks = replace(self._sinks, compacted=self._sinks.compacted | {record.topic})
                return
        why = f"the broker does not take it into {record.topic}: {refusal.reason.removeprefix('Broker: ')}"
        if record.key is None and refusal.code == KafkaError.INVALID_RECORD:
            why += " (it has no key, which a compacted topic needs)"
        if refusal.code in _TOO_LARGE:
            limit = self._sinks.limits.get(record.topic)
            why += " (max.message.bytes of the topic)" if limit is None else f" (its max.message.bytes is {limit})"
        self._reasons[row.index] = why
        _log.warning("row_refused", epoch=row.epoch, index=row.index, topic=record.topic, reason=refusal.reason)
