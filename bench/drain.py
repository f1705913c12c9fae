"""`python -m bench.drain`: how fast a job takes in a backlog, with one lane and with several, beside plain Spark.

All copy the same topic, from its beginning, one after the other. What counts is the stretch from the first to the last tenth
of the output: how long it took, and the processor time of the job's processes and of the broker in it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer
from confluent_kafka import Producer

from bench.plan import Configuration, Run
from bench.progress import must_wait
from bench.records import encode, key_bytes, keys
from bench.stage import Servers, servers
from bench.systems import Place, PlainSpark, write_manifest
from bench.usage import cpu_seconds
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, LocalLanes
from tandem.manifest import load

PARTITIONS = 4
_DEADLINE_S = 600.0
_FIRST, _LAST = 0.1, 0.9


@dataclass(frozen=True, slots=True)
class Drained:
    """`records` between the first and the last tenth of the output; `job_s`, `broker_s`: processor time meanwhile."""

    name: str
    records: int
    seconds: float
    job_s: float
    broker_s: float

    @property
    def row(self) -> str:
        """Of a table in Markdown."""
        us = 1e6 * self.job_s / self.records
        return (
            f"| {self.name} | {self.records / self.seconds:,.0f} | {us:.1f} | {self.job_s / self.seconds:.2f} "
            f"| {self.broker_s / self.seconds:.2f} |"
        )


class Running(Protocol):
    """A system that has been started."""

    def leaders(self) -> list[int]:
        """The processes that lead its sessions."""

    def check(self) -> None:
        """Raises if it has stopped by itself."""


@dataclass(frozen=True, slots=True)
class _Plain:
    system: PlainSpark

    def leaders(self) -> list[int]:
        return [pid for pids in self.system.leaders().values() for pid in pids]

    def check(self) -> None:
        self.system.check()


@dataclass(frozen=True, slots=True)
class _Lanes:
    lanes: LocalLanes

    def leaders(self) -> list[int]:
        return [process.pid for job in self.lanes.jobs for process in job.processes() if process.running]

    def check(self) -> None:
        for job in self.lanes.jobs:
            job.check()


def main(
    records: Annotated[int, typer.Option(min=1_000, help="In the backlog")] = 1_000_000,
    engine: Annotated[str, typer.Option(help="microBatch or realTime")] = "microBatch",
    lanes: Annotated[str, typer.Option(help="Numbers of lanes to measure, by comma")] = "1,2",
    plain: Annotated[bool, typer.Option("--plain/--no-plain", help="Plain Spark, compiled, too")] = True,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is measured")] = 1,
) -> None:
    """Drain a backlog in each configuration in turn, and print a table."""
    with tempfile.TemporaryDirectory(prefix="tandem-drain-") as folder, servers(Path(folder)) as cluster:
        _fill(cluster, records)
        typer.echo(
            "| configuration | records/s | job's µs a record | job's cores | broker's cores |\n|---|---|---|---|---|"
        )
        for number in range(rounds):
            if plain:
                typer.echo(_measured("plain, compiled", cluster, records, _plain(cluster, number)).row)
            for count in (int(one) for one in lanes.split(",")):
                name = f"{count} lane{'s' * (count > 1)}, {engine}"
                typer.echo(_measured(name, cluster, records, _lanes(cluster, engine, count, number)).row)


def _fill(cluster: Servers, records: int) -> None:
    Topics(cluster.connection).ensure([NewTopic("drain-in", PARTITIONS)])
    settings = {"bootstrap.servers": cluster.kafka.bootstrap, "enable.idempotence": True, "linger.ms": 50}
    producer = Producer({**settings, "queue.buffering.max.messages": 200_000})
    some = keys(1)
    for number in range(records):
        key = next(some)
        while True:
            try:
                producer.produce("drain-in", encode(number, time.time_ns()), key_bytes(key), partition=key % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60):
        raise RuntimeError("the backlog could not be written")


def _place(cluster: Servers, name: str) -> Place:
    """With an output topic of its own."""
    Topics(cluster.connection).ensure([NewTopic(f"{name}-out", PARTITIONS)])
    return Place(
        name,
        cluster.kafka.bootstrap,
        cluster.zookeeper.connect,
        "drain-in",
        f"{name}-out",
        cluster.folder / name,
        cluster.memory / name,
    )


@contextmanager
def _plain(cluster: Servers, number: int) -> Iterator[tuple[Running, str]]:
    place = _place(cluster, f"plain-{number}")
    system = PlainSpark(Run(Configuration("plain-compiled", tuning="compiled"), "identity", number), place)
    system.start()
    try:
        yield _Plain(system), place.sink
    finally:
        system.stop()


@contextmanager
def _lanes(cluster: Servers, engine: str, count: int, number: int) -> Iterator[tuple[Running, str]]:
    place = _place(cluster, f"lanes-{count}-{number}")
    place.folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("jobs.py"), place.folder / "jobs.py")
    spec = {
        "job": {"file": "jobs.py", "function": "identity"},
        "engine": engine,
        "lanes": count,
        "replicas": 1,
        "kafka": {"bootstrapServers": place.bootstrap},
        "zookeeper": {"connect": place.zookeeper},
        "sources": [{"name": "events", "topics": [place.source]}],
        "sinks": [{"name": "out", "topic": place.sink}],
        "checkpoint": {"directory": str(place.memory)},
    }
    manifest = load(write_manifest(place.folder / "job.yaml", place.name, spec).absolute())
    jobs = [LocalJob(lane, place.folder / f"run-{lane.lane}", pin_to_cores=True) for lane in manifest.lanes]
    running = LocalLanes(jobs)
    running.start()
    try:
        yield _Lanes(running), place.sink
    finally:
        running.stop()


def _measured(
    name: str, cluster: Servers, records: int, system: AbstractContextManager[tuple[Running, str]]
) -> Drained:
    topics = Topics(cluster.connection)
    with system as (running, sink):

        def done() -> int:
            return sum(topics.ends({sink: PARTITIONS}).values())

        must_wait(running, lambda: done() >= _FIRST * records, _DEADLINE_S, "the first tenth", 0.02)
        begun, first = time.monotonic(), done()
        before = cpu_seconds({"job": running.leaders(), "broker": [cluster.kafka.pid]})
        must_wait(running, lambda: done() >= _LAST * records, _DEADLINE_S, "the last tenth", 0.02)
        ended, last = time.monotonic(), done()
        after = cpu_seconds({"job": running.leaders(), "broker": [cluster.kafka.pid]})
    spent = {group: after.groups[group] - before.groups[group] for group in after.groups}
    return Drained(name, last - first, ended - begun, spent["job"], spent["broker"])


if __name__ == "__main__":
    typer.run(main)
