"""What the choice of an engine must agree with. What the job's plan must be like for it is seen when that is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tandem.manifest.models import OrderingSpec, ReplicatedStreamJob
from tandem.manifest.problems import Issue, Location

_ENGINE: Final[Location] = ("spec", "engine")


def real_time_runs_in_one_task(job: ReplicatedStreamJob) -> Iterator[Issue]:
    if job.spec.engine != "realTime":
        return
    if job.spec.executors.instances:
        at: Location = ("spec", "executors", "instances")
        message = "the real-time engine runs in the replica itself, and has no use for executors"
        yield Issue(at, message, "Remove executors, or set spec.engine: microBatch", (at, _ENGINE))
    if job.spec.spark.parallelism > 1:
        at = ("spec", "spark", "parallelism")
        message = f"the real-time engine keeps a job's state in one partition, not in {job.spec.spark.parallelism}"
        yield Issue(at, message, "Remove parallelism, or set spec.engine: microBatch", (at, _ENGINE))


def barriers_need_the_real_time_engine(job: ReplicatedStreamJob) -> Iterator[Issue]:
    if job.spec.engine == "microBatch" and job.spec.ordering.barrier_interval != OrderingSpec().barrier_interval:
        at: Location = ("spec", "ordering", "barrierInterval")
        message = "the engine microBatch (the default) commits state behind every epoch, and has no barriers"
        yield Issue(at, message, "Remove it, or set spec.engine: realTime or auto", (at, _ENGINE))
