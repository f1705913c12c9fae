"""What a pass sees, put together from the watches and from what the pods report. Observing never acts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem.process.ending import End
from tandem.protocol.switchover import HandoverRequest, Holder, Role, View
from tandem.status.report import OrdererReport, ReplicaReport
from tandem_operator.observed import (
    BEGINNING,
    Component,
    ContainerSeen,
    ObjectSeen,
    Observed,
    PodPhase,
    PodSeen,
    TaskSeen,
)
from tandem_operator.reports import Reports
from tandem_operator.resources.manifest import METRICS_PORT, ORDERER_METRICS_PORT
from tandem_operator.resources.names import ATTEMPT, COMPONENT, CONFIG, GENERATION, INDEX, MANIFEST, ROLE, TEMPLATE
from tandem_operator.resources.tasks import TASK
from tandem_operator.store import Key, Store
from tandem_operator.trim import Body

_BACK_OFF: Final = "CrashLoopBackOff"
_BY_ITSELF: Final = ("", "Completed", "Error")
_KILLED: Final = {
    "OOMKilled": "OOMKilled, it needs more memory than its limit, which spec.resources or a LimitRange of the namespace sets"
}
_MAIN_CONTAINERS: Final = ("replica", "generator")
_COMPONENTS: Final = frozenset(Component)
"""Others are Spark's executors, and pods that carry out a request."""


async def observe(
    body: Body,
    job: ReplicatedStreamJob,
    store: Store,
    objects: Sequence[ObjectSeen],
    reports: Reports,
    now_ms: int,
    invalid: str = "",
) -> Observed:
    """Everything that the plan may decide from. `body`: the job, as it was seen; `job`: what its pods use."""
    mine = pods_of(body, store)
    pods = [_pod(pod, store) for pod in mine if _component(pod) in _COMPONENTS]
    alive = [pod for pod in pods if pod.ip and not pod.node_lost and pod.phase is not PodPhase.FAILED]
    asked = [(pod.ip, port) for pod in alive for port in (METRICS_PORT, ORDERER_METRICS_PORT)]
    answers = await reports.of(asked)
    replicas = [answer for answer in answers.values() if isinstance(answer, ReplicaReport)]
    orderers = [answer for answer in answers.values() if isinstance(answer, OrdererReport)]
    return Observed(
        job=job,
        uid=body["metadata"]["uid"],
        generation=body["metadata"].get("generation", 0),
        now_ms=now_ms,
        pods=tuple(_with(pod, answers) for pod in pods),
        tasks=tuple(_task(pod, store) for pod in mine if _component(pod) == TASK),
        objects=tuple(objects),
        view=_view(replicas),
        leader=next((orderer.orderer for orderer in orderers if orderer.leading), None),
        status=body.get("status", {}),
        annotations=body["metadata"].get("annotations", {}),
        finalizers=tuple(body["metadata"].get("finalizers", ())),
        version=body["metadata"].get("resourceVersion", ""),
        deleting="deletionTimestamp" in body["metadata"],
        invalid=invalid,
    )


def pods_of(body: Body, store: Store) -> list[Body]:
    """The pods that a job owns. `body`: the job."""
    key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
    return [pod for pod in store.pods(key) if _is_owned(pod, body["metadata"]["uid"])]


def tasks_of(body: Body, store: Store) -> tuple[TaskSeen, ...]:
    """The tasks of a job. `body`: the job."""
    return tuple(_task(pod, store) for pod in pods_of(body, store) if _component(pod) == TASK)


def _is_owned(pod: Body, uid: str) -> bool:
    """Not one that a deleted job of the same name has left behind, for a moment."""
    return any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences", ()))


def _pod(body: Body, store: Store) -> PodSeen:
    metadata, status = body["metadata"], body.get("status", {})
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    node = body["spec"].get("nodeName", "")
    main, beside = _containers(body)
    deleting, node_lost = "deletionTimestamp" in metadata, store.is_lost(node)
    return PodSeen(
        name=metadata["name"],
        uid=metadata["uid"],
        component=Component(_component(body)),
        index=int(labels.get(INDEX, "0")),
        template=annotations.get(TEMPLATE, ""),
        phase=PodPhase.LOST if deleting or node_lost else _phase(status),
        ready=_is_ready(main, status),
        node=node,
        ip=status.get("podIP", ""),
        role=labels.get(ROLE, ""),
        created_ms=_ms(metadata.get("creationTimestamp")),
        started_ms=main.started_ms,
        unready_ms=_ms(_told(status, "Ready", "False").get("lastTransitionTime")),
        unmounted_ms=_unmounted_ms(main, status),
        restarts=main.restarts,
        exit_code=main.exit_code,
        ended=main.ended,
        end=main.end,
        message=_fate(status) or main.message or _unscheduled(status),
        waits=main.waits or _told(status, "PodScheduled", "False").get("reason", ""),
        beside=beside,
        deleting=deleting,
        node_lost=node_lost,
        manifest=annotations.get(MANIFEST, ""),
        config=annotations.get(CONFIG, ""),
        generation=labels.get(GENERATION, ""),
    )


