"""The story of a job: one event for each change, and none without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from tandem_operator.actions import Emit
from tandem_operator.plan.topics import in_words
from tandem_operator.resources.manifest import is_other_config
from tandem_operator.status import Condition, ConditionStatus, ConditionType, Status

_Kind = Literal["Normal", "Warning"]

_TOLD: Final[dict[tuple[ConditionType, ConditionStatus], tuple[_Kind, str]]] = {
    ("Ready", "True"): ("Normal", "Ready"),
    ("Ready", "False"): ("Warning", "NotReady"),
    ("Replicated", "True"): ("Normal", "Replicated"),
    ("Replicated", "False"): ("Warning", "NotReplicated"),
    ("OrderingAvailable", "True"): ("Normal", "OrderingAvailable"),
    ("OrderingAvailable", "False"): ("Warning", "OrderingStalled"),
    ("StandbyFresh", "True"): ("Normal", "StandbyFresh"),
    ("StandbyFresh", "False"): ("Warning", "StandbyStale"),
    ("Suspended", "True"): ("Normal", "Suspended"),
    ("Suspended", "False"): ("Normal", "Resumed"),
    ("Diverged", "True"): ("Warning", "Diverged"),
    ("Diverged", "False"): ("Normal", "NoLongerDiverged"),
    ("TopicsAsDeclared", "True"): ("Normal", "TopicsAsDeclared"),
}
"""Of topics that differ, each difference is reported by itself."""
_EXPECTED: Final = ("Suspended", "Suspending", "NoneAskedFor")
"""Reasons that follow from the spec: no news of themselves."""


def events_of(old: Status, new: Status) -> tuple[Emit, ...]:
    """What is new in the status."""
    kinds = (_conditions, _drifts, _failovers, _promotions, _generations, _requests)
    return tuple(event for kind in kinds for event in kind(old, new))


def _conditions(old: Status, new: Status) -> Iterator[Emit]:
    before = {condition.type: condition for condition in old.conditions}
    for condition in new.conditions:
        known = before.get(condition.type)
        if condition.type == "Progressing":
            if known is not None and known.reason != condition.reason and condition.reason not in _EXPECTED:
                kind: _Kind = "Normal" if condition.status == "True" else "Warning"
                yield Emit(kind, condition.reason, condition.message)
        elif (condition.type, condition.status) in _TOLD and _is_news(known, condition):
            kind, reason = _TOLD[condition.type, condition.status]
            yield Emit(kind, reason, condition.message)


def _is_news(known: Condition | None, condition: Condition) -> bool:
    if condition.type == "Suspended":
        return (known is not None or condition.status == "True") and (known is None or known.status != condition.status)
    if known is None or condition.reason in _EXPECTED or "Unknown" in (known.status, condition.status):
        return False
    return known.status != condition.status


def _drifts(old: Status, new: Status) -> Iterator[Emit]:
    for one in new.topic_drift:
        if one not in old.topic_drift:
            yield Emit("Warning", "TopicDrift", in_words(one))


def _failovers(old: Status, new: Status) -> Iterator[Emit]:
    failover = new.last_failover
    if failover is not None and failover != old.last_failover:
        message = f"{failover.to} took over epoch {failover.epoch} from {failover.from_} after {failover.gap_ms} ms"
        yield Emit("Warning", "Failover", message)


def _promotions(old: Status, new: Status) -> Iterator[Emit]:
    before = {row.pod: row.role for row in old.members}
    for row in new.members:
        if row.role == "active" and before.get(row.pod) == "standby":
            yield Emit("Normal", "Promoted", f"{row.name} is active now")


def _generations(old: Status, new: Status) -> Iterator[Emit]:
    before, now = (status.config_hash.current if status.config_hash else None for status in (old, new))
    if before and now and is_other_config(before, now, by_code=old.upgrade is not None):
        yield Emit("Normal", "GenerationBegan", "The next generation of the job publishes; its pods are being replaced")


def _requests(old: Status, new: Status) -> Iterator[Emit]:
    for name, request in new.requests.items():
        if request == old.requests.get(name) or request.outcome == "Pending":
            continue
        kind: _Kind = "Normal" if request.outcome == "Done" else "Warning"
        yield Emit(kind, f"Request{request.outcome}", f"{name} {request.value}: {request.message}")
