"""A count per key whose number of lanes changes while it lives: fed, run, read, and killed amid a change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from integration.command import completed
from integration.workload import Cluster, write_manifest
from tandem.kafka.topics import NewTopic, Topics
from tandem.waiting import Deadline, wait_until

COUNT = """
from pyspark.sql import functions as F

def job(events):
    return events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
"""
WINDOWS = """
from pyspark.sql import functions as F

def job(events):
    counts = events.withWatermark("timestamp", "1 second").groupBy("key", F.window("timestamp", "1 hour")).count()
    return counts.select("key", F.col("count").cast("string").alias("value"))
"""
UPDATES = {"file": "job.py", "outputMode": "update"}
KEYS = 12
PATIENCE_S = 400.0
KILLED_AT = """
import os, sys
from pathlib import Path
from tandem.local.lane_change import change_lanes
from tandem.manifest import load

def say(line):
    print(line, flush=True)
    if sys.argv[3] in line:
        os.kill(os.getpid(), 9)

change_lanes(load(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[4]), say)
"""


class Counting:
    """A count per key, run by `tandem run`, fed all the time. `sent`: key → how many records."""

    def __init__(
        self, folder: Path, cluster: Cluster, place: Callable[[str], int] | None = None, code: str = COUNT
    ) -> None:
        """`place` : key → partition, when `may_feed` is set; None: where a producer puts it, at once."""
        self.folder, self.cluster, self.code = folder, cluster, code
        self.name = f"moving-{uuid.uuid4().hex[:6]}"
        self.manifest = folder / "job" / "job.yaml"
        self.sent: dict[str, int] = defaultdict(int)
        self.place, self.may_feed = place or (lambda _: -1), threading.Event()
        if place is None:
            self.may_feed.set()
        Topics(cluster.connection).ensure([NewTopic(f"{self.name}-in", 4)])
        self.set_lanes(2)
        self._stop = threading.Event()
        self._feeder = threading.Thread(target=self._feed)
        self._feeder.start()

    def set_lanes(self, lanes: int, folder: str = "job", **spec: object) -> None:
        sinks = [{"name": "counts", "topic": f"{self.name}-counts"}]
        ordering = {"mode": "heartbeat", "generators": 1}
        settings = {"sinks": sinks, "ordering": ordering, "replicas": 1, "lanes": lanes, "job": UPDATES, **spec}
        write_manifest(self.folder / folder, self.cluster, self.name, self.code, **settings)

    def _feed(self) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.kafka.bootstrap, "enable.idempotence": True})
        number = 0
        while not self._stop.wait(0.02):
            key = f"k{number * 7 % KEYS}"
            self.may_feed.wait()
            producer.produce(f"{self.name}-in", b"", key, self.place(key))
            self.sent[key] += 1
            number += 1
        assert producer.flush(60) == 0

    def end_feeding(self) -> None:
        self._stop.set()
        self.may_feed.set()
        self._feeder.join()

    def counts(self) -> dict[str, list[int]]:
        """What was published of each key, in order."""
        consumer = Consumer(self.cluster.connection.consumer())
        found: dict[str, list[int]] = defaultdict(list)
        try:
            consumer.assign([TopicPartition(f"{self.name}-counts", 0, 0)])
            while True:
                message = consumer.poll(30)
                assert message is not None, "the topic's end does not come"
                if message.error() is not None:
                    return found
                found[(message.key() or b"").decode()].append(int(message.value() or b""))
        finally:
            consumer.close()

    def has_counted(self, sent: dict[str, int]) -> bool:
        counts = self.counts()
        return all(counts[key] and counts[key][-1] >= count for key, count in sent.items())

    @contextmanager
    def begun(self) -> Iterator[None]:
        """`tandem run`; then it is stopped."""
        run = self.folder / "run"
        argv = [sys.executable, "-m", "tandem", "run", str(self.manifest), "--no-screen", "--run-directory", str(run)]
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)

    @contextmanager
    def running(self, *options: str) -> Iterator[None]:
        """`tandem run`, until what was sent when it began, and a little more, is counted; then it is stopped."""
        log = self.folder / f"run-{uuid.uuid4().hex[:4]}.log"
        run = self.folder / "run"
        argv = [sys.executable, "-m", "tandem", "run", str(self.manifest), "--no-screen", "--run-directory", str(run)]
        with log.open("w") as file:
            process = subprocess.Popen([*argv, *options], stdout=file, stderr=subprocess.STDOUT)
            try:
                wanted = {key: count + 5 for key, count in self.sent.items()} or {"k0": 1}
                done = wait_until(
                    lambda: process.poll() is not None or self.has_counted(wanted), Deadline(PATIENCE_S), 0.5
                )
                assert done, self._story(log, run)
                assert process.poll() is None, self._story(log, run)
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        print(log.read_text())

    def _story(self, log: Path, run: Path) -> str:
        tails = [f"--- {path}\n{path.read_text(errors='replace')[-2500:]}" for path in sorted(run.rglob("*.log"))]
        return f"{log.read_text()}\n{self.counts()} are not {dict(self.sent)}\n" + "\n".join(tails)

    def check_once_and_in_order(self) -> None:
        for key, counts in self.counts().items():
            assert counts == sorted(set(counts)), f"the counts of {key} go back, or come twice"

    def verify(self) -> list[dict[str, Any]]:
        argv = [sys.executable, "-m", "tandem", "verify", str(self.manifest), "--json"]
        ended = completed(argv)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        report: dict[str, Any] = json.loads(ended.stdout)
        return list(report.get("lanes", [report]))

    def change(self, before: int, killed_at: str) -> subprocess.CompletedProcess[str]:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        argv = [sys.executable, "-c", KILLED_AT, str(self.manifest), str(before), killed_at, str(work)]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        return completed(argv, env=environment)
