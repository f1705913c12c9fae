"""`python -m bench.epochs`: what an epoch costs the engine alone, by the job's plan, without Kafka and other processes.

Every epoch has 100 records. Processor time is what this process and its JVM and Python workers used, an epoch, over the
second half of the epochs; the first half warms the JVM. A digest of all rows shows whether two versions compute the same.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import psutil
import typer
from confluent_kafka import Message
from ruamel.yaml import YAML

import tandem.examples.flights
from bench.nexmark import short
from bench.records import encode, input_partition, key_bytes, keys
from bench.systems import write_manifest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.prepared import PreparedJob, prepare_job
from tandem.engine.query import GiveUp
from tandem.engine.session import build_session
from tandem.engine.static_tables import StaticTables
from tandem.engine.table_files import TableFiles
from tandem.examples.flights.feed import events
from tandem.intake.fetch import Fetched
from tandem.jobapi.frozen_code import folders_of, keep
from tandem.jobapi.job import make_importable
from tandem.manifest import Manifest, find_code, load
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

RECORDS = 100
_TIME_MS = 1_700_000_000_000
_EPOCH_MS = 100
_DEADLINE_S = 60.0

Rows = Iterator[Message]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of an epoch of one job: ms of processor time of the JVM and of Python, and of wall time at the median."""

    job: str
    jvm_ms: float
    python_ms: float
    p50_ms: float
    rows: int
    digest: str


def measure(job: str, epochs: int, folder: Path) -> Cost:
    """Compute `epochs` epochs of a job in a session of their own. Raises what the engine raises."""
    manifest, records = load(_manifest(job, folder)), _records(job)
    spec = manifest.spec
    session = build_session(job, "replica-0", spec.spark, file_system_jar(), folder / "scratch")
    try:
        prepared = _prepared(session, manifest, folder)
        query = prepared.query
        query.begin(folder / "checkpoint", EnginePosition())
        digest, rows, before = hashlib.sha256(), 0, (0.0, 0.0)
        walls: list[float] = []
        for epoch in range(epochs):
            if epoch == epochs // 2:
                before, walls = _used_s(), []
            batch = prepared.intake.take(_fetched(epoch, list(islice(records, RECORDS)))).batch
            began = time.perf_counter()
            table = query.compute(EnginePosition(epoch, epoch), batch, _time_ms(epoch), _within(_DEADLINE_S))
            query.commit()
            walls.append(1_000 * (time.perf_counter() - began))
            rows += table.num_rows
            digest.update(repr(table.to_pylist()).encode())
        jvm_s, python_s = (now - then for now, then in zip(_used_s(), before, strict=True))
        query.stop()
        per = 1_000 / (epochs - epochs // 2)
        cost = (round(jvm_s * per, 1), round(python_s * per, 1), round(median(walls), 1))
        return Cost(job, *cost, rows, digest.hexdigest()[:12])
    finally:
        session.stop()


def _time_ms(epoch: int) -> int:
    return _TIME_MS + epoch * _EPOCH_MS


def _within(seconds: float) -> GiveUp:
    deadline = time.monotonic() + seconds
    return lambda: f"an epoch took more than {seconds:.0f} s" if time.monotonic() > deadline else ""


def _prepared(session: Any, manifest: Manifest, folder: Path) -> PreparedJob:
    kept = keep(manifest, find_code(manifest), folder)
    make_importable(kept, folders_of(manifest))
    return prepare_job(session, manifest, kept, folder, StaticTables(TableFiles(session, folder / "tables"), {}))


def _used_s() -> tuple[float, float]:
    """CPU seconds so far of the JVM, and of this process and all Python workers."""
    used = {"java": 0.0, "python": 0.0}
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        times = process.cpu_times()
        used["java" if process.name() == "java" else "python"] += times.user + times.system
    return used["java"], used["python"]


def _manifest(job: str, folder: Path) -> Path:
    spec = {
        "job": {"file": str(Path(__file__).with_name("jobs.py")), "function": job},
        "kafka": {"bootstrapServers": "localhost:9092"},
        "sources": [{"name": "events", "topics": ["in"]}],
        "sinks": [{"name": "out", "topic": "out"}],
        "ordering": {"mode": "heartbeat"},
    }
    if job == "flights":
        example = Path(tandem.examples.flights.__file__).with_name("flights.yaml")
        spec = dict(YAML(typ="safe").load(example)["spec"])
    return write_manifest(folder / f"{job}.yaml", job, {**spec, "engine": "microBatch"})


def _records(job: str) -> Rows:
    if job == "flights":
        for offset, event in enumerate(events()):
            yield _message(event.topic, 0, offset, event.key, event.value)
    for number, key in enumerate(keys(0)):
        body = short.body(number) if job in ("q3", "q8") else ""
        value = encode(number, 1_000_000 * number, body)
        yield _message("in", input_partition(key), number, key_bytes(key % 50 if job == "count" else key), value)


def _message(topic: str, partition: int, offset: int, key: bytes, value: bytes) -> Message:
    return Message(topic=topic, partition=partition, offset=offset, key=key, value=value, timestamp=(1, _TIME_MS))


def _fetched(epoch: int, messages: list[Message]) -> Fetched:
    place = EpochRange(epoch, Offsets(), Offsets(), _time_ms(epoch), epoch, epoch)
    return Fetched(place, ((TopicPartition(str(messages[0].topic()), 0), messages),), ())


def main(
    jobs: Annotated[str, typer.Option(help="Which, by comma")] = "identity,count,fixwindow,q3,q8,flights",
    epochs: Annotated[int, typer.Option(help="Of each; the first half warms up")] = 400,
    alone: Annotated[str, typer.Option(help="Measure this job in this process", hidden=True)] = "",
) -> None:
    """Measure each job's epochs; a line of JSON for each."""
    if alone:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            print(json.dumps(asdict(measure(alone, epochs, Path(folder)))))
        return
    for job in jobs.split(","):
        command = [sys.executable, "-m", "bench.epochs", "--epochs", str(epochs), "--alone", job]
        subprocess.run(command, check=True, timeout=_DEADLINE_S + epochs)


if __name__ == "__main__":
    typer.run(main)
