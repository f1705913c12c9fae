"""A job that lives gets another number of lanes, under traffic: each key's counts come once and in order, none is lost."""

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
from shutil import rmtree
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from integration.workload import Cluster, write_manifest
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.replica.lanes_before import lanes_before
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(1_700)]

COUNT = """
from pyspark.sql import functions as F

def job(events):
    return events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
"""
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

    def __init__(self, folder: Path, cluster: Cluster, place: Callable[[str], int] | None = None) -> None:
        """`place` : key → partition, when `may_feed` is set; None: where a producer puts it, at once."""
        self.folder, self.cluster = folder, cluster
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
        settings = {"sinks": sinks, "ordering": ordering, "replicas": 1, "lanes": lanes, **spec}
        write_manifest(self.folder / folder, self.cluster, self.name, COUNT, **settings)

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
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        report: dict[str, Any] = json.loads(ended.stdout)
        return list(report.get("lanes", [report]))

    def change(self, before: int, killed_at: str) -> subprocess.CompletedProcess[str]:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        argv = [sys.executable, "-c", KILLED_AT, str(self.manifest), str(before), killed_at, str(work)]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        return subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, env=environment)


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[Counting]:
    with KafkaBroker(tmp_path / "kafka") as kafka, ZooKeeperServer(tmp_path / "zookeeper") as zookeeper:
        made = Counting(tmp_path, Cluster(kafka, zookeeper))
        try:
            yield made
        finally:
            made.end_feeding()


@pytest.mark.parametrize("numbers", [(1, 2, 4, 1), (2, 4, 2, 1)], ids=["1-2-4-1", "2-4-2-1"])
def test_a_job_goes_on_with_more_and_with_fewer_lanes_and_with_one(
    counting: Counting, numbers: tuple[int, ...]
) -> None:
    before = numbers[0]
    counting.set_lanes(before)
    with counting.running():
        pass
    for lanes in numbers[1:]:
        counting.set_lanes(lanes)
        assert lanes_before(load(counting.manifest)) == before
        with counting.running("--accept-changes"):
            if lanes == 1:
                counting.end_feeding()  # it is the last
                assert wait_until(lambda: counting.has_counted(counting.sent), Deadline(PATIENCE_S), 0.5)
        counting.check_once_and_in_order()
        reports = counting.verify()
        assert len(reports) == lanes
        assert all(report["good"] for report in reports)
        before = lanes
    assert {key: counts[-1] for key, counts in counting.counts().items()} == counting.sent


def test_all_lanes_go_on_with_changed_code(counting: Counting) -> None:
    with counting.running():
        pass
    code = counting.manifest.with_name("job.py")
    code.write_text(code.read_text() + "\n# changed\n")
    with counting.running("--accept-changes"):
        counting.end_feeding()
        assert wait_until(lambda: counting.has_counted(counting.sent), Deadline(PATIENCE_S), 0.5)
    counting.check_once_and_in_order()
    assert [report["good"] for report in counting.verify()] == [True, True]
    assert {key: counts[-1] for key, counts in counting.counts().items()} == counting.sent


