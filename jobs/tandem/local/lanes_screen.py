"""A job with lanes as people read it: one line, and rows of the lanes that matter. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tandem.local.status import JobStatus
from tandem.status.page import NONE as _NONE
from tandem.status.page import bare_table

_MOST_TROUBLES = 5
_FEW = 8


def lanes_table(job: str, lanes: Sequence[JobStatus], every: bool = False) -> RenderableType:
    """One line about the job, a row for each lane, and what needs somebody's eyes.

    Of more than eight lanes only those that are not ready have a row, unless `every` one shall have.
    """
    words = list(dict.fromkeys(word for lane in lanes for word in troubles(lane)))
    more = [f"and {len(words) - _MOST_TROUBLES} more: tandem status --lane N"] if len(words) > _MOST_TROUBLES else []
    rows = [lane for lane in lanes if every or len(lanes) <= _FEW or not is_ready(lane)]
    return Group(
        Text(f"Job {job}: {summary(lanes)}", style="italic"),
        *([_rows(rows)] if rows else []),
        *(Text(word, style="bold red") for word in [*words[:_MOST_TROUBLES], *more]),
    )


def _rows(lanes: Sequence[JobStatus]) -> Table:
    """Who publishes and leads in each lane, how far it is and how far behind."""
    table = bare_table()
    for heading in ("Lane", "Replicas", "Publisher", "Leader"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Epoch", "Behind", "Rows/s", "p50 ms", "p99 ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for lane in lanes:
        table.add_row(*_row(lane), style="" if is_ready(lane) else "yellow")
    return table


def lanes_line(job: str, lanes: Sequence[JobStatus]) -> str:
    """The job in one line, for logs and pipes."""
    return "; ".join([f"{job}: {summary(lanes)}", *dict.fromkeys(word for lane in lanes for word in troubles(lane))])


def summary(lanes: Sequence[JobStatus]) -> str:
    """How many lanes are whole, and how far the worst is behind."""
    ready = sum(map(is_ready, lanes))
    worst = max(lanes, key=_behind)
    behind = f", {worst.job.rpartition('.')[2]} is {_behind(worst):,} records behind" if _behind(worst) else ""
    return f"{ready}/{len(lanes)} lanes ready{behind}"


def is_ready(lane: JobStatus) -> bool:
    """Whether all its replicas run, and one of those that compute is at the head."""
    whole = all(replica.state == "running" for replica in lane.replicas)
    return whole and any(replica.active and replica.ready for replica in lane.replicas)


def troubles(lane: JobStatus) -> list[str]:
    """What needs somebody's eyes, each with the lane's name."""
    held = [one.words for one in lane.held_back]
    words = [*lane.warnings, *([lane.trouble] if lane.trouble else []), *lane.troubles, *lane.scattered, *held]
    return [f"{lane.job}: {word}" for word in words]


def _behind(lane: JobStatus) -> int:
    unread = max((one.input_lag_records or 0 for one in lane.orderers), default=0)
    computing = [replica.lag_records for replica in lane.replicas if replica.active and replica.alive]
    return unread + min(computing, default=0)


def _row(lane: JobStatus) -> tuple[str, ...]:
    up = sum(replica.state == "running" for replica in lane.replicas)
    publisher = next((replica for replica in lane.replicas if replica.name == lane.publisher), None)
    rates = [replica.rows_per_s for replica in lane.replicas if replica.rows_per_s is not None]
    return (
        lane.job.rpartition(".")[2],
        f"{up}/{len(lane.replicas)}",
        lane.publisher or _NONE,
        lane.leader or _NONE,
        _NONE if lane.published_epoch is None else f"{lane.published_epoch:,}",
        f"{_behind(lane):,} rec",
        f"{sum(rates):,.0f}" if rates else _NONE,
        _ms(None if publisher is None else publisher.p50_ms),
        _ms(None if publisher is None else publisher.p99_ms),
    )


def _ms(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}"
