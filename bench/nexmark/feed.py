"""`python -m bench.nexmark.feed`: the events to Kafka, at a rate, in the order of their numbers in each partition."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from bench.nexmark.encode import stream_of_values
from bench.nexmark.events import Stream

_TICK_S = 0.005


class Feeder:
    """Sends records round the partitions of a topic: event n goes to partition n modulo `partitions`.

    `sent` : how many so far.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, values: Iterator[bytes]) -> None:
        # One request at a time, so that a partition has the order of the events.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "acks": "all"}
        )
        self._topic, self._partitions, self._values = topic, partitions, values
        self._failure: KafkaError | None = None
        self.sent = 0

    def run(self, per_second: float, stopping: threading.Event) -> None:
        """Send `per_second` until `stopping` is set or all is sent. Raises `KafkaException` if Kafka takes a record not."""
        began, before = time.monotonic(), self.sent
        while not stopping.wait(_TICK_S):
            due = before + int((time.monotonic() - began) * per_second) - self.sent
            if self.send(due) < due:
                break
        self.flush()

    def send(self, records: int) -> int:
        """Send up to so many now; how many there were."""
        values = list(islice(self._values, max(0, records)))
        for value in values:
            partition = self.sent % self._partitions
            self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)
            self.sent += 1
            if self.sent % 1_000 == 0:
                self._producer.poll(0)
        self._producer.poll(0)
        return len(values)

    def flush(self) -> None:
        """Wait until Kafka has all that was sent. Raises `KafkaException`."""
        unsent = self._producer.flush(60)
        if unsent or self._failure is not None:
            raise KafkaException(
                self._failure or KafkaError(KafkaError._MSG_TIMED_OUT, f"{unsent} records were not taken")
            )

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._failure = error or self._failure


def main(
    bootstrap_servers: Annotated[str, typer.Option(help="host:port of Kafka")] = "localhost:9092",
    topic: Annotated[str, typer.Option(help="Of the jobs' source")] = "nexmark",
    partitions: Annotated[int, typer.Option(min=1, help="Of the topic")] = 1,
    rate: Annotated[int, typer.Option(min=1, help="Events per second, of event time too")] = 1_000,
    events: Annotated[int, typer.Option(min=1, help="How many")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Another one gives other events")] = 0,
) -> None:
    """Send Nexmark's events; the same options send the same bytes."""
    feeder = Feeder(bootstrap_servers, topic, partitions, islice(stream_of_values(Stream(rate, seed)), events))
    try:
        feeder.run(rate, threading.Event())
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
    typer.echo(f"{feeder.sent:,} events")


if __name__ == "__main__":
    typer.run(main)
