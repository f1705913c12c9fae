"""`python -m bench.promotion`: a job with keyed state and a standby, one of its actives killed again and again.

Tells how long the output was silent, where that time went, when the job was whole again, and what standing by and shipping
cost. Replicas share the cores in turn. A kill comes when the standby has proved its state, and takes the orderer beside the
active too; both are started again 12 s later, so that their start, which on a cluster is another machine's work, does not
slow the promotion.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from bench.metrics import scrape
from bench.progress import must_wait, spend
from bench.promotion_plain import restart_gaps
from bench.promotion_stage import Setting, Traffic, running
from bench.signals import interrupt_on_sigterm
from bench.usage import cores_used, cpu_seconds, memory_mb
from tandem.local import LocalJob

_DEADLINE_S = 240.0
_AFTER_S = 12.0
_LOOK_S = 0.5
"""Looking more often would be a load of its own."""
_PHASES = {
    "promoted": "noticed",
    "followed_state_used": "restored",
    "checkpoint_restored": "restored",
    "snapshot_restored": "restored",
    "started": "started",
    "first_epoch": "computed",
    "caught_up": "at the head",
}


@dataclass(frozen=True, slots=True)
class Promotion:
    """One kill, ms. `gap`, `before`: longest time without output around it, and in a stretch before it; end of phases."""

    gap: float
    before: float
    phases: dict[str, float]
    because: str
    first_epoch: dict[str, float]


@dataclass
class Result:
    """Of a setting. At rest: `cores` of an active, the standby and all else, `memory` in MB; `plain`: Spark's gaps, ms."""

    setting: Setting
    cores: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    shipped_kb_per_epoch: float = 0.0
    promotions: list[Promotion] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)

    def summary(self) -> str:
        gaps = sorted(p.gap for p in self.promotions)
        lines = [
            str(self.setting),
            "  cores: " + ", ".join(f"{name} {value:.3f}" for name, value in self.cores.items()),
            "  MB: " + ", ".join(f"{name} {value:.0f}" for name, value in self.memory.items()),
            f"  shipped per epoch: {self.shipped_kb_per_epoch:.0f} kB",
        ]
        if gaps:
            usual = median(p.before for p in self.promotions)
            lines.append(
                f"  gap: median {median(gaps):.0f} ms, worst {gaps[-1]:.0f} ms of {len(gaps)}, {usual:.0f} ms before"
            )
            for phase in dict.fromkeys(_PHASES.values()):
                known = sorted(p.phases[phase] for p in self.promotions if phase in p.phases)
                if known:
                    lines.append(f"  {phase}: median {median(known):.0f} ms, worst {known[-1]:.0f} ms after the kill")
        if self.plain:
            lines.append(f"  plain Spark, restarted at once: median {median(self.plain):.0f} ms of {len(self.plain)}")
        return "\n".join(lines)


class Bench:
    """A running job with its traffic."""

    def __init__(self, job: LocalJob, traffic: Traffic, setting: Setting) -> None:
        self._job, self._traffic, self._setting = job, traffic, setting
        self._names = [f"replica-{number}" for number in range(setting.replicas)]

    def fill(self) -> None:
        """Give every key a value, and wait until all are in the state."""
        self._when_staffed()
        self._traffic.rate = 1.0
        self._wait(lambda: bool(self._traffic.arrivals), "output flows")
        self._traffic.fill()
        wanted = self._traffic.keys
        self._wait(lambda: len(self._traffic.arrivals) >= wanted, f"{wanted} keys in the state")
        self._traffic.rate = self._setting.rate

    def rest(self, seconds: float, result: Result) -> None:
        """CPU and memory at rest, and what is shipped."""
        actives, standby = self._when_staffed()
        groups = {"active": [self._job.process(name).pid for name in actives[:1]]}
        groups["standby"] = [self._job.process(standby).pid]
        epochs, shipped = self._computed(actives), self._shipped(actives)
        before, began = cpu_seconds(groups), time.monotonic()
        spend(self._job, seconds)
        used, other = cores_used(before, cpu_seconds(groups), time.monotonic() - began)
        result.cores = {**used, "other": other, "standby/active": round(used["standby"] / used["active"], 3)}
        result.memory = {name: memory_mb(leaders) for name, leaders in groups.items()}
        computed = self._computed(actives) - epochs
        result.cores["epochs/s"] = round(computed / seconds, 2)
        result.shipped_kb_per_epoch = (self._shipped(actives) - shipped) / max(1.0, computed) / 1_000

    def kill(self) -> Promotion:
        """SIGKILL to an active and the orderer beside it; waits until the job is staffed again."""
        actives, standby = self._when_staffed()
        if self._setting.shipping:
            self._wait(
                lambda: self._metric(standby, "tandem_standby_verified_epoch") > 0, "the standby proves its state"
            )
        spend(self._job, _AFTER_S + 1 + 2 * random.random())
        log = self._job.log_file(standby)
        seen = log.stat().st_size
        active = random.choice(actives)
        names = (active, f"orderer-{active[-1]}")
        threads = [threading.Thread(target=self._job.kill, args=[name, signal.SIGKILL, True]) for name in names]
        at = time.time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spend(self._job, _AFTER_S)
        self._job.start(*names)
        gap = self._traffic.longest_gap_ms(at - 1, at + _AFTER_S)
        before = self._traffic.longest_gap_ms(at - 1 - _AFTER_S, at)
        return Promotion(gap, before, *_phases(log, seen, at))

    def _metric(self, process: str, name: str) -> float:
        info = self._job.announcement(process)
        sample = scrape(info.metrics_port) if info is not None and info.metrics_port else None
        return 0.0 if sample is None else sample.values.get(name, 0.0)

    def _computed(self, names: list[str]) -> float:
        return max(self._metric(name, "tandem_epoch") for name in names)

    def _shipped(self, names: list[str]) -> float:
        return sum(self._metric(name, "tandem_shipped_bytes_total") for name in names)

    def _when_staffed(self) -> tuple[list[str], str]:
        """The active replicas, all ready, and the one that stands by."""
        actives: list[str] = []
        standbys: list[str] = []

        def staffed() -> bool:
            standbys[:] = [name for name in self._names if self._metric(name, "tandem_replica_standby")]
            actives[:] = [
                name for name in self._names if name not in standbys and self._metric(name, "tandem_replica_ready")
            ]
            return (len(actives), len(standbys)) == (self._setting.actives, 1)

        self._wait(staffed, f"{self._setting.actives} active and a standby")
        return actives, standbys[0]

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        must_wait(self._job, condition, _DEADLINE_S, what, _LOOK_S)


