"""Orders of customers, made up from a seed."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from typing import Annotated

import typer

from tandem.examples.feeding import Event, Feeder, feed_until_interrupted

ORDERS = "orders-by-customer"
PRODUCTS = ("anise", "basil", "cumin", "dill", "fennel", "ginger", "mint", "nutmeg", "pepper", "saffron")
_CUSTOMERS = 200
_BEGIN_S = 1_767_225_600  # 2026-01-01


def events(orders: int | None = None, seed: int = 1) -> Iterator[Event]:
    """So many orders (None: without end), keyed by customer. The same arguments give the same bytes."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    for number in itertools.islice(itertools.count(), orders):
        customer = f"customer-{chance.randrange(_CUSTOMERS):03}"
        body = {"customer": customer, "product": chance.choice(PRODUCTS), "pieces": chance.randint(1, 5)}
        yield Event(ORDERS, customer.encode(), json.dumps(body, separators=(",", ":")).encode(), _BEGIN_S + number)


def main(
    bootstrap_servers: Annotated[str, typer.Option(help="host:port of Kafka")] = "localhost:9092",
    rate: Annotated[float, typer.Option(min=0.1, help="Orders per second")] = 200,
    orders: Annotated[int | None, typer.Option(min=1, help="How many (default: without end)")] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers")] = 1,
) -> None:
    """Send orders to the topic `orders-by-customer`."""
    feeder = Feeder({"bootstrap.servers": bootstrap_servers}, events(orders, seed), ORDERS, rate)
    feed_until_interrupted(feeder)
    typer.echo(f"{feeder.records_sent:,} orders")


if __name__ == "__main__":
    typer.run(main)