def _task(body: Body, store: Store) -> TaskSeen:
    status = body.get("status", {})
    reported = status.get("containerStatuses", ())
    # Beside it, sidecars may run that the cluster has added.
    container: Mapping[str, Any] = next((one for one in reported if one["name"] == TASK), {})
    metadata, ended = body["metadata"], container.get("state", {}).get("terminated", {})
    node, phase = body["spec"].get("nodeName", ""), _task_phase(ended, status)
    is_lost = phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED) and store.is_lost(node)
    lost = f"its node, {node}, is lost" if is_lost else ""
    before = next((f"{one.label}: {one.trouble}" for one in _inits(body) if one.trouble), "")
    return TaskSeen(
        name=metadata["name"],
        uid=metadata["uid"],
        phase=PodPhase.FAILED if is_lost else phase,
        message=lost or before or _message(container) or _unscheduled(status) or status.get("message", ""),
        created_ms=_ms(metadata.get("creationTimestamp")),
        ended_ms=_ms(ended.get("finishedAt")),
        attempt=int(metadata.get("annotations", {}).get(ATTEMPT, "1")),
        exit_code=ended.get("exitCode"),
    )


def _task_phase(ended: Mapping[str, Any], status: Mapping[str, Any]) -> PodPhase:
    """A task is over when its own container is, whatever else runs in its pod, or ends that later."""
    if not ended:
        return _phase(status)
    return PodPhase.SUCCEEDED if ended["exitCode"] == 0 else PodPhase.FAILED


def _component(body: Body) -> str:
    component: str = body["metadata"].get("labels", {}).get(COMPONENT, "")
    return component


def _phase(status: Mapping[str, Any]) -> PodPhase:
    """Kubernetes' own phase; Unknown, which only old clusters say, is `LOST`."""
    reported = status.get("phase", "Pending")
    return PodPhase(reported) if reported in list(PodPhase) else PodPhase.LOST


def _containers(body: Body) -> tuple[ContainerSeen, tuple[ContainerSeen, ...]]:
    """The main one, and those beside it; others may have been added by the cluster, and stand anywhere among them."""
    seen = [_container(reported) for reported in body.get("status", {}).get("containerStatuses", ())]
    main = next((one for one in seen if one.name in _MAIN_CONTAINERS), ContainerSeen(""))
    return main, (*_inits(body), *(one for one in seen if one is not main))


def _inits(body: Body) -> Iterator[ContainerSeen]:
    """Init containers that have not ended well yet, and native sidecars: init containers that go on running."""
    sidecars = {one["name"] for one in body["spec"].get("initContainers", ()) if one.get("restartPolicy") == "Always"}
    for reported in body.get("status", {}).get("initContainerStatuses", ()):
        is_init = reported["name"] not in sidecars
        if not is_init or reported.get("state", {}).get("terminated", {}).get("exitCode") != 0:
            seen = _container(reported)
            yield replace(seen, is_init=is_init, message=_first_line(seen.message) if is_init else seen.message)


def _first_line(text: str) -> str:
    """The line that says most: of a trace of Python that is the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "" if not lines else lines[-1 if lines[0].startswith("Traceback") else 0]


def _container(reported: Mapping[str, Any]) -> ContainerSeen:
    return ContainerSeen(
        name=reported["name"],
        ready=reported.get("ready", False),
        started_ms=_ms(reported.get("state", {}).get("running", {}).get("startedAt")),
        restarts=reported.get("restartCount", 0),
        exit_code=_exit_code(reported),
        ended="terminated" in reported.get("state", {}),
        end=None if (end := _end(reported)) is None else end.kind,
        message=_message(reported),
        waits=reported.get("state", {}).get("waiting", {}).get("reason", ""),
    )


def _is_ready(main: ContainerSeen, status: Mapping[str, Any]) -> bool:
    """Whether the main container is. A pod that is not, with all its containers, is so for another reason: its node's."""
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    return conditions.get("Ready") == "True" or (main.ready and conditions.get("ContainersReady") == "False")


