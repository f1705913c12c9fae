"""What both ways to publish an epoch share: their client, which is made again after a failure, and given up."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaException

from tandem.kafka.batches import Batches, MakeLimits, OnThrottled, no_matter, throttle_cb
from tandem.kafka.client import KafkaConnection, OutputLimits
from tandem.kafka.given_up import give_up
from tandem.kafka.producer import Producer
from tandem.kafka.refusals import Failure


class EpochClient:
    """Holds the client. `limits`: what the topics take now; `on_throttled`: called when a broker holds it back."""

    def __init__(
        self, connection: KafkaConnection, limits: MakeLimits = OutputLimits, on_throttled: OnThrottled = no_matter
    ) -> None:
        self._callbacks = throttle_cb(on_throttled)
        self._connection = connection
        self._batches = Batches(limits)
        self._producer: Producer | None = None
        self.failures: Sequence[Failure] = ()

    def rest(self) -> None:
        """Let the client say what it has to; an error that is fatal is met again by the next epoch."""
        if self._producer is not None:
            with suppress(KafkaException):
                self._producer.poll(0)

    def ready(self) -> None:
        """Do what the next epoch needs and can be done before it is there. To be called when there is nothing else to do."""

    def close(self) -> None:
        """Give the client up; an open transaction of it is aborted by the one that fences it, or by its time-out."""
        if self._producer is not None:
            give_up(self._producer)
        self._producer = None

    def _made(self, settings: Mapping[str, Any]) -> Producer:
        return Producer(
            dict(settings)
            | self._batches.settings(self._connection.properties)
            | {"partitioner": "murmur2_random"}
            | self._callbacks
        )
