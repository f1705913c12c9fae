"""A job of one active and one standby that share no folder: what the standby knows of the state was shipped to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integration.workload import Cluster, Workload, write_manifest
from tandem.local.scrape import scrape

STAFFED_S = 300.0


def checkpoints_of(folder: Path) -> tuple[Path, Path]:
    """The checkpoint folders of both replicas of a job that `running_apart` runs in `folder`."""
    return folder / "job" / "checkpoint", folder / "elsewhere"


@contextmanager
def running_apart(folder: Path, cluster: Cluster, name: str, **spec: object) -> Iterator[Workload]:
    """The job under load, staffed; each replica has checkpoints of its own. Both have the snapshot store `folder`/store."""
    first = write_manifest(
        folder / "job",
        cluster,
        name,
        replicas=1,
        standbys=1,
        snapshots={"store": str(folder / "store"), "interval": "1s"},
        **spec,  # type: ignore[arg-type]
    )
    second = first.with_name("other.yaml")
    body = json.loads(first.read_text())
    body["spec"]["checkpoint"]["directory"] = str(checkpoints_of(folder)[1])
    second.write_text(json.dumps(body))
    workload = Workload(cluster, first, name)
    workload.job.replace(
        "replica-1", tuple(str(second) if word == str(first) else word for word in workload.job.argv("replica-1"))
    )
    workload.job.start()
    try:
        workload.when_staffed(1, 1, STAFFED_S)
        yield workload
    finally:
        workload.close()


def metric(workload: Workload, replica: str, name: str) -> float:
    """A metric of a running replica; −1: it does not report it."""
    info = workload.job.announcement(replica)
    sample = None if info is None else scrape(info.metrics_port)
    return -1.0 if sample is None else sample.values.get(name, -1.0)
