"""How a job stands, from what its processes report and count."""

from collections.abc import Iterable
from typing import Any

from tandem.local.rundir import ProcessState
from tandem.local.scrape import Sample
from tandem.local.status import FailoverStatus, HeldBack, OrdererStatus, ReplicaStatus, SourceStatus
from tandem.process.ending import EndKind
from tandem.protocol.switchover import replica_name
from tandem.status.report import OrdererReport, ReplicaReport


def replica_status(
    state: ProcessState,
    incarnation: str = "",
    sample: Sample | None = None,
    earlier: Sample | None = None,
    elapsed_s: float = 0.0,
    share: float = 0.0,
    port: int | None = None,
) -> ReplicaStatus:
    """A replica's status from its report, and from its metrics now and, for what happened lately, `elapsed_s` ago.

    `port`: where it serves its metrics, 0: nowhere; None: it has not said yet.
    """
    now = sample or Sample()
    report = now.report if isinstance(now.report, ReplicaReport) else ReplicaReport(state.name, incarnation, "starting")
    latency = now.latency if earlier is None else now.latency.since(earlier.latency)
    rate = None
    if earlier is not None and elapsed_s > 0:
        rate = (now.count(_ROWS) - earlier.count(_ROWS)) / elapsed_s
    return ReplicaStatus(
        **_process(state),
        incarnation=incarnation,
        answers=(sample is not None) if port else None,
        serves_metrics=port != 0,
        active=report.state == "active",
        standby=report.state == "standby",
        ready=report.ready and report.state == "active",
        share=share,
        epoch=report.epoch,
        published_epoch=report.published_epoch,
        followed_epoch=report.followed_epoch,
        verified_epoch=report.verified_epoch,
        lag_epochs=report.lag_epochs,
        lag_records=report.lag_records,
        lag_s=report.lag_seconds,
        catch_up_s=report.catch_up_s or None,
        claims_won=report.claims_won,
        take_overs=report.take_overs,
        rows_published=now.count(_ROWS),
        dead_letters=now.count("tandem_dead_letters_total"),
        late_rows=now.count("tandem_late_rows_total"),
        mostly_late=bool(now.count("tandem_rows_mostly_late")),
        calls_fail=bool(now.count("tandem_calls_mostly_fail")),
        engine=report.engine,
        trouble=now.trouble,
        scattered=report.scattered,
        waits=now.waits,
        diverged=report.diverged or state.end == EndKind.DIVERGED,
        rows_per_s=rate,
        p50_ms=_ms(latency.quantile(0.5)),
        p99_ms=_ms(latency.quantile(0.99)),
    )


def source_statuses(samples: Iterable[Sample]) -> tuple[SourceStatus, ...]:
    """All sources, as the processes with these metrics took them in."""
    most: dict[str, SourceStatus] = {}
    for sample in samples:
        for name, its in sample.sources.items():
            if name not in most or its.records > most[name].records:
                most[name] = SourceStatus(name, int(its.records), int(its.letters), bool(its.unread))
    return tuple(most[name] for name in sorted(most))


def last_failover(samples: Iterable[Sample]) -> FailoverStatus | None:
    """The newest failover that the processes with these reports know of."""
    reports = [sample.report for sample in samples]
    seen = [one.failover for one in reports if isinstance(one, ReplicaReport) and one.failover is not None]
    if not seen:
        return None
    last = max(seen, key=lambda failover: failover.epoch)
    before, after = replica_name(last.from_), replica_name(last.to)
    return FailoverStatus(last.epoch, before, after, last.gap_ms, last.at_ms / 1000)


def orderer_status(state: ProcessState, sample: Sample | None = None, elects: bool = True) -> OrdererStatus:
    """An orderer's status from its report and its metrics. Where nobody is elected (`elects` false) nobody leads either."""
    now = sample or Sample()
    report = now.report if isinstance(now.report, OrdererReport) else OrdererReport(state.name)
    return OrdererStatus(
        **_process(state),
        leading=elects and report.leading,
        epoch=report.epoch,
        cuts_proposed=now.count("tandem_cuts_proposed_total"),
        trouble=now.trouble,
        waits=now.waits,
        cuts_won=now.count("tandem_cuts_won_total"),
        input_lag_records=report.lag_records if report.leading else None,
        held_back=tuple(HeldBack(one.topic, one.partition, one.offset, one.seconds) for one in report.held),
    )


_ROWS = "tandem_rows_published_total"


def _process(state: ProcessState) -> dict[str, Any]:
    return {
        "name": state.name,
        "state": state.state,
        "pid": state.pid,
        "alive": state.running,
        "restarts": state.restarts,
        "reason": state.reason,
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
