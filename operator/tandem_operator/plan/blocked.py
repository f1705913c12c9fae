"""Why pods and tasks do not run yet, as Kubernetes says at once; they have failed only when their time is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import ContainerSeen, PodPhase, PodSeen, TaskSeen
from tandem_operator.resources.plain import plain

_MOUNTED_MS: Final = 30_000
_BEFORE_MS: Final = 30_000
"""So that one that hangs is named within a minute."""
_KINDS: Final = {"configMap": "ConfigMap", "secret": "Secret", "persistentVolumeClaim": "PersistentVolumeClaim"}


def blocked_reason(pods: Iterable[PodSeen], job: ReplicatedStreamJob, now_ms: int) -> str:
    """What the first of the pods that is blocked waits for, with its name; "": none is."""
    return next((text for pod in pods if (text := _blocked_reason(pod, job, now_ms))), "")


def blocked_task(tasks: Iterable[TaskSeen], now_ms: int) -> str:
    """What the first of the tasks waits for, or has failed by, with its name; "": none does."""
    return next((text for task in tasks if (text := _blocked_task(task, now_ms))), "")


def _blocked_task(task: TaskSeen, now_ms: int) -> str:
    if task.has_failed(now_ms):
        return f"Task {task.name} failed: {task.words}"
    is_late = task.phase is PodPhase.PENDING and 0 < task.created_ms <= now_ms - _BEFORE_MS
    return f"Task {task.name} waits: {task.message}" if is_late and task.message else ""


def _blocked_reason(pod: PodSeen, job: ReplicatedStreamJob, now_ms: int) -> str:
    main = ContainerSeen("", message=pod.message, waits=pod.waits)
    if main.trouble:
        return f"Pod {pod.name} waits: {main.trouble}"
    for seen in pod.beside:
        if seen.trouble:
            return f"Pod {pod.name} waits: {seen.label}: {seen.trouble}"
        if seen.is_init and seen.started_ms and now_ms - seen.started_ms > _BEFORE_MS:
            return f"Pod {pod.name} waits: {seen.label} has run for more than {_BEFORE_MS // 1000} s"
    if not pod.unmounted_ms or now_ms - pod.unmounted_ms <= _MOUNTED_MS:
        return ""
    waiting = f"Pod {pod.name} has waited for its volumes for more than {_MOUNTED_MS // 1000} s"
    sources = ", ".join(_sources(job))
    return f"{waiting}: do all of their sources exist ({sources})?" if sources else waiting


def _sources(job: ReplicatedStreamJob) -> Iterator[str]:
    """The user's own objects that volumes come from; whether they exist the operator does not look, nor may it."""
    if job.spec.job.config_map is not None:
        yield f"ConfigMap {job.spec.job.config_map}"
    for volume in (plain(job.spec.pod_template).get("spec") or {}).get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            yield from _named(source)


def _named(source: Mapping[str, Any]) -> Iterator[str]:
    for key, kind in _KINDS.items():
        reference = source.get(key) or {}
        name = next((reference[at] for at in ("name", "secretName", "claimName") if reference.get(at)), None)
        if name is not None:
            yield f"{kind} {name}"
