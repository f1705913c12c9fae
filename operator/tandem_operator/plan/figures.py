"""How far a job has got, in figures: what is published, and what is still to be computed."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.status.report import OrdererReport, ReplicaReport
from tandem_operator.observed import Observed, PodSeen


def published_epoch(observed: Observed, known: int | None) -> int | None:
    """The last epoch of which a member has read that it is published; while none has, the one `known` before, or −1.

    Candidates do not count before their generation has begun.
    """
    epochs = [report.published_epoch for _, report in _members(observed)]
    none_yet = -1 if known is None and epochs else known  # a process that began again has read of none yet
    return max((epoch for epoch in epochs if epoch >= 0), default=none_yet)


def lag_of(observed: Observed) -> int | None:
    """Records that no replica has computed yet: those in no epoch yet, and those of epochs that the foremost has yet to do.

    None: nobody says one or the other. Where each replica orders for itself, the two are of one and the same replica.
    """
    computing = [(pod, report) for pod, report in _members(observed) if knows_lag(report) and not report.diverged]
    if observed.job.spec.ordering.mode == "none":
        each = [
            max(0, pod.orderer.lag_records + report.lag_records) for pod, report in computing if pod.orderer is not None
        ]
        return min(each, default=None)
    waiting = _waiting(observed)
    if waiting is None or not computing:
        return None
    return max(0, waiting + min(report.lag_records for _, report in computing))


def knows_lag(report: ReplicaReport) -> bool:
    """Whether a replica knows how far it is behind: not before it computes, and has read where the log ends."""
    return report.state == "active" and (report.ready or report.lag_epochs > 0)


def _members(observed: Observed) -> Iterator[tuple[PodSeen, ReplicaReport]]:
    for pod in observed.pods:
        if pod.reported is not None and not pod.reported.candidate and not pod.is_gone:
            yield pod, pod.reported


def _waiting(observed: Observed) -> int | None:
    """Records in no epoch, as that one sees it of those who cut that has read the log farthest; None: nobody says."""
    cutting = [pod.orderer for pod in observed.pods if pod.orderer is not None and pod.orderer.leading]
    newest: OrdererReport | None = max(cutting, key=lambda one: (one.epoch, one.lag_records), default=None)
    return None if newest is None else newest.lag_records