def tandem_lanes(manifest: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tandem", "lanes", str(manifest), *options]
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.mark.parametrize("numbers", [(1, 2, 1), (2, 4, 2)], ids=["1-2-1", "2-4-2"])
def test_the_number_changes_where_nothing_is_left_of_the_lanes_but_their_logs_and_snapshots(
    counting: Counting, numbers: tuple[int, ...]
) -> None:
    first, *others = numbers
    store = {"snapshots": {"store": str(counting.folder / "store"), "interval": "1h"}, "replicas": 2}
    checkpoints = counting.folder / "job" / "checkpoint"
    counting.set_lanes(first, **store)
    with counting.running():
        counting.set_lanes(others[0], **store)
        checked = tandem_lanes(counting.manifest, "--check")
        can = f"can become {others[0]} lanes" in checked.stdout
        assert (checked.returncode, can) == (ExitCode.OK, True), checked.stderr
        counting.set_lanes(3, **store)
        checked = tandem_lanes(counting.manifest, "--check")
        assert (checked.returncode, "no multiple of spec.lanes" in checked.stderr) == (ExitCode.REFUSED, True), (
            checked.stderr
        )
        counting.set_lanes(others[0], **store)
        running = tandem_lanes(counting.manifest)
        assert (running.returncode, "still run" in running.stderr) == (ExitCode.REFUSED, True), running.stderr
    for lanes in others:
        rmtree(checkpoints)
        counting.set_lanes(lanes, **{**store, "replicas": 1})
        changed = tandem_lanes(counting.manifest)
        assert changed.returncode == ExitCode.OK, changed.stdout + changed.stderr
        assert f"begins with {lanes} lane" in changed.stdout
        again = tandem_lanes(counting.manifest)
        assert (again.returncode, again.stdout.strip()) == (ExitCode.OK, f"{counting.name} has {lanes} lanes")
        with counting.running():
            if lanes == others[-1]:
                counting.end_feeding()
                assert wait_until(lambda: counting.has_counted(counting.sent), Deadline(PATIENCE_S), 0.5)
    counting.check_once_and_in_order()
    assert {key: counts[-1] for key, counts in counting.counts().items()} == counting.sent


@pytest.fixture
def placed(tmp_path: Path) -> Iterator[Counting]:
    """Its keys are not where a partitioner of Kafka's puts them."""
    with KafkaBroker(tmp_path / "kafka") as kafka, ZooKeeperServer(tmp_path / "zookeeper") as zookeeper:
        made = Counting(tmp_path, Cluster(kafka, zookeeper), lambda key: int(key[1:]) % 4)
        try:
            yield made
        finally:
            made.end_feeding()


def test_what_only_the_logs_and_the_state_show_is_refused_while_the_lanes_run(placed: Counting) -> None:
    counting, said = placed, ""
    store = {"snapshots": {"store": str(counting.folder / "store"), "interval": "1s"}}
    counting.set_lanes(2, **store)
    counting.set_lanes(4, "checked", **store)

    def check() -> str:
        nonlocal said
        checked = tandem_lanes(counting.folder / "checked" / "job.yaml", "--check")
        said = checked.stdout + checked.stderr
        assert checked.returncode == ExitCode.REFUSED or "has not run yet" in said, said
        return said

    with counting.begun():
        assert wait_until(lambda: "has published nothing yet" in check(), Deadline(PATIENCE_S), 1), said
        counting.may_feed.set()
        assert wait_until(lambda: "nobody knows which keys" in check(), Deadline(PATIENCE_S), 1), said


def test_a_change_that_is_killed_leaves_the_lanes_as_they_were_and_can_be_tried_again(counting: Counting) -> None:
    with counting.running():
        pass
    counting.set_lanes(4)
    for step in ("checked", "its state is kept", "not committed yet"):
        ended = counting.change(2, killed_at=step)
        assert ended.returncode == -signal.SIGKILL, ended.stdout + ended.stderr
        assert lanes_before(load(counting.manifest)) == 2
    counting.set_lanes(2)
    with counting.running():
        pass
    counting.set_lanes(4)
    ended = counting.change(2, killed_at="begins with 4 lanes")
    assert ended.returncode == -signal.SIGKILL, ended.stdout + ended.stderr
    with counting.running():
        pass
    counting.check_once_and_in_order()
    counting.set_lanes(2)
    refused = subprocess.run(
        [
            sys.executable,
            "-m",
            "tandem.replica",
            str(counting.manifest),
            "--lane",
            "0",
            "--run-directory",
            str(counting.folder),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert refused.returncode == ExitCode.REFUSED
    assert "the job runs with spec.lanes: 4" in refused.stdout + refused.stderr
