"""`python -m bench.promotion`: one active and one standby with keyed state, the active killed again and again.

Tells how long the output was silent, where that time went, and what standing by and shipping cost. Each replica has a core
of its own. A kill comes when the standby has proved its state, and takes the active's orderer too; both are started again
12 s later, so that their start, which on a cluster is another machine's work, does not slow the promotion.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.metrics import scrape
from bench.usage import cores_used, cpu_seconds
from tandem.embedded import KafkaBroker, ZooKeeperServer
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob, RestartPolicy

_VALUE_BYTES = 1_000
_PARTITIONS = 2
_AT_ONCE = RestartPolicy(first_delay_s=0.0, healthy_s=5.0, most_in_a_row=1_000)
_DEADLINE_S = 240.0
_AFTER_S = 12.0
_LOOK_S = 0.5
"""Looking more often would be a load of its own."""
_PHASES = {
    "promoted": "noticed",
    "followed_state_used": "restored",
    "checkpoint_restored": "restored",
    "snapshot_restored": "restored",
    "started": "started",
    "first_epoch": "computed",
}


@dataclass(frozen=True, slots=True)
class Promotion:
    """One kill. ms: the longest gap between two records of output, and when after the kill each phase was over."""

    gap: float
    phases: dict[str, float]
    because: str
    first_epoch: dict[str, float]


@dataclass
class Result:
    """A size of state. `cores`: CPU at rest, in cores, of the active, the standby and all else."""

    state_mb: int
    rate: int
    shared_folder: bool
    shipping: bool
    cores: dict[str, float] = field(default_factory=dict)
    shipped_kb_per_epoch: float = 0.0
    promotions: list[Promotion] = field(default_factory=list)

    def summary(self) -> str:
        gaps = sorted(p.gap for p in self.promotions)
        lines = [
            f"state {self.state_mb} MB, {self.rate}/s, shipping {self.shipping}, shared folder {self.shared_folder}",
            "  cores: " + ", ".join(f"{name} {value:.3f}" for name, value in self.cores.items()),
            f"  shipped per epoch: {self.shipped_kb_per_epoch:.0f} kB",
        ]
        if gaps:
            lines.append(f"  gap: median {median(gaps):.0f} ms, worst {gaps[-1]:.0f} ms of {len(gaps)}")
            for phase in dict.fromkeys(_PHASES.values()):
                known = [p.phases[phase] for p in self.promotions if phase in p.phases]
                if known:
                    lines.append(f"  {phase}: median {median(known):.0f} ms after the kill")
        return "\n".join(lines)


class Traffic:
    """Feeds random values, reads committed output; in threads of this process."""

    def __init__(self, bootstrap: str, source: str, sink: str, keys: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2})
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "bench", "isolation.level": "read_committed"}
            | {"enable.auto.commit": False, "fetch.wait.max.ms": 20}
        )
        self._consumer.assign([TopicPartition(sink, 0, 0)])
        self._source, self.keys = source, keys
        self._random = random.Random(1)
        self.rate = 0.0
        self.sent = 0
        self.arrivals: list[float] = []
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._feed, self._read)]
        for thread in self._threads:
            thread.start()

    def fill(self) -> None:
        """Send every key once."""
        for key in range(self.keys):
            self._send(key)
            if key % 1_000 == 0:
                self._producer.poll(0.01)
        self._producer.flush(60)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._consumer.close()

    def _send(self, key: int) -> None:
        value = self._random.randbytes(_VALUE_BYTES)
        while True:
            try:
                self._producer.produce(self._source, value, b"key-%d" % key, key % _PARTITIONS)
            except BufferError:
                self._producer.poll(0.05)
            else:
                return

    def _feed(self) -> None:
        last = time.monotonic()
        owed = 0.0
        while not self._stopped.wait(0.005):
            now = time.monotonic()
            owed, last = owed + (now - last) * self.rate, now
            while owed >= 1:
                owed -= 1
                self._send(self._random.randrange(self.keys))
                self.sent += 1
            self._producer.poll(0)

    def _read(self) -> None:
        while not self._stopped.is_set():
            first = self._consumer.poll(0.1)
            if first is not None:
                now = time.time()
                self.arrivals += [now] * (1 + len(self._consumer.consume(5_000, 0)))


class Bench:
    """A running job with its traffic."""

    def __init__(self, job: LocalJob, traffic: Traffic) -> None:
        self.job, self.traffic = job, traffic

    def metric(self, process: str, name: str) -> float | None:
        info = self.job.announcement(process)
        sample = scrape(info.metrics_port) if info is not None and info.metrics_port else None
        return None if sample is None else sample.values.get(name)

    def roles(self) -> tuple[str | None, str | None]:
        """The active replica that is ready, and the one that stands by."""
        active = standby = None
        for name in ("replica-0", "replica-1"):
            if self.metric(name, "tandem_replica_standby") == 1:
                standby = name
            elif self.metric(name, "tandem_replica_ready") == 1:
                active = name
        return active, standby

    def when_staffed(self) -> tuple[str, str]:
        def staffed() -> bool:
            return None not in self.roles()

        self.wait(staffed, "an active and a standby")
        active, standby = self.roles()
        assert active is not None and standby is not None  # noqa: S101, PT018
        return active, standby

    def wait(self, condition: Callable[[], bool], what: str, deadline_s: float = _DEADLINE_S) -> None:
        deadline = time.monotonic() + deadline_s
        while not condition():
            self.job.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"not within {deadline_s:.0f} s: {what}")
            time.sleep(_LOOK_S)

    def fill(self) -> None:
        """Give every key a value, and wait until all are in the state."""
        self.when_staffed()
        self.traffic.rate = 1.0
        self.wait(lambda: bool(self.traffic.arrivals), "output flows")
        self.traffic.fill()
        wanted = self.traffic.keys
        self.wait(lambda: len(self.traffic.arrivals) >= wanted, f"{wanted} keys in the state")

    def rest(self, seconds: float, result: Result) -> None:
        """CPU at rest, and what is shipped."""
        active, standby = self.when_staffed()
        groups = {"active": [self.job.process(active).pid], "standby": [self.job.process(standby).pid]}
        epochs, shipped = self.metric(active, "tandem_epoch"), self.metric(active, "tandem_shipped_bytes_total") or 0.0
        before, began = cpu_seconds(groups), time.monotonic()
        time.sleep(seconds)
        used, other = cores_used(before, cpu_seconds(groups), time.monotonic() - began)
        result.cores = {**used, "other": other, "standby/active": round(used["standby"] / used["active"], 3)}
        computed = (self.metric(active, "tandem_epoch") or 0.0) - (epochs or 0.0)
        result.cores["epochs/s"] = round(computed / seconds, 2)
        now = self.metric(active, "tandem_shipped_bytes_total") or 0.0
        result.shipped_kb_per_epoch = (now - shipped) / max(1.0, computed) / 1_000

    def kill(self, result: Result) -> Promotion:
        """SIGKILL to the active and its orderer; waits until the job is staffed again."""
        active, standby = self.when_staffed()
        self.wait(lambda: self._follows(standby, result), "the standby has proved its state", 120)
        time.sleep(4 + 2 * random.random())
        log = self.job.log_file(standby)
        seen = log.stat().st_size
        names = (active, f"orderer-{active[-1]}")
        threads = [threading.Thread(target=self.job.kill, args=[name, signal.SIGKILL, True]) for name in names]
        at = time.time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(_AFTER_S)
        self.job.start(*names)
        times = [t for t in self.traffic.arrivals if at - 1 <= t <= at + _AFTER_S]
        gap = max((b - a for a, b in pairwise([*times, at + _AFTER_S])), default=_AFTER_S)
        phases, because, engine = _phases(log, seen, at)
        first = next((t for t in times if phases.get("computed") and t > at + phases["computed"] / 1_000), None)
        if first is not None:
            phases["visible"] = round((first - at) * 1_000)
        return Promotion(round(gap * 1_000), phases, because, engine)

    def _follows(self, standby: str, result: Result) -> bool:
        if not result.shipping:
            return True
        return (self.metric(standby, "tandem_standby_verified_epoch") or 0.0) > 0


def _phases(log: Path, start: int, at: float) -> tuple[dict[str, float], str, dict[str, float]]:
    phases: dict[str, float] = {}
    because = ""
    engine: dict[str, float] = {}
    for line in log.read_bytes()[start:].splitlines():
        try:
            entry = json.loads(line)
            when = datetime.fromisoformat(entry["timestamp"]).timestamp()
        except (ValueError, KeyError):
            continue
        because = entry.get("because", because) if entry["event"] == "promoted" else because
        engine = engine or (entry["ms"] if entry["event"] == "first_epoch" else {})
        phase = _PHASES.get(entry["event"])
        if phase is not None and phase not in phases:
            phases[phase] = round((when - at) * 1_000)
    return phases, because, engine


@contextmanager
def running(state_mb: int, shipping: bool, shared: bool, conf: dict[str, str]) -> Iterator[Bench]:
    """Servers, job and traffic; nothing is left of them afterwards."""
    memory = Path("/dev/shm")  # noqa: S108
    with (
        tempfile.TemporaryDirectory(prefix="tandem-promotion-", ignore_cleanup_errors=True) as work,
        tempfile.TemporaryDirectory(prefix="tandem-promotion-", dir=memory, ignore_cleanup_errors=True) as states,
        KafkaBroker(Path(work) / "kafka") as kafka,
        ZooKeeperServer(Path(work) / "zookeeper") as zookeeper,
    ):
        folder, name = Path(work), "promotion"
        Topics(KafkaConnection({"bootstrap.servers": kafka.bootstrap})).ensure(
            [NewTopic("in", _PARTITIONS), NewTopic("out", 1)]
        )
        shutil.copy(Path(__file__).with_name("jobs.py"), folder / "jobs.py")
        manifests = []
        for number in range(2):
            spec = {
                "job": {"file": "jobs.py", "function": "latest"},
                "replicas": 1,
                "standbys": 1,
                "kafka": {"bootstrapServers": kafka.bootstrap},
                "zookeeper": {"connect": zookeeper.connect},
                "sources": [{"name": "events", "topics": ["in"]}],
                "sinks": [{"name": "out", "topic": "out"}],
                "checkpoint": {
                    "directory": str(Path(states) / ("all" if shared else str(number))),
                    "shipping": shipping,
                },
                "snapshots": {"store": str(Path(states) / "store")},
                "spark": {"conf": conf},
            }
            manifests.append(folder / f"job-{number}.yaml")
            tree = {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": name}}
            manifests[-1].write_text(json.dumps({**tree, "spec": spec}))
        job = LocalJob(manifests[0], folder / "run", pin_to_cores=True, policy=_AT_ONCE)
        job.replace(
            "replica-1", tuple(str(manifests[1]) if w == str(manifests[0]) else w for w in job.argv("replica-1"))
        )
        traffic = Traffic(kafka.bootstrap, "in", "out", state_mb * 1_000_000 // _VALUE_BYTES)
        try:
            job.start()
            yield Bench(job, traffic)
        finally:
            job.stop()
            traffic.stop()


def main(
    state_mb: Annotated[str, typer.Option(help="Sizes of state, by comma")] = "10,100",
    kills: Annotated[int, typer.Option(help="At each size")] = 10,
    rate: Annotated[int, typer.Option(help="Records/s of 1 kB")] = 500,
    rest: Annotated[float, typer.Option(help="Seconds of the measurement at rest")] = 30.0,
    shipping: Annotated[bool, typer.Option(help="Ship state")] = True,
    shared: Annotated[bool, typer.Option(help="Both replicas see each other's checkpoints")] = False,
    conf: Annotated[list[str] | None, typer.Option(help="Of Spark, name=value")] = None,
    output: Annotated[Path | None, typer.Option(help="A file for the results, JSON")] = None,
) -> None:
    """Measure promotions."""
    results = []
    for size in map(int, state_mb.split(",")):
        result = Result(size, rate, shared, shipping)
        settings = dict(word.split("=", 1) for word in conf or [])
        with running(size, shipping, shared, settings) as bench:
            bench.fill()
            bench.traffic.rate = rate
            _say(f"{size} MB: staffed, at rest for {rest:g} s")
            time.sleep(20)
            bench.rest(rest, result)
            _say(f"{size} MB: cores at rest: {result.cores}, {result.shipped_kb_per_epoch:.0f} kB shipped per epoch")
            for _ in range(kills):
                result.promotions.append(bench.kill(result))
                _say(f"{size} MB: {result.promotions[-1]}")
        results.append(result)
        _say(result.summary())
        if output is not None:
            output.write_text(json.dumps([asdict(one) for one in results], indent=1))


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    typer.run(main)
