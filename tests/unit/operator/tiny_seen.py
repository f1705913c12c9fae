"""What an operator sees of a cluster in mind: pods as the API server shows them, and what their replicas report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.protocol.switchover import Holder, Role, View
from tandem.status.report import ReplicaReport
from tandem_operator.observed import Component, ObjectSeen, Observed, PodPhase, PodSeen
from tandem_operator.resources.names import process_name
from tandem_operator.resources.revisions import KIND as REVISION
from unit.operator.operator_builders import UID
from unit.operator.tiny_pods import STEP_MS, Pod

if TYPE_CHECKING:
    from unit.operator.tiny_cluster import TinyCluster


def observed(cluster: TinyCluster) -> Observed:
    """The cluster as an operator sees it."""
    members = [pod for pod in cluster.pods.values() if pod.component is Component.MEMBER and pod.runs]
    roles = {pod.incarnation: _role(cluster, pod) for pod in members if pod.age}
    view = View({slot: Holder(name) for slot, name in cluster.slots.items()}, roles)
    return Observed(
        job=cluster.job,
        uid=UID,
        generation=cluster.generation,
        now_ms=cluster.now_ms,
        pods=tuple(_seen(cluster, pod) for _, pod in sorted(cluster.pods.items())),
        objects=(
            *(ObjectSeen(kind, name, applied) for (kind, name), applied in sorted(cluster.objects.items())),
            *(ObjectSeen(REVISION, name, "", whole) for name, whole in sorted(cluster.revisions.items())),
        ),
        view=view if cluster.knows_slots and roles and cluster.job.spec.zookeeper else None,
        leader=next((f"orderer-{pod.index}" for pod in cluster.actives()), None),
        tasks=tuple(cluster.tasks.values()),
        status=cluster.status,
        annotations=cluster.annotations,
    )


def _role(cluster: TinyCluster, pod: Pod) -> Role:
    if cluster.is_standby(pod):
        return Role.STANDBY
    return Role.READY if cluster.is_active(pod) else Role.CATCHING_UP


def _seen(cluster: TinyCluster, pod: Pod) -> PodSeen:
    lost = pod.deleting or pod.node_lost
    return PodSeen(
        name=pod.name,
        uid=pod.uid,
        component=pod.component,
        index=pod.index,
        template=pod.template,
        phase=PodPhase.LOST if lost else pod.phase,
        ready=cluster.is_ready(pod),
        node="" if pod.phase is PodPhase.PENDING else f"node-{pod.index}",
        role=pod.role,
        created_ms=pod.created_ms,
        started_ms=pod.started_ms,
        restarts=pod.restarts,
        exit_code=pod.exit_code,
        ended=pod.exit_code == 0,
        end=pod.end,
        message=pod.message,
        beside=pod.beside,
        reported=None if pod.silent else _reported(cluster, pod),
        deleting=pod.deleting,
        node_lost=pod.node_lost,
        manifest=pod.manifest,
        config=pod.config,
        generation=pod.generation,
    )


def _reported(cluster: TinyCluster, pod: Pod) -> ReplicaReport | None:
    if pod.component is Component.GENERATOR or not pod.runs or not pod.age:
        return None
    publisher = next((active.incarnation for active in cluster.actives()), "")
    is_standby = pod.works and cluster.is_standby(pod)
    return ReplicaReport(
        replica=process_name(pod.component, pod.index),
        candidate=pod.config != cluster.config,
        epoch=cluster.now_ms // STEP_MS,
        published_epoch=cluster.now_ms // STEP_MS - 1,
        ready=cluster.is_ready(pod),
        lag_epochs=0,
        lag_records=0,
        lag_seconds=0.1,
        verified_epoch=5 if is_standby else -1,
        diverged=pod.diverged,
        state="standby" if is_standby else "active" if pod.age >= 2 else "starting",
        incarnation=pod.incarnation,
        publisher=publisher,
        drift=cluster.drift,
    )
