"""How records are handed to a producer, and how the client puts them together."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from tandem.kafka.client import OutputLimits
from tandem.kafka.producer import Producer
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure

MakeLimits = Callable[[], OutputLimits]
"""What the topics take now."""

OnThrottled = Callable[[str, float], None]
"""Called with a broker and for how long it holds a request back because of a quota, s."""


def no_matter(_broker: str, _seconds: float) -> None:
    """Nobody wants to know."""


def throttle_cb(report: OnThrottled) -> dict[str, Any]:
    """The setting of a client by which it reports that a broker holds it back."""
    return {"throttle_cb": lambda event: report(event.broker_name, event.throttle_time)}


class Batches:
    """How records are put together, and followed: for a while after a transaction failed, what became of each is reported;
    after a batch was refused, each is sent by itself, to see which is to blame.

    `limits` : what the topics take now.
    """

    def __init__(self, limits: MakeLimits) -> None:
        self._limits = limits
        self._failed_s: float | None = None
        self._refused_s: float | None = None

    @property
    def reports(self) -> bool:
        """Whether what becomes of each record is reported."""
        return self._failed_s is not None

    @property
    def alone(self) -> bool:
        """Whether each record is sent by itself."""
        return self._refused_s is not None

    def settings(self, given: Mapping[str, str]) -> dict[str, int]:
        """Those of a producer; `given`: the user's, of which a smaller batch is obeyed."""
        return self._limits().producer(given) | ({"batch.num.messages": 1} if self.alone else {})

    def failed(self) -> None:
        """A transaction failed."""
        self._failed_s = time.monotonic()

    def refused(self, is_known: bool) -> None:
        """A record was refused; `is_known`: it is known which."""
        if not is_known or self.alone:
            self._refused_s = time.monotonic()

    def committed(self) -> bool:
        """All records were taken; whether another producer is to be made, that puts them together again."""
        now_s = time.monotonic()
        if self._failed_s is not None and now_s - self._failed_s >= _CAREFUL_S:
            self._failed_s = None
        if self._refused_s is None or now_s - self._refused_s < _CAREFUL_S:
            return False
        self._refused_s = None
        return True


_CAREFUL_S = 60.0
_NOT_SENT = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError._UNKNOWN_PARTITION)
"""What the client itself says of a record; the others are sent all the same."""


def produce_all(
    producer: Producer, records: Iterable[OutputRecord], failures: list[Failure], reports: bool = True
) -> None:
    """Hand all records to the producer, serving its queue when that is full.

    `failures` gets what the client refuses at once, and with `reports` also what is not delivered.
    """

    def delivered(record: OutputRecord, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            partition = message.partition()
            failures.append(Failure(error, record, -1 if partition is None else partition))

    for record in records:
        while True:
            on_delivery: Any = partial(delivered, record) if reports else None
            try:
                producer.produce(
                    record.topic, record.value, record.key, record.partition, on_delivery, headers=list(record.headers)
                )
            except BufferError:
                producer.poll(0.01)
            except KafkaException as error:
                if error.args[0].code() not in _NOT_SENT:
                    raise
                failures.append(Failure(error.args[0], record, _ITSELF - len(failures)))
                break
            else:
                break


_ITSELF = -2
"""A partition that no other record shares."""
