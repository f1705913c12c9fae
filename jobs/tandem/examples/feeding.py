"""Sending the examples' records to Kafka, at a steady rate."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import typer
from confluent_kafka import KafkaError, KafkaException, Message, Producer


@dataclass(frozen=True, slots=True)
class Event:
    """A record to send. `time_s` is its event time (Unix, s)."""

    topic: str
    key: bytes
    value: bytes
    time_s: int


class Feeder:
    """Sends events to Kafka, so many of `paced` per second; those of other topics come in between.

    Parameters
    ----------
    properties : of librdkafka.
    clock_ms : the clock of creation times.

    Attributes
    ----------
    created_ms : (topic, partition, offset) → when the record was created. Complete once `run` has returned.
    paced_sent, records_sent : how many so far, of `paced` and of all topics.
    """

    def __init__(
        self,
        properties: Mapping[str, str | int | bool],
        to_send: Iterable[Event],
        paced: str,
        per_second: float,
        clock_ms: Callable[[], float] = lambda: time.monotonic_ns() / 1e6,
    ) -> None:
        self.created_ms: dict[tuple[str, int, int], float] = {}
        self.paced_sent = 0
        self.records_sent = 0
        self._events = iter(to_send)
        self._paced = paced
        self._interval_ms = 1_000 / per_second
        self._clock_ms = clock_ms
        self._failure: KafkaError | None = None
        # One request at a time: the partitions then fill in the order of event time.
        self._producer = Producer(
            {"linger.ms": 0, "enable.idempotence": True, "max.in.flight.requests.per.connection": 1, **properties}
        )

    def run(self, stopping: threading.Event, most: float = math.inf, flush_timeout_s: float = 30.0) -> None:
        """Send until `stopping` is set, `most` more of the paced topic were sent, or all were; a later call goes on there.

        Raises `KafkaException` if Kafka did not take a record.
        """
        started_ms, before = self._clock_ms(), self.paced_sent
        while not stopping.is_set() and self.paced_sent - before < most:
            event = next(self._events, None)
            if event is None:
                break
            due_ms = started_ms + (self.paced_sent - before) * self._interval_ms
            while self._clock_ms() < due_ms and not stopping.is_set():
                self._producer.poll(min(self._interval_ms / 1_000, 0.005))
            self._send(event)
            self._raise_failure()
        unsent = self._producer.flush(flush_timeout_s)
        self._raise_failure()
        if unsent:
            raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT, f"{unsent} records were not taken"))

    def _send(self, event: Event) -> None:
        created_ms = self._clock_ms()

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._failure = error
            else:
                self.created_ms[message.topic() or "", message.partition() or 0, message.offset() or 0] = created_ms

        self._producer.produce(event.topic, event.value, event.key, on_delivery=delivered)
        self.records_sent += 1
        self.paced_sent += event.topic == self._paced

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise KafkaException(self._failure)


def feed_until_interrupted(feeder: Feeder) -> None:
    """Send all there is, as a command; exit code 1 if Kafka does not take a record."""
    try:
        feeder.run(threading.Event())
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
    except KafkaException as error:
        typer.echo(f"Kafka did not take a record: {error.args[0].str()}", err=True)
        raise typer.Exit(1) from error
