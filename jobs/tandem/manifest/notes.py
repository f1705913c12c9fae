"""What is worth saying of a manifest that can be used."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.manifest.loading import Manifest
from tandem.manifest.problems import Issue, Problem
from tandem.manifest.spark_settings import unknown


def notes(manifest: Manifest) -> tuple[Problem, ...]:
    """What may be meant so, or may be a mistake."""
    return tuple(manifest.problem(issue) for issue in _issues(manifest))


def _issues(manifest: Manifest) -> Iterator[Issue]:
    for name in manifest.spec.spark.conf:
        if unknown(name):
            message = f"Spark itself has no setting {name}; it is passed on, for a library or the job to read"
            yield Issue(("spec", "spark", "conf", name), message, "")
    ordering = manifest.spec.ordering
    for field, key in (("heartbeat_period", "heartbeatPeriod"), ("generators", "generators")):
        if field in ordering.model_fields_set and ordering.mode != "heartbeat":
            yield Issue(
                ("spec", "ordering", key), f"has no effect in mode {ordering.mode}", "Set mode: heartbeat, or remove it"
            )
    if manifest.spec.suspend:
        yield Issue(("spec", "suspend"), "only the operator heeds it; `tandem run` runs the job", "")
