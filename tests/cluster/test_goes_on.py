"""A job that its own code has stopped goes on when the changed job is applied: at the epoch that failed, each row once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from cluster.conftest import with_snapshots
from cluster.jobs import ClusterJob, manifests, running_job, submit
from cluster.kubernetes import Kubectl
from integration.traffic import PARTITIONS, key_of
from integration.workload import Cluster
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

CODE: Final = """
from pyspark.sql import functions as F

def job(events):
    text = F.col("value").cast("string")
    read = READ
    copies = read.select("key", F.col("number").cast("string").alias("value"))
    counts = read.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    return {"copies": copies, "counts": counts}
"""
STRICT: Final = CODE.replace("READ", 'events.withColumn("number", text.cast("int"))')
FIXED: Final = CODE.replace("READ", 'events.withColumn("number", text.try_cast("int")).where("number IS NOT NULL")')
STOPPED_S: Final = 240.0
"""Its JVMs start first: as long as any job may take to be ready."""
ON_S: Final = 300.0


@contextmanager
def strict_job(kubectl: Kubectl, servers: Cluster, **spec: Any) -> Iterator[ClusterJob]:
    """A job with state whose code cannot take a text that is no number."""
    with running_job(kubectl, servers, f"strict-{uuid.uuid4().hex[:6]}", code=STRICT, **spec) as job:
        job.when_known_to_work()
        yield job


def send_seven(servers: Cluster, name: str) -> None:
    """A record that the code cannot take."""
    producer = Producer({"bootstrap.servers": servers.kafka.bootstrap})
    producer.produce(f"{name}-in", "seven", key_of(0), 0)
    assert producer.flush(60) == 0


def when_stopped(job: ClusterJob) -> None:
    """Wait until no replica runs any more; the record is named."""
    job.wait(lambda: job.condition("Ready")[1] == "Refused", STOPPED_S, "the job stands still")
    message = job.condition("Ready")[2]
    assert f"{job.name}-in/0, offset " in message, message


def apply_mended(job: ClusterJob, **spec: Any) -> None:
    """As docs/how-to/upgrade-a-job.md says: code in a ConfigMap of another name."""
    code, _ = manifests(job.cluster, f"{job.name}-fixed", FIXED)
    job.kubectl.apply(code)
    job.patch({"job": {"configMap": code["metadata"]["name"]}, **spec})


def check_that_it_goes_on(job: ClusterJob) -> None:
    job.wait(lambda: job.condition("Progressing")[1] == "Complete" and job.is_true("Ready"), ON_S, "it goes on")
    job.when_ready()
    job.check_exactly_once()


@pytest.mark.thorough
def test_without_snapshots_the_changed_job_goes_on_at_the_epoch_that_failed(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    """Its state is computed from the inputs first."""
    with strict_job(kubectl, servers) as job:
        send_seven(servers, job.name)
        when_stopped(job)
        apply_mended(job)
        check_that_it_goes_on(job)


def test_on_its_first_day_a_job_that_its_first_record_has_stopped_goes_on_with_it(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    """It was never ready, so nothing is known to work."""
    name = f"first-{uuid.uuid4().hex[:6]}"
    Topics(servers.connection).ensure([NewTopic(f"{name}-in", PARTITIONS)])
    send_seven(servers, name)
    job = ClusterJob(kubectl, servers, name, submit(kubectl, servers, name, code=STRICT))
    try:
        when_stopped(job)
        apply_mended(job)
        check_that_it_goes_on(job)
    finally:
        job.close()


@pytest.mark.thorough
def test_with_snapshots_and_a_standby_it_goes_on_from_the_newest_one(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    spec = {"replicas": 1, "standbys": 1, **with_snapshots(kubectl)}
    with strict_job(kubectl, servers, **spec) as job:
        send_seven(servers, job.name)
        when_stopped(job)
        apply_mended(job)
        job.wait(lambda: "upgrade" in job.status, ON_S, "the next generation is prepared")
        assert job.status["upgrade"]["savepoint"].startswith("upgrade-")
        check_that_it_goes_on(job)


@pytest.mark.thorough
def test_a_change_that_does_not_mend_it_is_no_dead_end(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    """The same code, with another option: its generation may begin before it meets the record again."""
    with strict_job(kubectl, servers) as job:
        send_seven(servers, job.name)
        when_stopped(job)
        job.patch({"job": {"options": {"version": "2"}}})
        job.wait(lambda: "upgrade" in job.status, STOPPED_S, "the same code is tried again")
        job.wait(lambda: job.condition("Ready")[:2] == ("False", "Refused"), STOPPED_S, "and is stopped again")
        apply_mended(job)
        check_that_it_goes_on(job)
