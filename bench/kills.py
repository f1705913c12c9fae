"""Measuring under SIGKILL: at random moments, of a random active replica together with its orderer, restarted at once."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from bench.analysis import KillSeries, S, gaps_around, recovered_after_s, series_around
from bench.faults import Strike
from bench.measures import Kill, KillRun
from bench.metrics import Sample
from bench.plan import Settings
from bench.progress import is_at_head, lag_epochs, wait_for
from bench.records import Arrivals
from bench.stage import Stage
from bench.systems import Tandem
from tandem.local import LocalJobError

BEFORE_S, AFTER_S, AFTER_ALONE_S = 1.0, 10.0, 30.0
_SPREAD_S = 5.0
_BACK_DEADLINE_S = 120.0
_STEADY_LOOKS = 5
_FAR_EPOCHS = 5


@dataclass
class Seen:
    """What was observed of one fault before the arrivals are looked at: times in Unix ns, and s from the fault."""

    kill_ns: int
    victim: str
    led: bool | None = None
    up_s: float | None = None
    computing_s: float | None = None
    at_head_s: float | None = None
    end_ns: int = 0


def measure(stage: Stage, settings: Settings) -> tuple[KillRun, list[KillSeries]]:
    """Kill as often as the run says. Raises what the stage raises, and `RuntimeError` if a replica does not come back."""
    run = stage.run
    chance = random.Random(f"{settings.seed}/{run.configuration.name}")
    after_s = AFTER_ALONE_S if run.configuration.alone else AFTER_S
    stage.wait_until_up()
    stage.feeder.rate(settings.kill_rate)
    stage.say(f"warm-up of {settings.warm_up_s:g} s, then {run.kills} kills")
    stage.spend(settings.warm_up_s)
    seen: list[Seen] = []
    try:
        for number in range(run.kills):
            # Time for an equally long stretch without a kill, all replicas at the head, and then a random moment.
            stage.spend(BEFORE_S + after_s + chance.random() * _SPREAD_S)
            strike(stage, Strike.drawn(("kill",), stage.system.actives(), chance), after_s, seen)
            judged = _judged(seen[-1], stage.arrivals_until(seen[-1].end_ns), after_s, stage)
            stage.say(f"kill {number + 1} of {run.kills}: {_told(judged)}")
    except (RuntimeError, LocalJobError) as error:
        stage.say(f"no more kills: {error}")
    arrivals = stage.arrivals_until(max((one.end_ns for one in seen), default=0))
    faults = stage.drain()
    stage.say(f"lost {faults.lost}, duplicated {faults.duplicated}, reordered {faults.reordered}")
    kills = tuple(_judged(one, arrivals, after_s, stage) for one in seen)
    found = KillRun(run.configuration.name, run.job, settings.kill_rate, run.round, kills, faults)
    return found, [series_around(arrivals, one.kill_ns) for one in seen]


def strike(stage: Stage, fault: Strike, after_s: float, seen: list[Seen]) -> None:
    """Carry `fault` out, and follow it until every replica is at the head again and `after_s` is over; add that to `seen`.

    Raises what the stage raises, and `RuntimeError` if a replica does not come back.
    """
    system, victim = stage.system, fault.victims[0]
    one = Seen(time.time_ns(), " and ".join(fault.victims), _led(system, victim))
    seen.append(one)
    one.kill_ns, began = time.time_ns(), time.monotonic()
    fault.hit(system, stage.spend)
    if isinstance(system, Tandem):
        _follow(stage, system, victim, one, began)
    stage.spend(after_s - (time.monotonic() - began))
    # Or what is still restarting would count as lost.
    count = stage.reader.count
    if not wait_for(stage, lambda: stage.reader.count > count, _BACK_DEADLINE_S, 0.1):
        raise RuntimeError(f"no output {after_s + _BACK_DEADLINE_S:.0f} s after a {fault}")
    one.end_ns = time.time_ns()


def _follow(stage: Stage, system: Tandem, victim: str, seen: Seen, began: float) -> None:
    """Wait until every replica has been at the head for a few looks; `began`: when the fault was, monotonic s."""
    looks = 0

    def is_steady() -> bool:
        nonlocal looks
        passed = time.monotonic() - began
        _observe(seen, system.sample(victim), passed)
        samples = system.samples()
        lags = [lag_epochs(sample) for sample in samples.values()]
        if len(lags) < len(system.leaders()) or any(lag > _FAR_EPOCHS for lag in lags):
            looks = 0
        elif all(map(is_at_head, samples.values())):
            looks += 1
            if looks == 1:
                seen.at_head_s = round(passed, 2)
        return looks >= _STEADY_LOOKS

    if not wait_for(stage, is_steady, _BACK_DEADLINE_S, 0.1):
        seen.at_head_s = None
        lags = {name: lag_epochs(sample) for name, sample in system.samples().items()}
        raise RuntimeError(
            f"not at the head {_BACK_DEADLINE_S:.0f} s after {seen.victim} was struck; epochs behind: {lags}"
        )


def _observe(seen: Seen, sample: Sample | None, passed: float) -> None:
    if sample is None:
        return
    seen.up_s = seen.up_s or round(passed, 2)
    if sample.get("tandem_epoch") > 0:
        seen.computing_s = seen.computing_s or round(passed, 2)


def _led(system: object, victim: str) -> bool | None:
    """Whether the orderer that is about to die leads; None where nobody does."""
    if not isinstance(system, Tandem):
        return None
    sample = system.sample(system.beside(victim))
    return None if sample is None else sample.get("tandem_orderer_leading") == 1


def _judged(seen: Seen, arrivals: Arrivals, after_s: float, stage: Stage) -> Kill:
    gaps = gaps_around(arrivals["arrived_ns"], seen.kill_ns, BEFORE_S, after_s)
    peer = stage.run.configuration.peer
    first = int(arrivals["arrived_ns"][0])
    return Kill(
        round((seen.kill_ns - first) / S, 1),
        seen.victim,
        seen.led,
        round(gaps.around, 1),
        round(gaps.before, 1),
        round(gaps.began, 1),
        seen.up_s,
        seen.computing_s,
        None if peer else seen.at_head_s,
        recovered_after_s(arrivals, seen.kill_ns, seen.end_ns or int(arrivals["arrived_ns"][-1])),
    )


def _told(kill: Kill) -> str:
    head = "" if kill.at_head_s is None else f"; at the head again after {kill.at_head_s:.1f} s"
    led = " (its orderer led)" if kill.led else ""
    return (
        f"{kill.victim}{led}: longest gap {kill.gap:.0f} ms (it began {kill.gap_began:+.0f} ms from the kill), "
        f"{kill.gap_before:.0f} ms before{head}; "
        f"latency back after {kill.latency_back_s:.1f} s"
    )
