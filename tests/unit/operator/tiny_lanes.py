"""A whole job, and the jobs of its lanes, in mind: a test moves them on; the plan of each pass is carried out at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tandem_operator.actions import Apply, Ask, Emit, SetStatus
from tandem_operator.lane_seen import seen_lanes
from tandem_operator.lanes import plan_lanes
from tandem_operator.manifests import job_of
from tandem_operator.resources import Settings
from unit.operator.operator_builders import SETTINGS, UID, tree

FOUR = {"lanes": 4}
NOW_MS = 1_800_000_000_000


def whole(**spec: Any) -> dict[str, Any]:
    body = tree(**{**FOUR, **spec})
    return {**body, "metadata": {**body["metadata"], "uid": UID, "generation": 1}}


def conditions(ready: str, progressing: str = "True") -> list[dict[str, Any]]:
    said = {"Ready": ready, "Progressing": progressing, "Diverged": "False", "Suspended": "False"}
    time = "2027-01-15T08:00:00Z"
    return [
        {"type": kind, "status": status, "reason": "R", "message": f"{kind} {status}", "lastTransitionTime": time}
        for kind, status in said.items()
    ]


def may_follow(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """The rule snapshot-store-stays: the API server refuses anything else."""
    stores = [spec.get("snapshots", {}).get("store") for spec in (new, old)]
    is_suspended = bool(new.get("suspend") and old.get("suspend"))
    return stores[1] in (None, stores[0]) or is_suspended


def merged(there: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch: null removes."""
    found = dict(there)
    for name, value in patch.items():
        old = found.pop(name, None)
        if isinstance(value, Mapping):
            found[name] = merged(old if isinstance(old, Mapping) else {}, value)
        elif value is not None:
            found[name] = value
    return found


@dataclass
class Lanes:
    """A whole job, and the jobs of its lanes, which the test moves on."""

    body: dict[str, Any]
    jobs: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    owned: dict[int, set[str]] = field(default_factory=dict)

    def change(self, **spec: Any) -> None:
        metadata = {**self.body["metadata"], "generation": self.body["metadata"]["generation"] + 1}
        self.body = {**self.body, "metadata": metadata, "spec": {**self.body["spec"], **spec}}

    @classmethod
    def running(cls, **spec: Any) -> Lanes:
        """All its lanes are as they should be."""
        lanes = cls(whole(**spec))
        made = lanes.passes()
        for lane in made:
            lanes.says(lane)
        assert (len(made), lanes.passes()) == (lanes.body["spec"]["lanes"], [])
        return lanes

    def passes(self, trouble: str = "", now_ms: int = NOW_MS, settings: Settings = SETTINGS) -> list[int]:
        """The lanes that were made or changed."""
        found = seen_lanes(UID, self.jobs.values())
        applied = []
        for action in plan_lanes(self.body, job_of(self.body), found, settings, now_ms, trouble):
            match action:
                case Apply(thing):
                    lane = thing["spec"]["laneOf"]["lane"]
                    assert lane not in self.jobs or may_follow(thing["spec"], self.jobs[lane]["spec"])
                    applied.append(lane)
                    old = self.jobs.get(lane, {"metadata": {"generation": 0}})
                    generation = old["metadata"]["generation"] + 1
                    metadata = {**thing["metadata"], "generation": generation, "uid": f"lane-{lane}"}
                    added = old.get("spec", {}).keys() - self.owned.get(lane, set())  # by others: an apply leaves that
                    spec = {**{name: old["spec"][name] for name in added}, **thing["spec"]}
                    self.owned[lane] = set(thing["spec"])
                    self.jobs[lane] = {**thing, "metadata": metadata, "spec": spec, "status": old.get("status", {})}
                case Ask(name, _, change):
                    (lane,) = (lane for lane, one in self.jobs.items() if one["metadata"]["name"] == name)
                    self.asked.append(lane)
                    one = self.jobs[lane]
                    annotations = one["metadata"]["annotations"] | change.get("metadata", {}).get("annotations", {})
                    metadata = {**one["metadata"], "annotations": annotations}
                    self.jobs[lane] = {**one, "metadata": metadata, "spec": merged(one["spec"], change.get("spec", {}))}
                case SetStatus(status):
                    self.body = {**self.body, "status": status}
                case Emit():
                    self.events.append(action.reason)
        return sorted(applied)

    def says(self, lane: int, ready: str = "True", progressing: str = "True", **more: Any) -> None:
        job = self.jobs[lane]
        phase = "Running" if ready == "True" else "Degraded"
        status = {"phase": phase, "observedGeneration": job["metadata"]["generation"], "active": "2/2", "replicas": 2}
        self.jobs[lane] = {**job, "status": {**status, "conditions": conditions(ready, progressing), **more}}

    @property
    def status(self) -> Mapping[str, Any]:
        return self.body["status"]

    def condition(self, kind: str) -> Mapping[str, Any]:
        return next(one for one in self.status["conditions"] if one["type"] == kind)