def _phases(log: Path, start: int, at: float) -> tuple[dict[str, float], str, dict[str, float]]:
    """When each phase was over, in ms after `at`; why the standby was promoted; what its first epoch took."""
    phases: dict[str, float] = {}
    because = ""
    engine: dict[str, float] = {}
    for line in log.read_bytes()[start:].splitlines():
        try:
            entry = json.loads(line)
            when = datetime.fromisoformat(entry["timestamp"]).timestamp()
        except (ValueError, KeyError):
            continue
        because = entry.get("because", because) if entry["event"] == "promoted" else because
        engine = engine or (entry["ms"] if entry["event"] == "first_epoch" else {})
        phase = _PHASES.get(entry["event"])
        if phase is not None and phase not in phases:
            phases[phase] = round((when - at) * 1_000)
    return phases, because, engine


def main(
    state_mb: Annotated[str, typer.Option(help="Sizes of state, by comma")] = "10,100",
    actives: Annotated[int, typer.Option(help="How many replicas are active, beside one standby")] = 1,
    kills: Annotated[int, typer.Option(help="At each size")] = 10,
    rate: Annotated[int, typer.Option(help="Records/s of 1 kB")] = 500,
    rest: Annotated[float, typer.Option(help="Seconds of the measurement at rest")] = 30.0,
    shipping: Annotated[bool, typer.Option(help="Ship state")] = True,
    shared: Annotated[bool, typer.Option(help="All replicas see each other's checkpoints")] = False,
    plain_kills: Annotated[int, typer.Option(help="Of plain Spark with the same state, restarted at once")] = 0,
    conf: Annotated[list[str] | None, typer.Option(help="Of Spark, name=value")] = None,
    output: Annotated[Path | None, typer.Option(help="A file for the results, JSON")] = None,
) -> None:
    """Measure promotions."""
    interrupt_on_sigterm()
    results = []
    for size in map(int, state_mb.split(",")):
        of_spark = dict(word.split("=", 1) for word in conf or [])
        setting = Setting(size, rate, actives, shipping=shipping, shared=shared, conf=of_spark)
        result = Result(setting)
        with running(setting) as (job, traffic):
            bench = Bench(job, traffic, setting)
            bench.fill()
            _say(f"{size} MB: staffed, at rest for {rest:g} s")
            spend(job, 20)
            bench.rest(rest, result)
            _say(f"{size} MB: cores at rest: {result.cores}, {result.shipped_kb_per_epoch:.0f} kB shipped per epoch")
            for _ in range(kills):
                result.promotions.append(bench.kill())
                _say(f"{size} MB: {result.promotions[-1]}")
        if plain_kills:
            result.plain = restart_gaps(setting, plain_kills)
        results.append(result)
        _say(result.summary())
        if output is not None:
            output.write_text(json.dumps([asdict(one) for one in results], indent=1))


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    typer.run(main)
