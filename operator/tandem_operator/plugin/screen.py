"""One screen: is it safe? who publishes? how far behind is each? when was the last failover, and how long was the gap?

The status is what an operator saw last, and stays when it is gone. So the pods are looked at, too: Kubernetes calls one
ready only while its replica is at the head or stands by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tandem_operator.status import Condition, ConditionType, Status

_SAFE: Final[tuple[ConditionType, ...]] = ("Ready", "Replicated", "OrderingAvailable")
_OLD_S: Final = 120.0
"""The operator writes new figures every 30 to 40 s, and of a job that computes nothing every 90 to 100 s."""
_IS_IT_RUNNING: Final = "kubectl get pods -A -l app.kubernetes.io/component=operator,app.kubernetes.io/part-of=tandem"

Pods = Sequence[Mapping[str, Any]] | None
"""A job's pods as the API server has them; None: the user may not see them."""


def screen(body: Mapping[str, Any], pods: Pods, now: datetime) -> Iterator[str]:
    """The lines about a job."""
    metadata, spec = body["metadata"], body.get("spec", {})
    status = Status.model_validate(body.get("status", {}))
    conditions = {condition.type: condition for condition in status.conditions}
    age_s = None if status.measured_at is None else (now - datetime.fromisoformat(status.measured_at)).total_seconds()
    safety = _safety(status, conditions, _not_ready(status, pods), age_s)
    yield f"{metadata['namespace']}/{metadata['name']}: {status.phase or 'Pending'}. {safety}"
    if status.observed_generation != metadata.get("generation"):
        yield "  The operator has not looked at the newest spec yet; is it running?"
    if pods is None:
        yield "  You may not list its pods: so nobody has looked whether they are ready"
    yield ""
    published = f"epoch {_or_dash(status.epoch)} by {status.publisher or '-'}"
    yield f"  Published    {published}, {_or_dash(status.lag)} records behind"
    yield f"  Ordering     {status.mode or '-'}" + (f", led by {status.leader}" if status.leader else "")
    yield f"  Engine       {status.engine or '-'}"
    yield f"  Replicas     {status.active or '-'} active, {status.standby or '0/0'} standbys"
    yield f"  Delivery     {spec.get('delivery', 'exactlyOnce')}"
    yield f"  Failover     {_failover(status, now)}"
    yield f"  Measured     {'never' if age_s is None else _duration(age_s) + ' ago'}"
    yield ""
    yield from _members(status)
    troubles = [condition for condition in status.conditions if _is_trouble(condition)]
    if troubles:
        yield ""
        yield from (f"  {condition.type}={condition.status}: {condition.message}" for condition in troubles)


def _safety(
    status: Status, conditions: Mapping[ConditionType, Condition], not_ready: Sequence[str], age_s: float | None
) -> str:
    if conditions.get("Diverged") is not None and conditions["Diverged"].status == "True":
        return "NOT SAFE: replicas computed different rows"
    if status.phase == "Suspended":
        return "Suspended: nothing is computed, nothing is lost"
    if status.phase == "Deleting":
        return "It is deleted, with its topics and snapshots"
    missing = [name for name in _SAFE if name not in conditions or conditions[name].status != "True"]
    if missing:
        return f"NOT SAFE: not {', not '.join(missing)}"
    if not_ready:
        return f"NOT SAFE: not ready: {', '.join(not_ready)}"
    if age_s is None or age_s > _OLD_S:
        old = "has no time" if age_s is None else f"is {_duration(age_s)} old"
        return f"NOT KNOWN: the status {old}. Is the operator running? {_IS_IT_RUNNING}"
    return "Safe: a failure of any one replica is masked"


def _not_ready(status: Status, pods: Pods) -> Sequence[str]:
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
    gap = "" if last.gap_ms is None else f", a gap of {last.gap_ms} ms"
    return f"{_duration(ago)} ago: {last.from_ or '-'} → {last.to or '-'}{gap}"


def _members(status: Status) -> Iterator[str]:
    rows = [("REPLICA", "ROLE", "READY", "EPOCH", "LAG", "NODE", "POD")]
    rows += [
        (
            member.name,
            member.role or "-",
            "yes" if member.ready else "no",
            _or_dash(member.epoch),
            _or_dash(member.lag_records),
            member.node or "-",
            member.pod or "-",
        )
        for member in status.members
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _is_trouble(condition: Condition) -> bool:
    bad_if_true = condition.type in ("Diverged", "Suspended")
    return condition.status != ("False" if bad_if_true else "True")


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


def _or_dash(value: int | None) -> str:
    return "-" if value is None or value < 0 else str(value)


def now_utc() -> datetime:
    """The time."""
    return datetime.now(UTC)
