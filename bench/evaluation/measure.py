"""Carrying out one run: start, warm-up, then a window without failures, or kills; and writing down what was seen."""

from __future__ import annotations

import platform
import random
import subprocess
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.evaluation.configurations import STRIKES, Combination, configuration_of
from bench.evaluation.folder import Folder
from bench.evaluation.plan import BEFORE_S, CHECKPOINT_MS, SPREAD_S, RunSpec
from bench.evaluation.record import Delivery, KillSeen, RunRecord
from bench.evaluation.watching import Watch, WireMark
from bench.faults import Strike, slowed
from bench.kills import Seen, strike
from bench.peers.flink.packages import VERSION as FLINK
from bench.plan import Run
from bench.report import machine
from bench.stage import Servers, Stage, stage
from tandem.engine.jvm.jars import KAFKA
from tandem.local import LocalJobError

_WARM_UP_RATE = 2_000
_ROOT = Path(__file__).resolve().parent.parent.parent


def carry_out(
    spec: RunSpec, name: str, around: Servers, folder: Folder, command: str, say: Callable[[str], None]
) -> None:
    """Run what `spec` says and keep it in the folder; `name`: of its topics. Raises what the stage raises."""
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    run = Run(
        spec.system,
        spec.workload,
        spec.round,
        kills=spec.kills,
        checkpoint_interval_ms=spec.checkpoint_ms or CHECKPOINT_MS,
    )
    with stage(run, around, spec.seed, name, say) as made, folder.logs_kept(spec, made.folder):
        made.wait_until_up()
        made.feeder.rate(spec.rate)
        say(f"{spec.rate}/s: warm-up of {spec.warm_up_s:g} s")
        made.spend(spec.warm_up_s)
        broker_data = around.kafka.data_dir / "data"
        mark, start_ns = WireMark.now(broker_data), time.time_ns()
        with Watch(made.system.leaders, made.around) as watch:
            seen, trouble = _strikes(made, spec) if spec.kills else _window(made, spec)
        end_ns = time.time_ns()
        wire = mark.until(WireMark.now(broker_data), made.workload.job.topics(f"{name}-in"), f"{name}-out")
        made.reader.arrivals_until(end_ns)
        faults = made.drain()
        arrivals = made.arrivals()
    record = RunRecord(
        spec=spec,
        command=command,
        started=started,
        took_s=round(time.monotonic() - began, 1),
        start_ns=start_ns,
        end_ns=end_ns,
        kills=tuple(map(_kept, seen)),
        trouble=trouble,
        delivery=Delivery(
            sent=made.sent,
            lost=faults.lost,
            duplicated=faults.duplicated,
            reordered=faults.reordered,
            drained=made.drained,
        ),
        usage=watch.usage(),
        wire=wire,
        machine={key: value for key, value in machine().items() if isinstance(value, str | int)},
        versions=versions(),
    )
    folder.keep(record, arrivals)
    say(f"lost {faults.lost}, duplicated {faults.duplicated}, reordered {faults.reordered}")


def warm_up(around: Servers, seconds: float, seed: int, say: Callable[[str], None]) -> None:
    """Let the broker and ZooKeeper serve a job that nobody measures: their JVMs are slow until their code is compiled.

    Raises what the stage raises.
    """
    run = Run(configuration_of(Combination("identity", "leader", "realTime", 1, "none")), "identity", 0)
    with stage(run, around, seed, "warm-up", say) as made:
        made.wait_until_up()
        made.feeder.rate(_WARM_UP_RATE)
        made.spend(seconds)


def versions() -> dict[str, str]:
    """Of what takes part, and the commit that was measured."""
    packages = ("pyspark", "confluent-kafka", "pyarrow")
    found = {name: version(name) for name in packages}
    return {
        **found,
        "python": platform.python_version(),
        "kafka": KAFKA.rpartition(":")[2],
        "flink": FLINK,
        **_commit(),
    }


def _window(made: Stage, spec: RunSpec) -> tuple[list[Seen], str]:
    victim = sorted(made.system.actives())[0]
    with slowed(lambda: made.system.leaders()[victim]) if spec.fault == "slow" else nullcontext():
        made.spend(spec.window_s)
    return [], ""


def _strikes(made: Stage, spec: RunSpec) -> tuple[list[Seen], str]:
    """What was seen of each kill or other fault, and why there are fewer than planned, if so."""
    chance = random.Random(f"{spec.seed}/{spec.id}")
    seen: list[Seen] = []
    try:
        for number in range(spec.kills):
            made.spend(2 * BEFORE_S + spec.after_s + chance.random() * SPREAD_S)
            fault = Strike.drawn(STRIKES[spec.fault], made.system.actives(), chance)
            made.say(f"{number + 1} of {spec.kills}: {fault}")
            strike(made, fault, spec.after_s, seen)
    except (RuntimeError, LocalJobError) as error:
        if seen:
            seen[-1].end_ns = seen[-1].end_ns or time.time_ns()
        made.say(f"no more faults: {error}")
        return seen, f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return seen, ""


def _kept(seen: Seen) -> KillSeen:
    return KillSeen(
        at_ns=seen.kill_ns,
        victim=seen.victim,
        until_ns=seen.end_ns,
        up_s=seen.up_s,
        computing_s=seen.computing_s,
        at_head_s=seen.at_head_s,
    )


def _commit() -> dict[str, str]:
    git = ("git", "-C", str(_ROOT), "rev-parse", "--short=12", "HEAD")
    try:
        answer = subprocess.run(git, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return {"commit": answer.stdout.strip()} if not answer.returncode else {}
