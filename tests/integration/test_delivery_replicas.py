"""What is promised without transactions when two replicas share the work, and the owner of a claim pauses between the
rows of an epoch and its marker, to come back as a zombie."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from integration.small_job import COPY, HEARTBEAT, SmallJob
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.observe import Observer, replica_of
from tandem.protocol.values import Claim
from tandem.verify.read import JobHistory, verify

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

MakeJob = Callable[[str], SmallJob]


@pytest.fixture
def make_job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeJob]:
    """Makes a job of two replicas with the given delivery, both at the head; stopped at the end of the test."""
    made: list[SmallJob] = []

    def make(delivery: str) -> SmallJob:
        name = f"{delivery.lower()}-{uuid.uuid4().hex[:6]}"
        job = SmallJob(
            *(tmp_path_factory.mktemp(delivery), Cluster(kafka, zookeeper), name, COPY),
            **{"delivery": delivery, "ordering": HEARTBEAT, "sinks": [{"name": "copies", "topic": f"{name}-copies"}]},
        )
        made.append(job)
        job.local.start()
        job.feed("1", "2")
        job.wait_for("1", "2")
        at_head(job)
        return job

    yield make
    for job in made:
        job.local.stop()


def at_head(job: SmallJob) -> None:
    """Wait until both replicas have computed all that was cut, or restored it."""
    observer = Observer.of(job.local)
    job.wait(lambda: all(r.ready and not r.lag_epochs for r in observer.look().replicas), "both replicas at the head")


def owner(job: SmallJob) -> str:
    """The replica that made the newest claim."""
    newest = [proposal for proposal in job.proposals() if isinstance(proposal, Claim)][-1]
    return replica_of(job.name, newest.owner)


@contextmanager
def paused_owner(job: SmallJob) -> Iterator[str]:
    """A replica that stands between the rows of "3" and their marker while the block runs, and returns after it."""
    with job.withheld(job.commits):
        job.feed("3")
        job.wait_for("3")
        zombie = owner(job)
        job.local.pause(zombie)
        job.feed("4")
        job.wait(lambda: owner(job) != zombie, "a claim of the other replica")
    try:
        yield zombie
    finally:
        job.local.resume(zombie)
    job.feed("6")
    job.wait_for("6")
    at_head(job)


def publishers(job: SmallJob) -> set[str]:
    return {replica_of(job.name, marker.owner) for marker in job.markers()}


def test_at_least_once_a_zombie_loses_nothing_and_the_consumer_drops_what_is_repeated(make_job: MakeJob) -> None:
    job = make_job("atLeastOnce")
    with paused_owner(job) as zombie:
        job.feed("5")
        job.wait_for("3", "4", "5")
        assert publishers(job) - {zombie}, "the other has not taken over"

    ids = Counter(row.id for row in job.rows(f"{job.name}-copies"))
    assert max(ids.values()) > 1, "nothing was repeated: the pause did not come between rows and marker"
    assert job.distinct(until="6") == ["1", "2", "3", "4", "5", "6"]
    check(job)


@pytest.mark.thorough
def test_at_most_once_nothing_of_a_zombie_is_repeated(make_job: MakeJob) -> None:
    job = make_job("atMostOnce")
    with paused_owner(job) as zombie:
        job.feed("5")
        job.wait_for("5")
        assert publishers(job) - {zombie}, "the other has not taken over"

    values = job.values()
    assert values == sorted(set(values)), "something is repeated, or out of order"
    assert set(values) | {"4"} == {"1", "2", "3", "4", "5", "6"}  # 4 is given up if the zombie had claimed it
    assert any(marker.skipped for marker in job.markers()), "nothing was given up"
    check(job)


def check(job: SmallJob) -> None:
    """The verifier finds the output as the delivery promises, and complete."""
    report = verify(job.connection, JobHistory.of(job.local.manifest), wait_s=30.0)
    assert (report.good, bool(report.unseen)) == (True, False), report
