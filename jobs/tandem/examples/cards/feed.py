"""Payments by card, made up from a seed: most are small, and now and then a card pays large amounts in a row."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from typing import Annotated

import typer

from tandem.examples.feeding import Event, Feeder, feed_until_interrupted

PAYMENTS = "payments"
_CARDS, _MERCHANTS = 2_000, ("books", "fuel", "grocer", "hotel", "jeweller", "kiosk")
_BEGIN_S = 1_767_225_600  # 2026-01-01
_STOLEN_SHARE = 0.01


def events(payments: int | None = None, seed: int = 1) -> Iterator[Event]:
    """So many payments (None: without end). The same arguments give the same bytes."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    stolen = [f"card-{chance.randrange(_CARDS):04}" for _ in range(5)]
    for number in itertools.islice(itertools.count(), payments):
        is_stolen = chance.random() < _STOLEN_SHARE
        card = chance.choice(stolen) if is_stolen else f"card-{chance.randrange(_CARDS):04}"
        amount = round(chance.uniform(400, 2_000) if is_stolen else min(399.0, chance.lognormvariate(3, 1)), 2)
        body = {"id": number, "card": card, "merchant": chance.choice(_MERCHANTS), "amount": amount}
        yield Event(PAYMENTS, card.encode(), json.dumps(body, separators=(",", ":")).encode(), _BEGIN_S + number)


def main(
    bootstrap_servers: Annotated[str, typer.Option(help="host:port of Kafka")] = "localhost:9092",
    rate: Annotated[float, typer.Option(min=0.1, help="Payments per second")] = 200,
    payments: Annotated[int | None, typer.Option(min=1, help="How many (default: without end)")] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers")] = 1,
) -> None:
    """Send payments to the topic `payments`."""
    feeder = Feeder({"bootstrap.servers": bootstrap_servers}, events(payments, seed), PAYMENTS, rate)
    feed_until_interrupted(feeder)
    typer.echo(f"{feeder.records_sent:,} payments")


if __name__ == "__main__":
    typer.run(main)
