"""`python -m bench.workloads.rate`: how fast the feeds of the workloads are made and sent into Kafka.

Counted is the processor time of the process that makes and sends them, with the threads of the Kafka client; the broker's is
not. Ends with 1 if a feed makes less than 200,000 records/s per core.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bench.workloads import BLOCK, LITERATURE, Feed
from bench.workloads.sending import Sender
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics

WANTED = 200_000
_KEPT = {"retention.bytes": "200000000", "segment.bytes": "50000000"}


@dataclass(frozen=True, slots=True)
class Rate:
    """Of one feed: records/s of processor time, and of wall time."""

    name: str
    record_bytes: int
    per_core: float
    per_second: float

    @property
    def row(self) -> str:
        """Of a table in Markdown."""
        return f"| {self.name} | {self.record_bytes} | {self.per_core:,.0f} | {self.per_second:,.0f} |"


def measure(name: str, feed: Feed, bootstrap: str, topic: str, records: int, seed: int = 1) -> Rate:
    """Make and send `records`, in whole blocks. Raises `RuntimeError`."""
    sender = Sender(bootstrap, topic, feed.compression)
    sender.send(feed.make(feed, seed, 0))
    sender.finish()  # connected, and what is only made once is made
    blocks = max(1, records // BLOCK)
    began, spent = time.monotonic(), time.process_time()
    for number in range(1, blocks + 1):
        sender.send(feed.make(feed, seed, number))
    sender.finish()
    sent = blocks * BLOCK
    length = len(feed.make(feed, seed, 0).values[0])
    return Rate(name, length, sent / (time.process_time() - spent), sent / (time.monotonic() - began))


def main(
    workloads: Annotated[list[str] | None, typer.Argument(help=f"Which: {', '.join(LITERATURE)}. All without")] = None,
    records: Annotated[int, typer.Option(min=BLOCK, help="Of each feed")] = 300_000,
) -> None:
    """Measure the feeds of workloads one after the other, and print a table."""
    slow: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tandem-rate-") as folder, KafkaBroker(Path(folder) / "kafka") as kafka:
        topics = Topics(KafkaConnection({"bootstrap.servers": kafka.bootstrap}))
        typer.echo("| feed | bytes | records/s per core | records/s |\n|---|---|---|---|")
        for name in workloads or LITERATURE:
            for feed in LITERATURE[name].feeds:
                topic = f"{name}-{feed.source}"
                topics.ensure([NewTopic(topic, feed.partitions, config=_KEPT)])
                rate = measure(topic, feed, kafka.bootstrap, topic, records)
                typer.echo(rate.row)
                slow += [topic] * (rate.per_core < WANTED)
    if slow:
        typer.echo(f"less than {WANTED:,} records/s per core: {', '.join(slow)}")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
