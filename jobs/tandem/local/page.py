"""A job that runs here on one screen: whether it is safe, its processes, lag, latency, the last failover. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.local.screen import processes_table, see_to
from tandem.local.status import JobStatus, ReplicaStatus
from tandem.local.trend import BAR_S, WINDOW_S, Trend
from tandem.status.page import Page, Verdict, duration, failover_words

_SAFE = "Safe: a failure of any one replica is masked"


def job_page(status: JobStatus, trend: Trend | None = None) -> Page:
    """The screen. `trend`: what was seen before, by who looks again and again."""
    engine = next(iter(status.engines), "")
    return Page(
        job=status.job,
        about=(engine.partition(":")[0], status.mode, status.delivery),
        verdict=verdict(status),
        table=processes_table(status),
        attention=tuple(see_to(status)),
        facts=tuple(_facts(status, trend)),
    )


def verdict(status: JobStatus) -> Verdict:
    """Whether another replica could publish, and another orderer order, if any one was lost now."""
    if any(replica.diverged for replica in status.replicas):
        return Verdict("unsafe", "NOT SAFE: replicas computed different rows")
    able = [replica.name for replica in status.replicas if _could_publish(replica)]
    ordering = [orderer.name for orderer in status.orderers if orderer.state == "running"]
    missing = list(_missing(status, able, ordering))
    if missing:
        return Verdict("unsafe", f"NOT SAFE: {', '.join(missing)}")
    if status.trouble:
        return Verdict("unknown", "NOT KNOWN: Kafka does not say what is published")
    if status.mode == "none":
        return Verdict("unknown", "Each replica publishes for itself: a failure of one holds up its own rows")
    return Verdict("safe", _SAFE)


def _missing(status: JobStatus, able: list[str], ordering: list[str]) -> Iterator[str]:
    if not able:
        yield "no replica is at the head"
    elif len(status.replicas) == 1:
        yield "with one replica, a failure holds up the output until the restart"
    elif len(able) == 1:
        yield f"only {able[0]} could publish"
    if status.mode == "leader" and status.leader is None:
        yield "no orderer leads"
    elif status.mode != "none" and not ordering:
        yield "no orderer runs"
    elif len(status.orderers) > 1 and len(ordering) == 1:
        yield f"only {ordering[0]} could order"
    if status.troubles:
        yield "Kafka does not take all that it should"


def _could_publish(replica: ReplicaStatus) -> bool:
    """It is at the head, or follows the state of those that are."""
    does = (replica.active and replica.ready) or replica.standby
    return does and replica.state == "running" and replica.answers is not False and not replica.trouble


def _facts(status: JobStatus, trend: Trend | None) -> Iterator[tuple[str, str]]:
    epoch = status.published_epoch
    yield "Published", "nothing yet" if epoch is None else f"up to epoch {epoch:,}, last by {status.publisher}"
    for number, words in enumerate(_lag(status)):
        yield "" if number else "Lag", words
    last = status.failover
    yield (
        "Failover",
        "none seen"
        if last is None
        else failover_words(status.at - last.at, last.before, last.after, last.gap_ms) + f", at epoch {last.epoch:,}",
    )
    for engine in status.engines:
        if ":" in engine:
            yield "Engine", engine
    lines = [] if trend is None else list(trend.lines())
    for line in lines:
        yield "Latency" if line is lines[0] else "", line
    if lines:
        yield "", f"of the rows published in the last {duration(WINDOW_S)}, the worst of every {BAR_S:.0f} s"


def _lag(status: JobStatus) -> list[str]:
    waiting = [one.input_lag_records for one in status.orderers if one.input_lag_records is not None]
    computing = [one for one in status.replicas if one.alive and one.active]
    lines = [f"{sum(waiting):,} records are in no epoch yet"] if waiting else []
    worst = max(computing, key=lambda one: one.lag_epochs, default=None)
    if worst is not None and worst.lag_epochs:
        lines.append(f"{worst.name} is {worst.lag_epochs:,} epochs behind ({worst.lag_records:,} records)")
    elif worst is not None:
        lines = ["; ".join([*lines, "all that compute are at the head"])]
    return lines or ["not known"]
