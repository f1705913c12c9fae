"""What a scenario may name, which system of the bench that is, and why some combinations cannot be run. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from bench.faults import KINDS, Kind
from bench.measured import WORKLOADS
from bench.peers.flink.sql import QUERIES
from bench.plan import Configuration
from bench.records import PARTITIONS

Engine = Literal["microBatch", "realTime"]
Fault = Literal["none", "slow", "kill", "pause", "kill-all", "kill-in-turn", "chaos"]

TANDEM = {
    "no-replication": Configuration("", replicas=1),
    "passive": Configuration("", replicas=1, passive=True),
    "leader": Configuration("", replicas=2),
    "heartbeat": Configuration("", replicas=2, mode="heartbeat"),
    "active-standby": Configuration("", replicas=1, standbys=1),
    "two-actives-standby": Configuration("", replicas=2, standbys=1),
    "at-least-once": Configuration("", replicas=2, at_least_once=True),
    "no-ordering": Configuration("", replicas=2, mode="none"),
}
PEERS = {
    "spark-default": Configuration("spark-default", tuning="default"),
    "spark-tuned": Configuration("spark-tuned", tuning="tuned"),
    "spark-compiled": Configuration("spark-compiled", tuning="compiled"),
    "spark-real-time": Configuration("spark-real-time", tuning="realtime"),
    "flink-default": Configuration("flink-default", detection="default"),
    "flink-tuned": Configuration("flink-tuned", detection="tuned"),
    "flink-default-at-least-once": Configuration(
        "flink-default-at-least-once", detection="default", at_least_once=True
    ),
    "flink-tuned-at-least-once": Configuration("flink-tuned-at-least-once", detection="tuned", at_least_once=True),
}
KNOWN = (*TANDEM, *PEERS)
STRIKES: dict[Fault, tuple[Kind, ...]] = {
    "kill": ("kill",),
    "pause": ("pause",),
    "kill-all": ("kill-all",),
    "kill-in-turn": ("kill-in-turn",),
    "chaos": KINDS,
}
"""Faults that come at moments, one after the other, and of which kinds."""
FAULTS: tuple[Fault, ...] = ("none", "slow", *STRIKES)
"""`slow` : one replica has a quarter of its processor all the time."""
NO_FAULTS = {
    "kill-jobmanager": "without high availability Flink's job is lost with its JobManager",
    "kill-broker": "the bench has one broker: nobody could read meanwhile",
    "slow-disk": "the processes of all systems share one disk, which the bench cannot slow down for one of them",
    "partition": "the bench runs on one machine, without a network between the processes",
}
"""What comes to mind, and why it cannot be run."""


@dataclass(frozen=True, slots=True)
class Combination:
    """What is run: `engine` is None for a system that is not Tandem."""

    workload: str
    configuration: str
    engine: Engine | None
    lanes: int
    fault: str


def configuration_of(combination: Combination) -> Configuration:
    """The system of the bench. Raises `KeyError` if there is none."""
    if combination.configuration in PEERS:
        return PEERS[combination.configuration]
    own, engine = TANDEM[combination.configuration], combination.engine or "microBatch"
    return replace(own, name=label(combination), engine=engine, lanes=combination.lanes)


def label(combination: Combination) -> str:
    """How people call it: `leader-realtime-2-lanes`."""
    engine = "-realtime" if combination.engine == "realTime" else ""
    lanes = f"-{combination.lanes}-lanes" if combination.lanes > 1 else ""
    return f"{combination.configuration}{engine}{lanes}"


def reasons_against(combination: Combination) -> Iterator[str]:
    """Why it cannot be run; none: it can."""
    if combination.workload not in WORKLOADS:
        yield f"there is no workload {combination.workload}: known are {', '.join(WORKLOADS)}"
    if combination.configuration not in KNOWN:
        yield f"there is no configuration {combination.configuration}: known are {', '.join(KNOWN)}"
    if combination.fault not in FAULTS:
        why = NO_FAULTS.get(combination.fault, f"known are {', '.join(FAULTS)}")
        yield f"fault {combination.fault} cannot be run: {why}"
    if combination.workload in WORKLOADS and combination.configuration in KNOWN:
        yield from _of_a_peer(combination) if combination.configuration in PEERS else _of_tandem(combination)


def _of_a_peer(combination: Combination) -> Iterator[str]:
    name, workload = combination.configuration, combination.workload
    of = WORKLOADS[workload]
    if combination.engine is not None:
        yield f"{name} is not Tandem and has no engines to choose from: leave engines out"
    if combination.lanes != 1:
        yield f"{name} is not Tandem and has no lanes: leave lanes out"
    if combination.fault in ("kill-all", "kill-in-turn", "chaos"):
        yield f"{name} is one process, of which fault {combination.fault} is a kill"
    if of.no_peers:
        yield f"{name} cannot run {workload}: {of.no_peers}"
    elif PEERS[name].detection and workload not in QUERIES:
        yield f"{name} cannot run {workload}: bench/peers/flink/sql.py has no SQL of it, but of {', '.join(QUERIES)}"
    elif name == "spark-real-time" and of.no_real_time:
        yield f"{name} cannot run {workload}: {of.no_real_time}"


def _of_tandem(combination: Combination) -> Iterator[str]:
    workload, lanes = combination.workload, combination.lanes
    of = WORKLOADS[workload]
    if combination.engine == "realTime" and of.no_real_time:
        yield f"engine realTime cannot run {workload}: {of.no_real_time}"
    if lanes > 1 and of.no_lanes:
        yield f"{workload} cannot run in {lanes} lanes: {of.no_lanes}"
    if lanes > 1 and combination.configuration == "passive" and combination.fault in STRIKES:
        yield "passive cannot be struck in several lanes: they have one folder, and the lane that dies would take all of it"
    if lanes < 1 or PARTITIONS % lanes:
        yield f"there cannot be {lanes} lanes: the topics of the bench have {PARTITIONS} partitions"
