"""One screen: is it safe? who publishes? how far behind is each? when was the last failover, and how long was the gap?

The status is what an operator saw last, and stays when it is gone. So the pods are looked at, too: Kubernetes calls one
ready only while its replica is at the head or stands by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from tandem.status.page import NONE, Page, Verdict, bare_table, duration, failover_words
from tandem_operator.status import Condition, ConditionType, Status

_SAFE: Final[tuple[ConditionType, ...]] = ("Ready", "Replicated", "OrderingAvailable")
_OLD_S: Final = 120.0
"""The operator writes new figures every 30 to 40 s, and of a job that computes nothing every 90 to 100 s."""
_IS_IT_RUNNING: Final = "kubectl get pods -A -l app.kubernetes.io/component=operator,app.kubernetes.io/part-of=tandem"

Pods = Sequence[Mapping[str, Any]] | None
"""A job's pods as the API server has them; None: the user may not see them."""


def page(body: Mapping[str, Any], pods: Pods, now: datetime) -> Page:
    """What is shown of a job."""
    metadata, spec = body["metadata"], body.get("spec", {})
    status = Status.model_validate(body.get("status", {}))
    age_s = age_of(status, now)
    engine = (status.engine or "").partition(":")[0]
    return Page(
        job=f"{metadata['namespace']}/{metadata['name']}",
        about=(status.phase or "Pending", engine, status.mode or "", spec.get("delivery", "exactlyOnce")),
        verdict=verdict_of(status, not_ready(status, pods), age_s),
        table=_members(status),
        attention=tuple(see_to(status, metadata.get("generation"), pods)),
        facts=tuple(_facts(status, age_s, now)),
    )


def see_to(status: Status, generation: int | None, pods: Pods) -> Iterator[str]:
    """What is to be seen to."""
    if status.observed_generation != generation:
        yield "The operator has not looked at the newest spec yet; is it running?"
    if pods is None:
        yield "You may not list its pods: so nobody has looked whether they are ready"
    for condition in status.conditions:
        if _is_trouble(condition):
            yield f"{condition.type}={condition.status}: {condition.message}"


def _facts(status: Status, age_s: float | None, now: datetime) -> Iterator[tuple[str, str]]:
    yield "Published", f"epoch {or_dash(status.epoch)} by {status.publisher or NONE}"
    yield "Lag", f"{or_dash(status.lag)} records that no replica has computed yet"
    yield "Failover", _failover(status, now)
    if status.leader:
        yield "Ordering", f"led by {status.leader}"
    yield "Replicas", f"{status.active or NONE} active, {status.standby or '0/0'} standbys"
    if ":" in (status.engine or ""):
        yield "Engine", str(status.engine)
    yield "Measured", "never" if age_s is None else f"{duration(age_s)} ago"


def age_of(status: Status, now: datetime) -> float | None:
    """How old its figures are, in s; None: it has none."""
    return None if status.measured_at is None else (now - datetime.fromisoformat(status.measured_at)).total_seconds()


def verdict_of(status: Status, not_ready: Sequence[str], age_s: float | None) -> Verdict:
    """Whether the job is safe. `not_ready`: what does not do its work, though the status says so."""
    conditions = {condition.type: condition for condition in status.conditions}
    if conditions.get("Diverged") is not None and conditions["Diverged"].status == "True":
        return Verdict("unsafe", "NOT SAFE: replicas computed different rows")
    if status.phase == "Suspended":
        return Verdict("unknown", "Suspended: nothing is computed, nothing is lost")
    if status.phase == "Deleting":
        return Verdict("unknown", "It is deleted, with its topics and snapshots")
    missing = [name for name in _SAFE if name not in conditions or conditions[name].status != "True"]
    if missing:
        return Verdict("unsafe", f"NOT SAFE: not {', not '.join(missing)}")
    if not_ready:
        return Verdict("unsafe", f"NOT SAFE: not ready: {', '.join(not_ready)}")
    if age_s is None or age_s > _OLD_S:
        old = "has no time" if age_s is None else f"is {duration(age_s)} old"
        return Verdict("unknown", f"NOT KNOWN: the status {old}. Is the operator running? {_IS_IT_RUNNING}")
    return Verdict("safe", "Safe: a failure of any one replica is masked")


def not_ready(status: Status, pods: Pods) -> Sequence[str]:
    """Replicas that do their work as the status says, and whose pods are gone or not ready as Kubernetes says."""
    ready = {pod["metadata"]["name"] for pod in pods or () if _is_ready(pod)}
    at_work = [member for member in status.members if member.ready and member.role in ("active", "standby")]
    return () if pods is None else [member.name for member in at_work if member.pod not in ready]


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    is_ready = any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
    return is_ready and "deletionTimestamp" not in pod["metadata"]


def _failover(status: Status, now: datetime) -> str:
    last = status.last_failover
    if last is None:
        return "none yet"
    ago = (now - datetime.fromisoformat(last.time)).total_seconds()
    return failover_words(ago, last.from_ or NONE, last.to or NONE, last.gap_ms)


def _members(status: Status) -> Table:
    table = bare_table()
    for heading in ("Replica", "Role", "Ready"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Epoch", "Behind"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("Node", "Pod"):
        table.add_column(heading, overflow="fold")
    for member in status.members:
        ready = Text("yes", style="green") if member.ready else Text("no", style="yellow")
        behind = NONE if member.lag_records is None else f"{member.lag_records:,} rec"
        role = Text(member.role or NONE, style="bold cyan" if member.name == status.publisher else "")
        names = (member.node or NONE, member.pod or NONE)
        table.add_row(member.name, role, ready, or_dash(member.epoch), behind, *names)
    return table


def _is_trouble(condition: Condition) -> bool:
    bad_if_true = condition.type in ("Diverged", "Suspended")
    return condition.status != ("False" if bad_if_true else "True")


def or_dash(value: int | None) -> str:
    """A figure; a dash where none is known."""
    return NONE if value is None or value < 0 else f"{value:,}"


def now_utc() -> datetime:
    """The time."""
    return datetime.now(UTC)
