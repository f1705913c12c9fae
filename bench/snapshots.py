"""`python -m bench.snapshots`: what snapshots cost a job with keyed state, in latency and throughput.

The same job again and again, in turn with snapshots every few seconds and (nearly) without. Latency: of each key's row, from
the first record that it tells of. Throughput: how fast bursts of records, each of another key, are worked off.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer

from bench.progress import must_wait, spend
from bench.promotion_stage import Setting, Traffic, running
from bench.signals import interrupt_on_sigterm
from tandem.local import LocalJob

_NEVER_MS = 3_600_000
_DEADLINE_S = 240.0
_BETWEEN_S = 5.0
_LOOK_S = 0.02


@dataclass
class Result:
    """Of one start of the job. ms, records/s."""

    interval_ms: int
    p50: float = 0.0
    p99: float = 0.0
    throughput: list[float] = field(default_factory=list)


def measure(setting: Setting, warm_up_s: float, window_s: float, bursts: int, burst: int) -> Result:
    """One start."""
    result = Result(setting.snapshot_ms)
    with running(setting) as (job, traffic):
        traffic.rate = 1.0
        must_wait(job, lambda: bool(traffic.arrivals), _DEADLINE_S, "output flows", _LOOK_S)
        traffic.rate = 0.0
        traffic.fill()
        must_wait(job, lambda: not traffic.waiting, _DEADLINE_S, "every key in the state", _LOOK_S)
        traffic.rate = setting.rate
        spend(job, warm_up_s)
        start = time.time()
        spend(job, window_s)
        known = [1_000 * latency for arrived, latency in list(traffic.latencies) if arrived >= start]
        result.p50, result.p99 = (round(float(value), 1) for value in np.percentile(known, [50, 99]))
        traffic.rate = 0.0
        for _ in range(bursts):
            spend(job, _BETWEEN_S)
            result.throughput.append(round(burst / _worked_off_s(job, traffic, burst)))
    return result


def _worked_off_s(job: LocalJob, traffic: Traffic, burst: int) -> float:
    began = time.monotonic()
    traffic.burst(burst)
    must_wait(job, lambda: not traffic.waiting, _DEADLINE_S, "the burst is worked off", _LOOK_S)
    return time.monotonic() - began


def main(
    state_mb: Annotated[int, typer.Option(help="Size of the state")] = 100,
    rate: Annotated[int, typer.Option(help="Records/s of 1 kB")] = 500,
    interval: Annotated[int, typer.Option(help="ms between two snapshots")] = 5_000,
    rounds: Annotated[int, typer.Option(help="How often both are measured")] = 3,
    warm_up: Annotated[float, typer.Option(help="Seconds")] = 45.0,
    window: Annotated[float, typer.Option(help="Seconds in which latency is measured")] = 45.0,
    bursts: Annotated[int, typer.Option(help="After each window")] = 5,
    burst: Annotated[int, typer.Option(help="Records of each")] = 10_000,
    output: Annotated[Path | None, typer.Option(help="A file for the results, JSON")] = None,
) -> None:
    """Measure what snapshots cost."""
    interrupt_on_sigterm()
    results: list[Result] = []
    for _ in range(rounds):
        for ms in (_NEVER_MS, interval):
            setting = Setting(state_mb, rate, standbys=0, shipping=False, snapshot_ms=ms)
            results.append(measure(setting, warm_up, window, bursts, burst))
            print(f"{time.strftime('%H:%M:%S')} {results[-1]}", flush=True)
            if output is not None:
                output.write_text(json.dumps([asdict(one) for one in results], indent=1))
    without, having = ([one for one in results if (one.interval_ms == interval) is having] for having in (False, True))
    p50 = [median(one.p50 for one in some) for some in (without, having)]
    throughput = [median(value for one in some for value in one.throughput) for some in (without, having)]
    print(f"p50 {p50[0]:.1f} ms without, {p50[1]:.1f} with: {p50[1] / p50[0]:.3f}")
    print(f"throughput {throughput[0]:.0f}/s without, {throughput[1]:.0f} with: {throughput[1] / throughput[0]:.3f}")


if __name__ == "__main__":
    typer.run(main)
