"""What is worth saying of a manifest that can be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tandem.manifest.loading import Manifest
from tandem.manifest.problems import Issue, Location, Problem
from tandem.manifest.spark_settings import unknown

_OF_THE_JOB: Final = ("replica", "executor")
_OVERRULED: Final = {
    "TZ": "Local time is that of spec.spark.conf[spark.sql.session.timeZone], UTC by default; set that, or remove it",
    "PYTHONHASHSEED": "It is 0 in all replicas; remove it",
}


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
    yield from _between_barriers(manifest)
    yield from _overruled(manifest)
    yield from _for_no_container(manifest)
    if manifest.runs_elsewhere:
        for at, written in manifest.lines.otherwise.items():
            message = f"kubectl reads YAML 1.1, where {written} without quotes is a truth value or another number"
            yield Issue(
                at, message, f'If it is a text, write "{written}"; if it is a number, write it in decimal digits'
            )
    if manifest.spec.suspend:
        yield Issue(("spec", "suspend"), "only the operator heeds it; `tandem run` runs the job", "")


def _between_barriers(manifest: Manifest) -> Iterator[Issue]:
    spec = manifest.spec
    barriers = spec.ordering.barrier_interval
    if spec.engine == "realTime" and spec.snapshots is not None and spec.snapshots.interval < barriers:
        message = f"a snapshot is of a barrier, and these are {barriers} apart (spec.ordering.barrierInterval)"
        yield Issue(("spec", "snapshots", "interval"), message, f"Give {barriers} or more, or lower barrierInterval")


def _overruled(manifest: Manifest) -> Iterator[Issue]:
    """Variables that would make replicas differ while pods with others are rolled out, and what a pod must keep."""
    spec = (manifest.spec.pod_template or {}).get("spec") or {}
    if "restartPolicy" in spec:
        at: Location = ("spec", "podTemplate", "spec", "restartPolicy")
        yield Issue(at, "has no effect: a process that ends is started again", "Remove it")
    for at, part in _with_security_context(spec):
        if (part.get("securityContext") or {}).get("runAsNonRoot") is False:
            message = "has no effect: pods of a job never run as root"
            yield Issue((*at, "securityContext", "runAsNonRoot"), message, "Give a user with runAsUser")
    for index, container in enumerate(spec.get("containers") or ()):
        for place, variable in enumerate(container.get("env") or ()):
            if container["name"] in _OF_THE_JOB and variable["name"] in _OVERRULED:
                at = ("spec", "podTemplate", "spec", "containers", index, "env", place)
                yield Issue(at, f"{variable['name']} has no effect on the job", _OVERRULED[variable["name"]])


def _for_no_container(manifest: Manifest) -> Iterator[Issue]:
    """One template is for all pods of a job: what it says of a container of ours that this job has not is nothing."""
    spec = manifest.spec
    mode = spec.ordering.mode
    without = {
        "executor": "" if spec.executors.instances else "the job has no executors",
        "orderer": "in mode heartbeat no orderer runs beside a replica" if mode == "heartbeat" else "",
        "generator": "" if mode == "heartbeat" else f"there are no generators in mode {mode}",
    }
    for index, container in enumerate(((spec.pod_template or {}).get("spec") or {}).get("containers") or ()):
        if reason := without.get(container["name"]):
            at: Location = ("spec", "podTemplate", "spec", "containers", index)
            message = f"the container {container['name']} has no effect: {reason}"
            yield Issue(at, message, "Remove it; a container of your own needs another name")


def _with_security_context(spec: Mapping[str, Any]) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    at: Location = ("spec", "podTemplate", "spec")
    yield at, spec
    for name in ("containers", "initContainers"):
        yield from (((*at, name, index), container) for index, container in enumerate(spec.get(name) or ()))
