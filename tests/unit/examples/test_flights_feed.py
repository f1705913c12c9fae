"""The feed of the flights example: real records, in the order of their event times, the same bytes every time."""

import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tandem.examples.feeding import Event
from tandem.examples.flights.feed import FLIGHTS, WEATHER, events


@pytest.fixture(scope="module")
def first() -> list[Event]:
    """The first 1,000 flights, with the weather up to them."""
    return list(events(flights=1_000))


def body(event: Event) -> dict[str, object]:
    fields = json.loads(event.value)
    assert isinstance(fields, dict)
    return fields


def seconds(iso: object) -> int:
    return int(datetime.strptime(str(iso), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())


def test_the_same_arguments_give_the_same_bytes(first: list[Event]) -> None:
    assert list(events(flights=1_000)) == first


def test_it_ends_with_the_last_flight_that_was_asked_for(first: list[Event]) -> None:
    assert sum(event.topic == FLIGHTS for event in first) == 1_000
    assert first[-1].topic == FLIGHTS


def test_it_is_a_prefix_of_every_longer_one(first: list[Event]) -> None:
    assert list(events(flights=300)) == first[: len(list(events(flights=300)))]


def test_event_time_never_goes_back(first: list[Event]) -> None:
    assert all(earlier.time_s <= later.time_s for earlier, later in pairwise(first))


def test_the_event_time_is_the_one_in_the_record(first: list[Event]) -> None:
    for event in first:
        assert event.time_s == seconds(body(event)["departed" if event.topic == FLIGHTS else "observed"])


def test_an_hours_weather_comes_before_the_flights_of_that_hour(first: list[Event]) -> None:
    known: set[tuple[object, int]] = set()
    with_weather = 0
    for event in first:
        fields = body(event)
        if event.topic == WEATHER:
            known.add((fields["origin"], event.time_s))
        else:
            with_weather += (fields["origin"], event.time_s // 3_600 * 3_600) in known
    assert with_weather > 950  # a few hours have no observation


def test_flights_are_keyed_by_aircraft_and_weather_by_airport(first: list[Event]) -> None:
    for event in first:
        fields = body(event)
        key = fields["origin"] if event.topic == WEATHER else fields["tailnum"] or fields["flight"]
        assert event.key.decode() == key


def test_a_cancelled_flight_has_no_delay_and_leaves_when_it_should_have(first: list[Event]) -> None:
    cancelled = {str(body(event)["flight"]): body(event) for event in first if body(event).get("delay", 0) is None}
    # AA791 was to leave LaGuardia at 19:35, New York's time.
    assert cancelled["AA791"]["departed"] == "2013-01-02T00:35:00Z"
    assert set(cancelled) == {"B6125", "AA1925", "EV4308", "AA791"}


def test_it_begins_on_the_day_that_is_asked_for() -> None:
    event = next(events(first_day="2013-07-01"))
    assert event.time_s == int(datetime(2013, 7, 1, tzinfo=UTC).timestamp())
