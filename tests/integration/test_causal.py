"""A job that asks a service which never answers the same twice: all replicas publish what the log recorded.

The example `enrich`, its service, two replicas with a leader; replicas are killed, and the job is computed again.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import tandem.examples.enrich
from integration.small_job import SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.examples.enrich.service import ScoreService
from tandem.local.observe import Observer
from tandem.manifest import load
from tandem.protocol.values import Cut, Determinant

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

FOLDER = Path(tandem.examples.enrich.__file__).parent


@pytest.fixture
def service() -> Iterator[ScoreService]:
    with ScoreService() as made:
        yield made


class EnrichJob(SmallJob):
    """The example on topics of its own, and what has been fed to it."""

    def __init__(self, folder: Path, cluster: Cluster, name: str, service: str) -> None:
        example = load(FOLDER / "enrich.yaml").spec
        (source,), options = example.sources, {"service": service, "reviewShare": "0.5"}
        super().__init__(
            folder,
            cluster,
            name,
            (FOLDER / "job.py").read_text(),
            job={"file": "job.py", "options": options},
            sources=[
                {"name": source.name, "topics": [f"{name}-in"], "format": source.format, "schema": source.schema_ddl}
            ],
            sinks=[{"name": "scored", "topic": f"{name}-scored"}],
            replicas=2,
            ordering={"mode": "leader"},
        )
        self._observer = Observer.of(self.local)
        self.fed: list[int] = []

    def pay(self, payments: int, at_once: int = 5) -> None:
        """Feed payments, a few at a time, each time until they are published: so they make many epochs."""
        for _ in range(payments // at_once):
            ids = range(len(self.fed), len(self.fed) + at_once)
            self.feed(*(json.dumps({"id": number, "amount": number / 100}) for number in ids))
            self.fed += ids
            self.wait(lambda: len(self.scored()) >= len(self.fed), f"{len(self.fed)} scored payments")

    def scored(self) -> list[dict[str, object]]:
        return [json.loads(value) for value in self.values(f"{self.name}-scored")]

    def whole(self) -> None:
        """Wait until both replicas run, and then until both have computed a new epoch: who is restored has none to."""
        self.wait(lambda: all(self.local.is_up(name) for name in ("replica-0", "replica-1")), "both replicas run")
        self.pay(5)
        self.both_at_head()

    def both_at_head(self) -> None:
        """Wait until both replicas have computed, and compared, everything."""

        def are() -> bool:
            last = max((marker.epoch for marker in self.markers()), default=-1)
            replicas = self._observer.look().replicas
            return len(replicas) == 2 and all(r.alive and r.ready and r.epoch >= last >= 0 for r in replicas)

        self.wait(are, "both replicas at the head")

    def publisher(self) -> str:
        return str(self.markers()[-1].owner.split(".")[1])

    def check(self, service: ScoreService) -> None:
        """Each payment is scored once, by one of the service's answers; nobody diverged; epochs' times go on."""
        scored = self.scored()
        assert [row["id"] for row in scored] == self.fed
        assert [row["id"] for row in scored if row.get("score") not in service.given[int(str(row["id"]))]] == []
        for name in ("replica-0", "replica-1"):
            assert "diverged" not in self.local.log_file(name).read_text().lower()
            assert self.local.process(name).state == "running", self.story()
        times = [str(row["scored"]) for row in scored]
        assert all(earlier <= later for earlier, later in pairwise(times))
        assert len({row["review"] for row in scored}) == 2, "the dice always fall on the same side"


@pytest.fixture
def job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, service: ScoreService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EnrichJob]:
    name = f"enrich-{uuid.uuid4().hex[:6]}"
    made = EnrichJob(tmp_path_factory.mktemp("enrich"), Cluster(kafka, zookeeper), name, service.address)
    made.local.start()
    yield made
    made.local.stop()


def test_every_record_is_enriched_once_whoever_dies_and_replays(job: EnrichJob, service: ScoreService) -> None:
    job.whole()
    job.pay(60)

    # The replica that publishes dies; the other goes on with what the log has recorded, and so does its successor.
    job.local.kill(job.publisher())
    job.pay(30)
    job.whole()
    job.pay(20)
    job.both_at_head()
    job.check(service)

    # Everything is computed again, from the first epoch on, and the service is away: the answers are in the log.
    published = len(job.markers())
    job.local.stop()
    service.close()
    asked = {number: len(scores) for number, scores in service.given.items()}
    shutil.rmtree(job.folder / "checkpoint")
    job.local.start()
    job.both_at_head()
    job.check(service)
    assert {number: len(scores) for number, scores in service.given.items()} == asked
    assert len(job.markers()) == published

    # What nobody answers is null, in every replica.
    job.feed(json.dumps({"id": 1_000, "amount": 1.0}))
    job.fed.append(1_000)
    job.wait(lambda: len(job.scored()) >= len(job.fed), "the payment that nobody scored")
    job.both_at_head()
    assert "score" not in job.scored()[-1]

    log = job.proposals()
    first = {(p.epoch, p.name): p for p in reversed(log) if isinstance(p, Determinant)}
    assert {epoch for epoch, _ in first} == {p.epoch for p in log if isinstance(p, Cut)}, "an answer for each epoch"
