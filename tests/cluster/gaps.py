"""What readers notice of something that befalls a job: the longest gap, beside a stretch in which nothing happens."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from cluster.conftest import own_namespace, when_deleted, with_snapshots
from cluster.jobs import ClusterJob, running_job
from cluster.lab import Lab
from integration.waiting import for_a_while
from integration.workload import Cluster

MASKED_S: Final = 5.0
_RARELY_S: Final = 2.0
_SHORT: Final = {"mode": "leader", "minEpochInterval": "250ms"}
_LIMITED: Final = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "600m"}}
"""The lab's nodes share two cores: with a limit, the start of one pod leaves to those that compute what they need."""


@contextmanager
def measured_job(servers: Cluster, name: str, **spec: Any) -> Iterator[ClusterJob]:
    """A job with short epochs and snapshots, on nodes that weigh as machines, seldom looked at; see `running_job`."""
    when_deleted()  # what ends meanwhile takes processor time
    with _nodes_that_weigh(), own_namespace(_RARELY_S) as kubectl:
        settings = {"ordering": _SHORT, "resources": _LIMITED, **with_snapshots(kubectl), **spec}
        with running_job(kubectl, servers, name, **settings) as job:
            yield job


def _nodes_that_weigh() -> AbstractContextManager[None]:
    return Lab().weighing_as_machines() if "KUBE_LAB" in os.environ else nullcontext()


@contextmanager
def beside_a_quiet_stretch(job: ClusterJob, what: str, when_quiet: Callable[[], None]) -> Iterator[None]:
    """Measure the longest gap while the block runs, and then for as long while nothing happens."""
    began = time.monotonic()
    yield
    ended = time.monotonic()
    gap = job.reader.longest_gap(began, ended)
    when_quiet()
    quiet = time.monotonic()
    for_a_while(ended - began, "nothing happens")
    usual = job.reader.longest_gap(quiet, time.monotonic())
    print(f"{what}: {gap * 1000:.0f} ms in {ended - began:.0f} s; else {usual * 1000:.0f} ms, ratio {gap / usual:.2f}")
    assert gap <= MASKED_S, f"the output had a gap of {gap:.1f} s\n{job.story()}"


def drained(job: ClusterJob, replica: str) -> None:
    """Drain the node of a replica as far as the job goes, read on for a while, and let pods on the node again."""
    node = job.pod_of(replica)["spec"]["nodeName"]
    drain = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s")
    try:
        job.kubectl(*drain, "--pod-selector", f"tandem.dev/job={job.name}", timeout_s=150)
        job.flows_on(2_000)
    finally:
        job.kubectl("uncordon", node)


def upgraded(job: ClusterJob) -> None:
    """Change what every pod asks for, and wait until all of them are new."""
    before = {pod["metadata"]["name"] for pod in job.pods()}
    job.patch({"resources": {"requests": {"cpu": "510m", "memory": "1Gi"}}})
    job.wait(lambda: not before & {pod["metadata"]["name"] for pod in job.pods()}, 300, "all pods are new")
