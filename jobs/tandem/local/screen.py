"""A job's status as people read it: a table on a terminal, a line in a log. Pure."""

import math
from collections.abc import Iterator
from datetime import datetime

from rich.table import Table
from rich.text import Text

from tandem.local.status import JobStatus, OrdererStatus, ReplicaStatus
from tandem.status.page import NONE as _NONE
from tandem.status.page import bare_table

_STYLES = {"running": "green", "paused": "yellow", "restarting": "yellow", "down": "red", "given up": "bold red"}


def processes_table(status: JobStatus) -> Table:
    """A row for each process: who publishes, who leads, how far, how fast."""
    table = bare_table()
    for heading in ("Process", "State", "Role"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Epoch", "Behind", "Rows/s", "p50 ms", "p99 ms", "Taken over", "Restarts"):
        table.add_column(heading, justify="right", no_wrap=" " not in heading)
    for replica in status.replicas:
        table.add_row(*_replica(replica))
    table.add_section()
    for orderer in status.orderers:
        table.add_row(*_orderer(orderer))
    return table


def see_to(status: JobStatus) -> Iterator[str]:
    """What somebody should see to, one thing each."""
    yield from status.warnings
    if status.trouble:
        yield status.trouble
    yield from (one.words for one in status.held_back)
    yield from status.troubles
    yield from _ends(status)
    yield from _unread(status)


def progress_line(status: JobStatus) -> str:
    """The job in one line, for logs and pipes."""
    at = datetime.fromtimestamp(status.at).astimezone().strftime("%H:%M:%S")
    parts = [f"{at} {status.job}: {_published(status)}", *status.warnings, *map(_replica_words, status.replicas)]
    others = [orderer for orderer in status.orderers if orderer.state != "running"]
    if status.leader is not None:
        parts.append(f"{status.leader} leads")
    parts += [f"{orderer.name} {orderer.state}" for orderer in others]
    parts += [one.words for one in status.held_back]
    parts += _unread(status)
    parts += filter(None, (status.trouble, *status.troubles))
    return "; ".join(parts)


def _published(status: JobStatus) -> str:
    """The newest published epoch; that which the replicas know while Kafka does not say."""
    known = max((one.published_epoch for one in status.replicas), default=-1)
    epoch = known if status.published_epoch is None else status.published_epoch
    if epoch >= 0:
        return f"epoch {epoch}"
    return "newest epoch not known" if status.trouble else "nothing published yet"


def _ends(status: JobStatus) -> Iterator[str]:
    """Of each process that does not run, why it ended, if it said so."""
    processes: tuple[ReplicaStatus | OrdererStatus, ...] = (*status.replicas, *status.orderers)
    for process in processes:
        if not process.alive and process.reason:
            yield f"{process.name} {process.state}: {process.reason.splitlines()[0]}"


def _unread(status: JobStatus) -> Iterator[str]:
    """Sources that are partitioned otherwise, or of which most records are not processed, rows that are dropped, and
    answers that nobody gives."""
    yield from status.scattered
    for source in status.sources:
        if source.unread:
            what = f"{source.dead_letters:,} of {source.records:,} records are dead letters"
            yield f"source {source.name}: {what}; the dead-letter topic has each with its reason"
    late = max((replica.late_rows for replica in status.replicas if replica.mostly_late), default=0)
    if late:
        what = f"most rows come too late for their watermark, and are dropped: {late:,} so far"
        yield f"{what}; the replicas' logs say what to do"
    if failing := [replica.name for replica in status.replicas if replica.calls_fail]:
        what = "most calls of ctx.ask or ctx.determinant fail, and rows have null for the answers"
        yield f"{what}; the log of {' and '.join(failing)} says which, why and what to do"


def _replica(replica: ReplicaStatus) -> tuple[Text | str, ...]:
    epoch = replica.followed_epoch if replica.standby else replica.epoch
    return (
        replica.name,
        _state(replica),
        Text(_role(replica), style="bold cyan" if replica.share else ""),
        f"{epoch:,}" if epoch >= 0 else _NONE,
        f"{replica.lag_epochs:,} ep" if replica.active else _NONE,
        _number(replica.rows_per_s),
        _number(replica.p50_ms),
        _number(replica.p99_ms),
        f"{replica.take_overs:,}" if replica.active else _NONE,
        str(replica.restarts),
    )


def _orderer(orderer: OrdererStatus) -> tuple[Text | str, ...]:
    known = orderer.epoch >= 0
    return (
        orderer.name,
        _state(orderer),
        Text("leads" if orderer.leading else "", style="bold cyan"),
        f"{orderer.epoch:,}" if known else _NONE,
        _NONE if orderer.input_lag_records is None else f"{orderer.input_lag_records:,} rec",
        "",
        "",
        "",
        "",
        str(orderer.restarts),
    )


def _role(replica: ReplicaStatus) -> str:
    if replica.diverged:
        return "diverged"
    if replica.state != "running":
        return ""
    if replica.answers is False:
        return "no answer"
    if replica.standby:
        return "stands by, proved" if replica.verified_epoch >= 0 else "stands by"
    if replica.share:
        return f"publishes {replica.share:.0%}"
    if not replica.serves_metrics:
        return "no metrics"
    if not replica.active:
        return "starts"
    if replica.ready:
        return "follows"
    return "catches up" if replica.catch_up_s is None else f"catches up {_duration(replica.catch_up_s)}"


def _replica_words(replica: ReplicaStatus) -> str:
    if replica.state != "running":
        return f"{replica.name} {replica.state}"
    words = f"{replica.name} {_role(replica)}"
    if replica.share and replica.rows_per_s is not None:
        words += f" {_number(replica.rows_per_s)} rows/s"
    if replica.share and replica.p50_ms is not None:
        words += f", p50 {_number(replica.p50_ms)} ms, p99 {_number(replica.p99_ms)} ms"
    return f"{words}, {replica.lag_epochs} behind" if replica.lag_epochs else words


def _state(process: ReplicaStatus | OrdererStatus) -> Text:
    return Text(process.state, style=_STYLES.get(process.state, ""))


def _duration(seconds: float) -> str:
    """`12s`, `3m`, `2h`: rounded up, so that it never says 0."""
    for limit, unit, name in ((99, 1, "s"), (99 * 60, 60, "m")):
        if seconds <= limit:
            return f"{math.ceil(seconds / unit)}{name}"
    return f"{math.ceil(seconds / 3600)}h"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}"
