"""`python -m bench.exact WORKLOAD`: a workload on a real Kafka, under kills, held against its reference, exactly.

Ends with 0 if every row of every epoch is the one that the reference computes from the same records, and 1 otherwise.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from bench.exact.checks import Check, History, judge
from bench.exact.reading import Log, histories
from bench.exact.running import Run
from bench.signals import interrupt_on_sigterm
from bench.stage import Servers, servers
from bench.workloads import LITERATURE, Engine, Record, Workload
from bench.workloads.manifests import SINK, Place, manifest, write
from bench.workloads.sending import Sender
from tandem.engine.jvm.jars import Jars
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, LocalLanes, RestartPolicy
from tandem.manifest import load
from tandem.topics.declared import names_for

_AT_ONCE = RestartPolicy(first_delay_s=0.0, healthy_s=5.0, most_in_a_row=1_000)
_SINK_PARTITIONS = 4
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Order:
    """What to run."""

    workload: Workload
    engine: Engine
    records: int
    kills: int
    replicas: int
    lanes: int
    seed: int
    speed: float


def main(
    name: Annotated[str, typer.Argument(metavar="WORKLOAD", help=", ".join(LITERATURE))],
    engine: Annotated[str, typer.Option(help="microBatch or realTime; both that can run it, if not given")] = "",
    variant: Annotated[str, typer.Option(help="A point of the workload's sweep")] = "",
    scale: Annotated[str, typer.Option(help="laptop or paper: the rates")] = "laptop",
    records: Annotated[int, typer.Option(min=100, help="Of all sources together")] = 20_000,
    kills: Annotated[int, typer.Option(min=0, help="SIGKILLs of random replicas")] = 2,
    replicas: Annotated[int, typer.Option(min=1, help="Of each lane")] = 2,
    lanes: Annotated[int, typer.Option(min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Of the records, and of the kills")] = 1,
    speed: Annotated[float, typer.Option(min=0.01, help="How much faster than they are due records are sent")] = 1.0,
) -> None:
    """Run a workload under kills, and compare every row of every epoch with the reference."""
    if name not in LITERATURE:
        raise typer.BadParameter(f"{name} is none of {', '.join(LITERATURE)}", param_hint="WORKLOAD")
    try:
        workload = LITERATURE[name].at_scale(scale)
        workload = workload.at(variant) if variant else workload
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    engines = [one for one in workload.engines if engine in ("", one)]
    if not engines:
        raise typer.BadParameter(f"{name} runs with {', '.join(workload.engines)}", param_hint="--engine")
    interrupt_on_sigterm()
    os.environ["PYTHONPATH"] = str(_ROOT)  # replicas import the job from here
    Jars.resolve()
    found: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="tandem-exact-") as folder, servers(Path(folder)) as around:
        for one in engines:
            _say(
                f"{name} with {one}: {records} records, {kills} kills, {replicas} replicas, {lanes} lanes, seed {seed}"
            )
            found += run(Order(workload, one, records, kills, replicas, lanes, seed, speed), around)
    raise typer.Exit(0 if all(check.passed for check in found) else 1)


def run(order: Order, around: Servers) -> list[Check]:
    """Run a job to the end of its records, stop it, and judge what it has left. A line of output for each check."""
    workload = order.workload
    name = f"{workload.name}-{order.engine.lower()}"
    place = Place(name, around.kafka.bootstrap, around.zookeeper.connect, around.memory / name)
    partitions = {place.topic(feed.source): feed.partitions for feed in workload.feeds}
    sink = (place.topic(SINK), _SINK_PARTITIONS)
    Topics(around.connection).ensure([NewTopic(topic, count) for topic, count in [*partitions.items(), sink]])
    tree = manifest(workload, order.engine, place, order.replicas, order.lanes)
    lanes = load(write(around.folder / f"{name}.json", tree)).lanes
    jobs = [
        LocalJob(lane, around.folder / f"{name}-run-{number}", policy=_AT_ONCE) for number, lane in enumerate(lanes)
    ]
    sources = {feed.source: place.topic(feed.source) for feed in workload.feeds}
    records = workload.records(order.seed, order.records)
    senders = {f.source: Sender(place.bootstrap, sources[f.source], f.compression) for f in workload.feeds}
    made = Run(jobs, senders, sources, records, random.Random(order.seed), _say, order.speed)
    topics = {topic: source for source, topic in sources.items()}
    running = LocalLanes(jobs)
    running.start()
    try:
        made.go(order.kills)
        with ExitStack() as stack:
            logs = {job.name: stack.enter_context(_log(place, job)) for job in jobs}
            made.finish(list(logs.values()))
            running.stop()
            read = histories(place.bootstrap, partitions, sink, topics, logs)
    except Exception:
        for job in jobs:
            _tell(job)
        raise
    finally:
        running.stop()
    _say(f"killed: {', '.join(made.killed) or 'none'}; epochs taken over: {sum(one.taken_over for one in read)}")
    return list(_judged(order, records, read))


def _log(place: Place, job: LocalJob) -> Log:
    names = names_for(job.manifest, "")
    return Log(place.bootstrap, names.ordering, names.commits)


def _judged(order: Order, records: Sequence[Record], read: Sequence[History]) -> Iterator[Check]:
    """The checks of each lane, each of which is printed."""
    for lane, one in enumerate(read):
        sent = [record for record in records if record.partition % len(read) == lane]
        for check in judge(order.workload, order.engine, sent, one):
            named = replace(check, name=f"lane-{lane} {check.name}") if len(read) > 1 else check
            print(named, flush=True)
            yield named


def _tell(job: LocalJob) -> None:
    for event in job.events():
        print(f"{event.process} {event.text}", file=sys.stderr)
    for process in job.names:
        file = job.log_file(process)
        lines = file.read_text(errors="replace").splitlines()[-8:] if file.exists() else []
        print(f"--- {process}", *(line[:600] for line in lines), sep="\n", file=sys.stderr)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    typer.run(main)
