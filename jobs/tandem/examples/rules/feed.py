"""BetterCloud's workload: documents that customers share, and rules about those that everybody can see; made up from a seed.

Of the events 7.25 % match: a document may be public with p = 0.05, and is made so with p = 0.5 then, with p = 0.05 else.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tandem.examples.feeding import Event, Feeder, feed_until_interrupted

EVENTS, CONTROL = "customer-events", "control-events"
CUSTOMERS = 250
BEGIN_S = 1_767_225_600  # 2026-01-01
SHARED = "PublicDocsShared"
WHEN = "event.actionType == 'DocumentSharedEvent' && event.audience == 'public'"
_GLOBAL_SHARE = 0.2


def events(
    count: int | None = None, per_second: float = 1_000, rules_per_second: float = 5, seed: int = 1
) -> Iterator[Event]:
    """So many events (None: without end), and rules in between. The same arguments give the same bytes.

    `per_second`, `rules_per_second` : in event time.
    """
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    due = 0.0
    for number in itertools.islice(itertools.count(), count):
        second = number / per_second
        while due <= second:
            yield rule(None if chance.random() < _GLOBAL_SHARE else customer(chance), int(BEGIN_S + due))
            due += 1 / rules_per_second
        yield shared(chance, BEGIN_S + second)


def customer(chance: random.Random) -> str:
    """One of them, each as likely."""
    return f"customer-{chance.randrange(CUSTOMERS):03}"


def rule(customer: str | None, time_s: int) -> Event:
    """Counts what a customer (None: every one) makes public."""
    id_ = SHARED if customer is None else f"{SHARED}.{customer}"
    scope = "all" if customer is None else {"customer": customer}
    return Event(
        CONTROL, id_.encode(), _json({"id": id_, "scope": scope, "when": WHEN, "aggregation": "count"}), time_s
    )


def shared(chance: random.Random, time_s: float) -> Event:
    """A customer has shared a document."""
    owner, can_be_public = customer(chance), chance.random() < 0.05
    is_public = chance.random() < (0.5 if can_be_public else 0.05)
    seconds, ms = divmod(round(time_s * 1_000), 1_000)
    body = {
        "customer": owner,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{ms:03}Z",
        "provider": "GDrive",
        "title": f"document-{chance.randrange(1_000_000):06}",
        "audience": "public" if is_public else "domain",
        "type": "Spreadsheet",
        "actionType": "DocumentSharedEvent",
        "size": chance.randrange(1, 5_000_000),
    }
    return Event(EVENTS, owner.encode(), _json(body), int(time_s))


def _json(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def main(
    bootstrap_servers: Annotated[str, typer.Option(help="host:port of Kafka")] = "localhost:9092",
    rate: Annotated[float, typer.Option(min=0.1, help="Events per second")] = 1_000,
    rules_rate: Annotated[float, typer.Option(min=0.1, help="Rules per second")] = 5,
    count: Annotated[int | None, typer.Option(min=1, help="How many events (default: without end)")] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers")] = 1,
) -> None:
    """Send events to the topic `customer-events`, and rules to `control-events`."""
    feeder = Feeder({"bootstrap.servers": bootstrap_servers}, events(count, rate, rules_rate, seed), EVENTS, rate)
    feed_until_interrupted(feeder)
    typer.echo(f"{feeder.records_sent:,} records, {feeder.paced_sent:,} of them events")


if __name__ == "__main__":
    typer.run(main)
