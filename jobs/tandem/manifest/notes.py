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
