"""What is played: one act for each engine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tandem.examples.cards import feed as cards
from tandem.examples.feeding import Event
from tandem.examples.flights import feed as flights
from tandem.kafka.topics import NewTopic


@dataclass(frozen=True, slots=True)
class Act:
    """A job under load, whose publishing replica is killed.

    `name` : of the example in `tandem.examples`, and of its manifest.
    `about` : what a reader of the plot is to know.
    `paced` : the input topic whose records come at the chosen rate.
    `longest_warm_up` : for how long its JVMs get faster at most, s.
    """

    name: str
    about: str
    topics: tuple[NewTopic, ...]
    events: Callable[[], Iterator[Event]]
    paced: str
    longest_warm_up: float


FLIGHTS = Act(
    "flights",
    "a join, windows and a processor in Python, in micro-batches",
    (NewTopic(flights.FLIGHTS, 3), NewTopic(flights.WEATHER, 1), NewTopic("delays", 2), NewTopic("alerts", 1)),
    flights.events,
    flights.FLIGHTS,
    45.0,
)
CARDS = Act(
    "cards",
    "a filter, JSON and a count by card, in the real-time engine",
    (NewTopic(cards.PAYMENTS, 2), NewTopic("card-alerts", 1)),
    cards.events,
    cards.PAYMENTS,
    20.0,
)
ACTS = {act.name: act for act in (FLIGHTS, CARDS)}
"""By name, in their order."""
