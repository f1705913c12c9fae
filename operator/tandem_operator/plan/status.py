"""The whole status of a job, from what was observed and what the status was. Equal to that if nothing has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tandem.core.failovers import Failover as ReportedFailover
from tandem.protocol.switchover import replica_name
from tandem_operator.observed import Component, Observed
from tandem_operator.plan.conditions import conditions_of
from tandem_operator.plan.facts import Facts, facts_of, shown_role
from tandem_operator.plan.figures import knows_lag, lag_of, published_epoch
from tandem_operator.plan.generations import Step
from tandem_operator.plan.generators import live_generators
from tandem_operator.plan.revisions import judged
from tandem_operator.plan.roster import Roster, best, publisher_of
from tandem_operator.plan.suspension import still_there
from tandem_operator.plan.times import read_ms, written
from tandem_operator.plan.topics import drift_of
from tandem_operator.plan.version import Version
from tandem_operator.resources.names import selector
from tandem_operator.resources.settings import Settings
from tandem_operator.status import (
    LONGEST_FAILURE,
    LONGEST_HISTORY,
    ConfigHashes,
    Failover,
    HistoryEntry,
    MemberStatus,
    Phase,
    Request,
    RequestName,
    Revisions,
    Status,
    read_status,
)

_FIRST: tuple[Phase | None, ...] = (None, "Pending", "Starting", "Suspended")


def old_status(observed: Observed) -> Status:
    """What the status is; empty if it cannot be read."""
    return read_status(observed.status)


def as_object(status: Status) -> dict[str, Any]:
    """As the API has it."""
    return status.model_dump(mode="json", by_alias=True, exclude_none=True)


def new_status(
    observed: Observed,
    roster: Roster,
    version: Version,
    settings: Settings,
    old: Status,
    requests: Mapping[RequestName, Request],
    step: Step,
) -> Status:
    """What the status shall be."""
    revision = judged(observed, version, roster, old, step.failure)
    facts = facts_of(observed, roster, version, revision.failure or "", step)
    spec = observed.job.spec
    leader = observed.leader or (old.leader if facts.unclear else None)
    publisher = publisher_of(observed)
    failover = _failover(observed, old)
    drift = drift_of(observed, old)
    labels = selector(observed.job.name, Component.MEMBER.value)
    lag = lag_of(observed)
    status = Status(
        phase=_phase(observed, facts, old),
        observed_generation=observed.generation,
        mode=spec.ordering.mode,
        engine=_engine(observed, old),
        leader=leader,
        publisher=replica_name(publisher) if publisher else old.publisher,
        epoch=published_epoch(observed, old.epoch),
        lag=old.lag if lag is None else lag,
        measured_at=written(observed.now_ms),
        active=f"{facts.active}/{facts.wanted_active}",
        standby=f"{facts.standby}/{facts.wanted_standby}",
        replicas=facts.active,
        selector=",".join(f"{key}={value}" for key, value in labels.items()),
        config_hash=ConfigHashes(current=version.accepted or None, target=version.target),
        revision=revision,
        upgrade=step.upgrade,
        lane_change=observed.lane_change,
        conditions=conditions_of(observed, facts, leader, drift, old),
        members=_rows(observed, roster, old),
        topic_drift=old.topic_drift if drift is None else drift,
        last_failover=failover,
        history=_history(observed, failover, revision, old),
        requests=requests,
    )
    return settled(status, old, settings)


def settled(status: Status, old: Status, settings: Settings) -> Status:
    """The status, or the old one if it is not worth a write."""
    return _without_new_figures(status, old) if _is_the_same(status, old, settings) else status


def _phase(observed: Observed, facts: Facts, old: Status) -> Phase:
    if observed.lane_change is not None and observed.lane_change.stage != "Refused":
        return "Upgrading"
    if observed.job.spec.suspend:
        return (old.phase or "Degraded") if still_there(observed) else "Suspended"
    if not facts.active and (facts.refused or facts.diverged):
        return "Failed"
    if (facts.rolling or facts.upgrading) and facts.active:
        return "Upgrading"
    if facts.active == facts.wanted_active and facts.standby >= facts.wanted_standby:
        return "Running"
    if old.phase not in _FIRST:
        return "Degraded"
    return "Starting" if facts.running else "Pending"


def _engine(observed: Observed, old: Status) -> str | None:
    """Of the members. While a new generation takes over, they run two: the old one, as long as any runs it."""
    members = (pod.reported for pod in observed.pods if pod.component is Component.MEMBER and not pod.is_gone)
    running = sorted({report.engine[:LONGEST_FAILURE] for report in members if report is not None and report.engine})
    return old.engine if not running or old.engine in running else running[0]


def _failover(observed: Observed, old: Status) -> Failover | None:
    """The newest that a replica has seen: one and the same failover is taken in once."""
    failovers = [pod.reported.failover for pod in observed.pods if pod.reported is not None and pod.reported.failover]
    newest: ReportedFailover | None = max(failovers, key=lambda failover: failover.epoch, default=None)
    known = old.last_failover
    if newest is None or (known is not None and (known.epoch or -1) >= newest.epoch):
        return known
    seen = {
        "time": written(newest.at_ms),
        "from": replica_name(newest.from_),
        "to": replica_name(newest.to),
        "epoch": newest.epoch,
        "gapMs": max(0, newest.gap_ms),
    }
    return Failover.model_validate(seen)


def _history(
    observed: Observed, failover: Failover | None, revision: Revisions, old: Status
) -> tuple[HistoryEntry, ...]:
    entries = list(old.history)
    if failover is not None and failover != old.last_failover:
        message = f"{failover.to} took over from {failover.from_}; the output was silent for {failover.gap_ms} ms"
        entries.append(HistoryEntry(time=failover.time, reason="Failover", message=message, epoch=failover.epoch))
    if old.observed_generation is not None and observed.generation != old.observed_generation:
        entries.append(
            HistoryEntry(
                time=written(observed.now_ms),
                reason="SpecChanged",
                generation=observed.generation,
                epoch=old.epoch,
            )
        )
    if revision.failed and revision.failed != (old.revision.failed if old.revision else None):
        entries.append(
            HistoryEntry(
                time=written(observed.now_ms),
                reason="RolledBack",
                message=(revision.failure or "")[:1024],
                generation=observed.generation,
                epoch=old.epoch,
            )
        )
    return tuple(entries[-LONGEST_HISTORY:])


def _rows(observed: Observed, roster: Roster, old: Status) -> tuple[MemberStatus, ...]:
    indices = sorted({member.index for member in roster.members})
    rows = [row for index in indices if (row := _row(roster, index)) is not None]
    # A pod that has vanished stays in its row until the next one is there: that is named after it.
    names = {row.name for row in rows}
    vanished = [row for row in old.members if row.role != "generator" and row.name not in names]
    absent = [row.model_copy(update={"role": "starting", "ready": False, "node": None}) for row in vanished]
    rows += absent[: max(0, roster.wanted - len(rows))]
    beats = [
        MemberStatus(name=pod.replica, pod=pod.name, node=pod.node or None, role="generator", ready=pod.ready)
        for pod in sorted(live_generators(observed), key=lambda pod: (pod.index, pod.name))
    ]
    return (*sorted(rows, key=lambda row: (len(row.name), row.name)), *beats)


def _row(roster: Roster, index: int) -> MemberStatus | None:
    """Of the pods with that index, the one that counts; None if it is gone and nobody will take its place."""
    member = best(member for member in roster.members if member.index == index)
    if member is None or (not member.is_live and len({m.index for m in roster.live}) >= roster.wanted):
        return None
    role, report = shown_role(member, roster), member.pod.reported
    return MemberStatus(
        name=member.name,
        pod=member.pod.name,
        node=member.pod.node or None,
        role="active" if role == "active" else "standby" if role == "standby" else "starting",
        epoch=None if report is None else report.followed_epoch if report.state == "standby" else report.epoch,
        lag_records=max(0, report.lag_records) if report is not None and knows_lag(report) else None,
        lag_seconds=max(0.0, report.lag_seconds) if report is not None and knows_lag(report) else None,
        ready=member.is_back or (member.pod.ready and member.is_live),
    )


def _is_the_same(status: Status, old: Status, settings: Settings) -> bool:
    """Whether it is not worth a write: only figures differ, and they were written a short while ago.

    Figures that replicas still report are written, too, but seldom: else the status of a job without input looks as if the
    operator were gone.
    The first ones are: that a job publishes, and who does, is what somebody who applied it waits for.
    """
    if _without_figures(status) != _without_figures(old) or (status.publisher and not old.publisher):
        return False
    every_s = settings.figures_every_s
    if _figures(status) == _figures(old):
        if all(row.epoch is None for row in status.members):
            return True
        every_s = settings.same_figures_every_s
    return read_ms(status.measured_at) - read_ms(old.measured_at) < every_s * 1000


def _without_figures(status: Status) -> Status:
    rows = tuple(row.model_copy(update=dict.fromkeys(_ROW_FIGURES)) for row in status.members)
    return status.model_copy(update={"members": rows, **dict.fromkeys(_FIGURES)})


def _figures(status: Status) -> tuple[object, ...]:
    rows = tuple((row.epoch, row.lag_records) for row in status.members)
    return (status.epoch, status.lag, rows)


def _without_new_figures(status: Status, old: Status) -> Status:
    figures = {name: getattr(old, name) for name in _FIGURES}
    return status.model_copy(update={**figures, "members": old.members})


_FIGURES = ("epoch", "lag", "measured_at", "publisher")
_ROW_FIGURES = ("epoch", "lag_records", "lag_seconds")
