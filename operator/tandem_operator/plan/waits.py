"""What the processes of a job report to wait for, each a line: for those that read its conditions."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.status.report import OrdererReport, ReplicaReport
from tandem_operator.observed import Observed


def all_wait(observed: Observed) -> str:
    """What the replicas wait for that compute; "": at least one of them gets on."""
    computing = [replica for replica in _replicas(observed) if replica.state == "active"]
    return _lines(computing) if all(replica.waits_for for replica in computing) else ""


def who_waits(observed: Observed) -> str:
    """What any of the replicas waits for that compute."""
    return _lines(replica for replica in _replicas(observed) if replica.state == "active")


def orderers_wait(observed: Observed) -> str:
    """What orderers wait for before they can cut. Only the one that has to cut says so."""
    return _lines(pod.orderer for pod in observed.pods if pod.orderer is not None and not pod.is_gone)


def waits_beside(observed: Observed) -> str:
    """What does not get on, though nobody waits for it to get the output."""
    orderers = [pod.orderer for pod in observed.pods if pod.orderer is not None and not pod.is_gone]
    replicas = [f"{one.replica} waits for {one.waits_beside}" for one in _replicas(observed) if one.waits_beside]
    return "\n".join(
        [*replicas, *(f"{one.orderer} waits for {one.waits_beside}" for one in orderers if one.waits_beside)]
    )


def _replicas(observed: Observed) -> list[ReplicaReport]:
    return [pod.reported for pod in observed.pods if pod.reported is not None and not pod.is_gone]


def _lines(reports: Iterable[ReplicaReport | OrdererReport]) -> str:
    return "\n".join(f"{_name(one)} waits for {one.waits_for}" for one in reports if one.waits_for)


def _name(report: ReplicaReport | OrdererReport) -> str:
    return report.replica if isinstance(report, ReplicaReport) else report.orderer