def _told(status: Mapping[str, Any], type: str, value: str) -> Mapping[str, Any]:
    """The condition of that type, if it has that value; else an empty one."""
    reported = (one for one in status.get("conditions", ()) if (one["type"], one["status"]) == (type, value))
    return next(reported, {})


def _unmounted_ms(main: ContainerSeen, status: Mapping[str, Any]) -> int:
    """An image that is being pulled looks the same in the container; but for it the pod has all else already."""
    has_all = _told(status, "PodReadyToStartContainers", "True")
    if has_all or main.waits not in BEGINNING:
        return 0
    return _ms(_told(status, "PodScheduled", "True").get("lastTransitionTime"))


def _exit_code(container: Mapping[str, Any]) -> int | None:
    for state in (container.get("state", {}), container.get("lastState", {})):
        if "terminated" in state:
            return int(state["terminated"]["exitCode"])
    return None


def _message(container: Mapping[str, Any]) -> str:
    """Why a container does not run, in Kubernetes' or the process's own words."""
    ended = [_ending(container.get(name, {}).get("terminated", {})) for name in ("state", "lastState")]
    waiting = container.get("state", {}).get("waiting", {})
    reason = waiting.get("reason", "")
    reported = ": ".join(part for part in (reason, waiting.get("message", "")) if part)
    # That it waits since it has ended again and again says less than how it ended; any other reason is another one.
    by_weight = (*ended, reported) if reason in (_BACK_OFF, *BEGINNING) else (reported, *ended)
    return next((text for text in by_weight if text), "").strip()


def _ending(ended: Mapping[str, Any]) -> str:
    """How it ended: that Kubernetes has ended it (`OOMKilled`), which the process could not say, and its last words."""
    reason, said = ended.get("reason", ""), ended.get("message", "").strip()
    end = End.decode(said)
    killed = _KILLED.get(reason, "" if reason in _BY_ITSELF else reason)
    return ": ".join(part for part in (killed, said if end is None else end.reason) if part)


def _end(container: Mapping[str, Any]) -> End | None:
    """How the process in it ended last, as it said itself; None if it did not, as one that was killed."""
    for name in ("state", "lastState"):
        if "terminated" in container.get(name, {}):
            return End.decode(container[name]["terminated"].get("message", ""))
    return None


def _fate(status: Mapping[str, Any]) -> str:
    """Why the node has ended or rejected the whole pod (`Evicted`), which none of its containers knows."""
    reported = [status.get(part, "").strip() for part in ("reason", "message")]
    return ": ".join(filter(None, reported)) if status.get("phase") == PodPhase.FAILED else ""


def _unscheduled(status: Mapping[str, Any]) -> str:
    """Why no node takes the pod."""
    message: str = _told(status, "PodScheduled", "False").get("message", "")
    return message.strip()


def _with(pod: PodSeen, answers: Mapping[tuple[str, int], ReplicaReport | OrdererReport]) -> PodSeen:
    here = [answers.get((pod.ip, port)) for port in (METRICS_PORT, ORDERER_METRICS_PORT)]
    reports = (one for one in here if isinstance(one, ReplicaReport) and one.replica == pod.replica)
    orderers = (one for one in here if isinstance(one, OrdererReport))
    return replace(pod, reported=next(reports, None), orderer=next(orderers, None))


def _view(reports: Sequence[ReplicaReport]) -> View | None:
    """The slots as a replica sees them that ZooKeeper answers; None if there is none such."""
    report = next((report for report in reports if report.coordinated and report.roles), None)
    if report is None:
        return None
    return View(
        {slot: Holder(incarnation) for slot, incarnation in report.slots.items()},
        {incarnation: _role(role) for incarnation, role in report.roles.items()},
        HandoverRequest(report.request, "") if report.request else None,
    )


def _role(reported: str) -> Role:
    """A role that only newer replicas know counts as none of ours."""
    return Role(reported) if reported in list(Role) else Role.CATCHING_UP


def _ms(timestamp: str | None) -> int:
    return 0 if not timestamp else int(datetime.fromisoformat(timestamp).timestamp() * 1000)
