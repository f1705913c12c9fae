"""A job that lives gets another number of lanes, under traffic: each key's counts come once and in order, none is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest
from confluent_kafka import Producer

from integration.command import completed
from integration.counting_lanes import refused
from integration.moving_lanes import PATIENCE_S, WINDOWS, Counting
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.replica.lanes_before import lanes_before
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(1_700)]


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
    return completed(argv, PATIENCE_S)


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


@pytest.fixture
def windows(tmp_path: Path) -> Iterator[Counting]:
    """Nobody feeds it."""
    with KafkaBroker(tmp_path / "kafka") as kafka, ZooKeeperServer(tmp_path / "zookeeper") as zookeeper:
        made = Counting(tmp_path, Cluster(kafka, zookeeper), lambda _: 0, WINDOWS)
        try:
            yield made
        finally:
            made.end_feeding()


def test_a_lane_that_is_minutes_behind_reads_to_the_end_before_it_becomes_part_of_another(windows: Counting) -> None:
    counting = windows
    store = {"snapshots": {"store": str(counting.folder / "store"), "interval": "1h"}}
    now_ms = time.time_ns() // 1_000_000
    times = {"k0": (0, now_ms), "k1": (1, now_ms - 600_000)}

    def send_and_await(*keys: str) -> None:
        send(*keys)
        assert wait_until(lambda: counting.has_counted(sent), Deadline(PATIENCE_S), 0.5), (counting.counts(), sent)

    def send(*keys: str) -> None:
        producer = Producer({"bootstrap.servers": counting.cluster.kafka.bootstrap})
        for key in keys:
            partition, at_ms = times[key]
            producer.produce(f"{counting.name}-in", b"", key, partition, timestamp=at_ms)
            sent[key] = sent.get(key, 0) + 1
        assert producer.flush(30) == 0

    sent: dict[str, int] = {}
    send("k0", "k1")
    counting.set_lanes(2, **store)
    with counting.running():
        for _ in range(3):  # a watermark is that of the epochs before
            send_and_await("k0", "k1")
    send("k1")
    counting.set_lanes(1, **store)
    ended = tandem_lanes(counting.manifest)
    said = "lane 1 is 10 minutes behind lane 0, by their watermarks, and has 1 record to read"
    assert (ended.returncode, said in " ".join(ended.stderr.split())) == (ExitCode.REFUSED, True), ended.stderr
    counting.set_lanes(2, **store)
    with counting.running():
        send_and_await()
    counting.set_lanes(1, **store)
    ended = tandem_lanes(counting.manifest)
    assert ended.returncode == ExitCode.OK, ended.stderr
    counting.check_once_and_in_order()


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
    assert "the job runs with spec.lanes: 4" in refused(counting.manifest, counting.folder, "--lane", "0")
