"""What is measured: configurations, scales, and the order of the runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bench.measured import WORKLOADS
from bench.peers.flink.sql import QUERIES


@dataclass(frozen=True, slots=True)
class Configuration:
    """A system to measure: plain Spark (`tuning`), Flink (how soon it notices a death: `detection`), or Tandem."""

    name: str
    tuning: str = ""
    replicas: int = 0
    standbys: int = 0
    mode: Literal["leader", "heartbeat", "none"] = "leader"
    engine: Literal["microBatch", "realTime"] = "microBatch"
    detection: Literal["", "default", "tuned"] = ""
    at_least_once: bool = False
    lanes: int = 1
    passive: bool = False
    """One replica whose disk is lost when it dies: it goes on from the newest snapshot of a store."""

    @property
    def plain(self) -> bool:
        """Whether it is plain Spark."""
        return bool(self.tuning)

    @property
    def peer(self) -> bool:
        """Whether it is not Tandem."""
        return bool(self.tuning or self.detection)

    @property
    def delivery(self) -> str:
        """What it promises: replicas that agree on nothing publish each row once each."""
        return "atLeastOnce" if self.at_least_once or self.mode == "none" else "exactlyOnce"

    @property
    def alone(self) -> bool:
        """Whether nobody takes over from the one that computes: it has to be restarted."""
        return self.replicas + self.standbys <= 1


CONFIGURATIONS = {
    c.name: c
    for c in (
        Configuration("plain-default", tuning="default"),
        Configuration("plain-tuned", tuning="tuned"),
        Configuration("plain-compiled", tuning="compiled"),
        Configuration("plain-realtime", tuning="realtime"),
        Configuration("tandem-1", replicas=1),
        Configuration("tandem-2-leader", replicas=2),
        Configuration("tandem-2-heartbeat", replicas=2, mode="heartbeat"),
        Configuration("tandem-2-none", replicas=2, mode="none"),
        Configuration("tandem-1-standby", replicas=1, standbys=1),
        Configuration("tandem-1-realtime", replicas=1, engine="realTime"),
        Configuration("tandem-2-leader-realtime", replicas=2, engine="realTime"),
        Configuration("tandem-2-heartbeat-realtime", replicas=2, mode="heartbeat", engine="realTime"),
        Configuration("flink-default", detection="default"),
        Configuration("flink-tuned", detection="tuned"),
        Configuration("flink-default-at-least-once", detection="default", at_least_once=True),
        Configuration("flink-tuned-at-least-once", detection="tuned", at_least_once=True),
    )
}
_REAL_TIME = ("plain-realtime", "tandem-1-realtime", "tandem-2-leader-realtime", "tandem-2-heartbeat-realtime")
_FLINK = ("flink-default", "flink-tuned", "flink-default-at-least-once", "flink-tuned-at-least-once")
OPTIONAL = ("plain-compiled", "tandem-2-none", "tandem-1-standby", *_REAL_TIME, *_FLINK)
"""Only measured if named by `--only`."""
KILLED = (
    "tandem-2-leader",
    "tandem-2-heartbeat",
    "tandem-2-leader-realtime",
    "tandem-2-heartbeat-realtime",
    "tandem-1-standby",
    "tandem-1",
    "plain-tuned",
    *_FLINK,
)
"""Measured under kills too; one with a standby is only measured so."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All options; times in s, rates in records/s."""

    only: tuple[str, ...] = tuple(name for name in CONFIGURATIONS if name not in OPTIONAL)
    jobs: tuple[str, ...] = ("identity", "count")
    rates: tuple[int, ...] = (1_000, 5_000)
    warm_up_s: float = 60.0
    again_s: float = 20.0
    window_s: float = 60.0
    rounds: int = 1
    kills: int = 20
    alone_kills: int = 3
    kill_rate: int = 5_000
    seed: int = 1
    min_epoch_interval_ms: int = 0
    checkpoint_interval_ms: int = 100

    @property
    def rates_in_order(self) -> tuple[int, ...]:
        """A process takes all rates one after the other, the lowest first."""
        return tuple(sorted(self.rates))


SCALES = {
    "laptop": Settings(),
    "paper": Settings(rounds=5),
    "smoke": Settings(
        only=("plain-tuned", "tandem-1", "tandem-2-leader"),
        jobs=("identity",),
        rates=(1_000,),
        warm_up_s=3,
        again_s=2,
        window_s=4,
        kills=1,
        alone_kills=0,
        kill_rate=1_000,
    ),
}


@dataclass(frozen=True, slots=True)
class Run:
    """One start of one configuration: steady at all rates, or with `kills`."""

    configuration: Configuration
    job: str
    round: int
    min_epoch_interval_ms: int = 0
    kills: int = 0
    checkpoint_interval_ms: int = 100


def steady_runs(settings: Settings) -> list[Run]:
    """Round after round, each beginning with another configuration, so that a noisy hour hits all alike."""
    return [
        _run(settings, configuration, job, number)
        for number in range(settings.rounds)
        for job in settings.jobs
        for configuration in _rotated([CONFIGURATIONS[name] for name in settings.only], number)
        if not configuration.standbys and can_run(configuration, job)
    ]


def kill_runs(settings: Settings) -> list[Run]:
    """Once per configuration that is killed, with the first job."""
    killed = [CONFIGURATIONS[name] for name in KILLED if name in settings.only]
    kills = [settings.alone_kills if configuration.alone else settings.kills for configuration in killed]
    job = settings.jobs[0]
    return [_run(settings, c, job, 0, k) for c, k in zip(killed, kills, strict=True) if k and can_run(c, job)]


def can_run(configuration: Configuration, job: str) -> bool:
    """Whether a workload is there for a system: some are only Tandem's, and Flink needs SQL of its own."""
    if configuration.detection:
        return job in QUERIES
    return not (configuration.plain and WORKLOADS[job].no_peers)


def _run(settings: Settings, configuration: Configuration, job: str, number: int, kills: int = 0) -> Run:
    return Run(configuration, job, number, settings.min_epoch_interval_ms, kills, settings.checkpoint_interval_ms)


def expected_s(settings: Settings, start_s: float = 30.0, per_kill_s: float = 45.0) -> float:
    """Roughly how long it all takes."""
    rates = len(settings.rates)
    windows = settings.warm_up_s + rates * settings.window_s + (rates - 1) * settings.again_s
    kills = sum(start_s + settings.warm_up_s + run.kills * per_kill_s for run in kill_runs(settings))
    return len(steady_runs(settings)) * (start_s + windows) + kills


def changed(settings: Settings, **options: object) -> Settings:
    """`settings` with the options that are not None."""
    return replace(settings, **{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]


def _rotated(items: Sequence[Configuration], by: int) -> list[Configuration]:
    by %= max(1, len(items))
    return [*items[by:], *items[:by]]
