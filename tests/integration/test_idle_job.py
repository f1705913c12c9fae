"""What the screen, `/status` and the metrics say of a job that has little or nothing to compute, from its first start on."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from rich.console import Console

from integration.small_job import COPY, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.observe import Observer
from tandem.local.page import job_page
from tandem.local.screen import progress_line

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

REPLICAS = ("replica-0", "replica-1")


class IdleJob(SmallJob):
    """Two replicas with a leader that copy what little there is."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        super().__init__(folder, cluster, "idle", COPY, replicas=2, sinks=[{"name": "copies", "topic": "idle-copies"}])
        self.observer = Observer.of(self.local)

    def screen(self) -> dict[str, str]:
        """The page's lines by their first word."""
        out = Console(file=io.StringIO(), width=200, color_system=None)
        out.print(job_page(self.observer.look()))
        assert isinstance(out.file, io.StringIO)
        lines = [" ".join(line.split()) for line in out.file.getvalue().splitlines() if line.strip()]
        return {line.split()[0]: line for line in lines}

    def shows(self, condition: Callable[[dict[str, str]], bool], what: str) -> None:
        self.wait(lambda: condition(self.screen()), f"{what}; the screen: {self.screen()}")

    def report(self, name: str) -> dict[str, Any]:
        """What the replica says of itself as /status, where the operator reads it."""
        info = self.local.announcement(name)
        assert info is not None
        with urlopen(f"http://127.0.0.1:{info.metrics_port}/status", timeout=10) as answer:
            report: dict[str, Any] = json.load(answer)
        return report


@pytest.fixture
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[IdleJob]:
    made = IdleJob(tmp_path, Cluster(kafka, zookeeper))
    made.local.start()
    yield made
    made.local.stop()


@pytest.mark.thorough
def test_a_job_with_nothing_to_compute_never_seems_to_start_for_good(job: IdleJob) -> None:
    # There is no input yet.
    job.shows(lambda rows: all(f"{name} running follows – 0 ep" in rows[name] for name in REPLICAS), "both are ready")
    assert job.screen()["Published"] == "Published nothing yet"
    assert job.screen()["idle"].startswith("idle microBatch")
    reports = [job.report(name) for name in REPLICAS]
    assert [(r["state"], r["ready"], r["epoch"], r["lag_records"]) for r in reports] == [("active", True, -1, 0)] * 2

    # The very first epoch has the number 0.
    job.feed("a")
    job.wait_for("a")
    job.shows(
        lambda rows: all(f"{name} running" in rows[name] and " 0 0 ep" in rows[name] for name in REPLICAS), "epoch 0"
    )
    roles = {rows[name].split(" running ")[1].split(" 0 0 ep")[0] for rows in [job.screen()] for name in REPLICAS}
    assert roles == {"publishes 100%", "follows"}
    assert "starts" not in progress_line(job.observer.look())

    # Another begins again at the log's end: what it restored is where it stands, and what its predecessor published is not
    # its own work.
    publisher = str(job.observer.look().publisher)
    before = job.local.incarnation(publisher)
    job.local.kill(publisher)
    job.wait(lambda: job.local.incarnation(publisher) not in (None, before), "a successor")
    job.shows(lambda rows: f"{publisher} running starts – –" in rows[publisher], "the successor starts")
    job.shows(lambda rows: f"{publisher} running follows 0 0 ep" in rows[publisher], "the successor is ready")
    assert job.screen()["Published"] == f"Published up to epoch 0, last by {publisher}"
    report = job.report(publisher)
    keys = ("state", "ready", "epoch", "head_epoch", "published_epoch", "lag_epochs", "lag_records", "lag_seconds")
    assert [report[key] for key in keys] == ["active", True, 0, 0, 0, 0, 0, 0.0]

    def shown() -> set[tuple[int, int | None]]:
        return {(orderer.epoch, orderer.input_lag_records) for orderer in job.observer.look().orderers}

    job.wait(lambda: shown() == {(0, 0), (0, None)}, "of the orderers the one that leads says how much waits")

    # It has waited for an epoch, and computes that as the other one does.
    job.feed("b")
    job.wait_for("a", "b")
    job.shows(
        lambda rows: all(f"{name} running" in rows[name] and " 1 0 ep" in rows[name] for name in REPLICAS), "epoch 1"
    )
