"""What an evaluation has to reach: ratios between runs of one round, so that the machine cancels out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from bench.evaluation.configurations import PEERS, TANDEM, Combination, label
from bench.evaluation.plan import RunSpec
from bench.evaluation.results import RunResult, name_of
from bench.measures import Target

KILL, ORDERING, SLOW = 1.5, 1.1, 1.2
"""The longest gap around a kill over the longest of the run without; p50 over that of replicas that agree on nothing; p99
beside a slow replica over that without."""
_EXACTLY_ONCE = ("no-replication", "passive", "leader", "heartbeat", "active-standby", "two-actives-standby")
_MASKED = ("leader", "heartbeat", "two-actives-standby")
"""Another active replica goes on when one dies."""
_FLINK = tuple(name for name, peer in PEERS.items() if peer.detection and not peer.at_least_once)


@dataclass(frozen=True, slots=True)
class _Place:
    """Runs that differ in the round only."""

    workload: str
    rate: int
    fault: str
    label: str


_Places = Mapping[_Place, Sequence[RunResult]]
_Value = Callable[[RunResult], float | None]


def targets(results: Sequence[RunResult]) -> list[Target]:
    """All targets of which both runs are there; of several rounds the median of their ratios."""
    places: dict[_Place, list[RunResult]] = {}
    for one in results:
        places.setdefault(_place(one.spec), []).append(one)
    found = [target for place in places for target in _of(place, places) if target.value is not None]
    return [*sorted(found, key=lambda target: target.name), *_faultless(results)]


def _of(place: _Place, places: _Places) -> Iterator[Target]:
    spec = places[place][0].spec
    if spec.configuration not in TANDEM:
        return
    where = f"{place.label}, {place.workload} at {place.rate:,}/s"
    quiet = replace(place, fault="none")
    if place.fault == "kill" and spec.configuration in _MASKED:
        ratio = _ratio(places, place, _worst_outage, [quiet], _longest_gap)
        yield Target.at_most(f"longest gap around a kill / without kills: {where}", KILL, ratio)
    if place.fault == "slow":
        ratio = _ratio(places, place, _p99, [quiet], _p99)
        yield Target.at_most(f"p99 beside a slow replica / without one: {where}", SLOW, ratio)
    if place.fault == "none":
        yield from _of_latency(place, spec, places, where)


def _of_latency(place: _Place, spec: RunSpec, places: _Places, where: str) -> Iterator[Target]:
    if spec.configuration == "at-least-once":  # as replicas without ordering it has no transactions
        alone = replace(place, label=_label(spec, "no-ordering"))
        ratio = _ratio(places, place, _p50, [alone], _p50)
        yield Target.at_most(f"p50 with ordering and claims / without: {where}", ORDERING, ratio)
    if spec.configuration in _EXACTLY_ONCE:
        flink = [
            other for other, runs in places.items() if _is_beside(place, other) and runs[0].spec.configuration in _FLINK
        ]
        yield Target.below(f"p50 / Flink, its best interval: {where}", 1.0, _ratio(places, place, _p50, flink, _p50))
        yield Target.below(f"p99 / Flink, its best interval: {where}", 1.0, _ratio(places, place, _p99, flink, _p99))


def _is_beside(place: _Place, other: _Place) -> bool:
    return (place.workload, place.rate, place.fault) == (other.workload, other.rate, other.fault)


def _ratio(places: _Places, ours: _Place, value: _Value, others: Sequence[_Place], base: _Value) -> float | None:
    """Ours over the least of the others, each within its round; None: no round has both."""
    ratios = []
    for one in places[ours]:
        rivals = [other for place in others for other in places.get(place, ()) if other.spec.round == one.spec.round]
        known = [found for rival in rivals if (found := base(rival))]
        mine = value(one)
        if known and mine is not None:
            ratios.append(mine / min(known))
    return median(ratios) if ratios else None


def _faultless(results: Sequence[RunResult]) -> list[Target]:
    own = [one.record.delivery for one in results if one.spec.configuration in _EXACTLY_ONCE]
    faults = sum(found.lost + found.duplicated + found.reordered for found in own)
    name = f"lost, duplicated or reordered by Tandem, exactly once, in {len(own)} runs"
    return [Target(name, "0", float(faults), faults == 0)] if own else []


def _place(spec: RunSpec) -> _Place:
    return _Place(spec.workload, spec.rate, spec.fault, name_of(spec))


def _label(spec: RunSpec, configuration: str) -> str:
    return label(Combination(spec.workload, configuration, spec.engine, spec.lanes, spec.fault))


def _p50(one: RunResult) -> float | None:
    return None if one.latency is None else one.latency.p50


def _p99(one: RunResult) -> float | None:
    return None if one.latency is None else one.latency.p99


def _longest_gap(one: RunResult) -> float | None:
    return one.longest_gap


def _worst_outage(one: RunResult) -> float | None:
    return max((kill.outage for kill in one.kills), default=None)
