"""A confluent-kafka consumer that drops repeated rows."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from tandem.consumer.filter import JobFilters
from tandem.kafka.headers import UnreadableHeaderError, headers_of, job_of, readable_headers, row_id
from tandem.logs import get_logger

_log = get_logger(__name__)

Rebalanced = Callable[[Consumer, list[TopicPartition]], None]
_READ_BACK_S = 10.0


class EpochConsumer(Consumer):
    """A `confluent_kafka.Consumer` that returns each row of a job's output once. Same configuration, same methods.

    Guarantee, per partition and for each job that writes it: no row is ever dropped that was not there before, and of
    a row's copies only the first is returned. After a restart, a rebalance or a seek the rows before the new position
    count as seen, as far as `read_back` records reach: take at least the records that one epoch, with its repeats, may
    leave in a partition. If they cannot be read within 10 s, it goes on without them: rows may then come twice, none is
    lost. Records without Tandem's headers are passed on; one with a header whose name is no UTF-8, which confluent-kafka
    cannot read, is passed on without any headers. Commit offsets as ever; repeats are passed over by them too.

    Not for a topic to which a job that began again under the same name writes again: it counts its epochs from 0.

    `config` : as for `confluent_kafka.Consumer`.
    `read_back` : how many records before a new position are looked at; 0: none.

    >>> config = {"bootstrap.servers": "localhost:9092", "group.id": "reports"}
    >>> with EpochConsumer(config) as consumer:  # doctest: +SKIP
    ...     consumer.subscribe(["delays"])
    ...     message = consumer.poll(1.0)
    """

    def __init__(self, config: dict[str, Any], *, read_back: int = 20_000, **options: Any) -> None:
        if read_back < 0:
            raise ValueError(f"read_back must not be negative, got {read_back}")
        super().__init__(config, **options)
        self._config = dict(config)
        self._read_back = read_back
        self._filters: dict[tuple[str, int], tuple[JobFilters, int]] = {}
        self._taken_off: set[tuple[str, int]] = set()
        self.dropped = 0
        """How many repeats were dropped so far."""

    def poll(self, timeout: float = -1) -> Message | None:
        """The next message that is no repeat, or an error; None if there is none within `timeout` seconds (−1: wait)."""
        deadline = _Deadline(timeout)
        while True:
            message = super().poll(deadline.left_s)
            if message is None or self._is_news(message):
                return message
            if deadline.passed:
                return None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Up to `num_messages` that are no repeats, or errors; fewer if `timeout` seconds have passed (−1: wait)."""
        deadline = _Deadline(timeout)
        news: list[Message] = []
        while True:
            batch = super().consume(num_messages - len(news), deadline.left_s)
            news += [message for message in batch if self._is_news(message)]
            if len(news) >= num_messages or deadline.passed:
                return news

    def subscribe(
        self,
        topics: list[str],
        on_assign: Rebalanced | None = None,
        on_revoke: Rebalanced | None = None,
        on_lost: Rebalanced | None = None,
    ) -> None:
        """As `Consumer.subscribe`."""

        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self._forget(partitions)
            if on_assign is not None:
                on_assign(consumer, partitions)

        others = {"on_revoke": on_revoke, "on_lost": on_lost}
        super().subscribe(topics, on_assign=assigned, **{k: v for k, v in others.items() if v is not None})

    def assign(self, partitions: list[TopicPartition]) -> None:
        """As `Consumer.assign`."""
        self._forget(partitions)
        super().assign(partitions)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """As `Consumer.incremental_assign`."""
        self._forget(partitions)
        super().incremental_assign(partitions)

    def seek(self, partition: TopicPartition) -> None:
        """As `Consumer.seek`."""
        self._forget([partition])
        super().seek(partition)

    def _forget(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._filters.pop((partition.topic, partition.partition), None)

    def _is_news(self, message: Message) -> bool:
        headers = None if message.error() is not None else self._headers(message)
        row = row_id(headers)
        if row is None:
            return True
        place, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
        repeats, last = self._filters.get(place) or (None, -1)
        if repeats is None or offset <= last:  # a new position, or set back behind our back (auto.offset.reset)
            repeats = self._before(*place, offset)
        self._filters[place] = (repeats, offset)
        first = repeats.is_first(job_of(headers), row)
        self.dropped += not first
        return first

    def _headers(self, message: Message) -> list[tuple[str, bytes | None]] | None:
        """A message's headers. Those that cannot be read are taken off: to ask for them again would end the process."""
        try:
            return readable_headers(message)
        except UnreadableHeaderError as error:
            message.set_headers([])
            place = (message.topic() or "", message.partition() or 0)
            if place not in self._taken_off:
                self._taken_off.add(place)
                _log.warning(
                    "headers_taken_off", topic=place[0], partition=place[1], offset=message.offset(), reason=str(error)
                )
            return None

    def _before(self, topic: str, partition: int, offset: int) -> JobFilters:
        """A filter that knows the rows before `offset`."""
        repeats = JobFilters()
        start = max(0, offset - self._read_back)
        if start == offset:
            return repeats
        own = {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "earliest"}
        passed_on = {key: value for key, value in self._config.items() if key == "oauth_cb" or not callable(value)}
        reader = Consumer({**passed_on, **own})  # assigned, so it never joins the group
        deadline = _Deadline(_READ_BACK_S)
        try:
            reader.assign([TopicPartition(topic, partition, start)])
            while not deadline.passed:
                for message in reader.consume(1_000, 0.02):
                    error = message.error()
                    if error is not None and error.code() != KafkaError._PARTITION_EOF:
                        continue
                    if error is not None or (message.offset() or 0) >= offset:
                        return repeats
                    row = row_id(headers_of(message))
                    if row is not None:
                        repeats.is_first(job_of(headers_of(message)), row)
        finally:
            reader.close()
        _log.warning("rows_before_not_read", topic=topic, partition=partition, offset=offset)
        return repeats


class _Deadline:
    def __init__(self, timeout_s: float) -> None:
        self._end = None if timeout_s < 0 else time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        return -1 if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end
