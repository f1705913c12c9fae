"""What a user types: `kubectl tandem`, and which replica is meant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from cluster.jobs import ClusterJob
from cluster.kubernetes import run

_PLUGIN: Final = Path(sys.executable).with_name("kubectl-tandem")


def plugin(job: ClusterJob, command: str, *arguments: str) -> str:
    """`kubectl tandem COMMAND JOB …`"""
    return run([str(_PLUGIN), command, job.name, *arguments, "--namespace", job.kubectl.namespace], timeout_s=240)


def one_of(job: ClusterJob, role: str) -> str:
    """The only replica that the status shows in this role."""
    (name,) = (name for name, shown in job.roles().items() if shown == role)
    return name
