"""`python -m bench`: Tandem beside plain Spark and Flink on this machine; tables and plots go to `bench/results`."""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bench import kills, steady
from bench.fetched import fetch_for
from bench.measured import WORKLOADS
from bench.measures import Failure
from bench.plan import (
    CONFIGURATIONS,
    SCALES,
    Run,
    changed,
    expected_s,
    kill_runs,
    steady_runs,
)
from bench.plot import plot_gaps, plot_kills, plot_latency
from bench.report import Results
from bench.signals import interrupt_on_sigterm
from bench.stage import Servers, servers, stage
from tandem.process.errors import EmbeddedError

_RESULTS = Path(__file__).parent / "results"


def main(
    only: Annotated[str | None, typer.Option(help=f"Configurations, by comma: {', '.join(CONFIGURATIONS)}")] = None,
    rates: Annotated[
        str | None, typer.Option(help="Records/s, by comma; a process takes them one after the other")
    ] = None,
    jobs: Annotated[str | None, typer.Option(help=f"Workloads, by comma: {', '.join(WORKLOADS)}")] = None,
    warm_up: Annotated[float | None, typer.Option(help="Seconds before the first window")] = None,
    window: Annotated[float | None, typer.Option(help="Seconds measured at each rate")] = None,
    kill_count: Annotated[int | None, typer.Option("--kills", help="SIGKILLs in each ordering mode")] = None,
    alone_kills: Annotated[
        int | None, typer.Option(help="SIGKILLs of what nobody takes over from: one replica, plain Spark, Flink")
    ] = None,
    kill_rate: Annotated[int | None, typer.Option(help="Records/s while killing")] = None,
    rounds: Annotated[int | None, typer.Option(help="How often all configurations are measured")] = None,
    seed: Annotated[int | None, typer.Option(help="Of keys and of the moments of kills")] = None,
    min_epoch_interval: Annotated[
        int | None,
        typer.Option(help="The least ms between two epochs of Tandem, and between two batches of plain Spark"),
    ] = None,
    checkpoint_interval: Annotated[int | None, typer.Option(min=1, help="ms between two checkpoints of Flink")] = None,
    no_steady: Annotated[bool, typer.Option("--no-steady", help="Only the kills")] = False,
    scale: Annotated[str, typer.Option(help=f"{', '.join(SCALES)}; the other options change it")] = "laptop",
    output: Annotated[Path, typer.Option(help="Where to put the folder of results")] = _RESULTS,
) -> None:
    """Measure Tandem beside plain Spark. Ctrl-C stops cleanly and keeps what was measured."""
    if scale not in SCALES:
        raise typer.BadParameter(f"{scale} is none of {', '.join(SCALES)}", param_hint="--scale")
    settings = changed(
        SCALES[scale],
        only=_among(only, tuple(CONFIGURATIONS), "--only"),
        rates=None if rates is None else tuple(_whole(word, "--rates") for word in rates.split(",")),
        jobs=_among(jobs, tuple(WORKLOADS), "--jobs"),
        warm_up_s=warm_up,
        window_s=window,
        kills=kill_count,
        alone_kills=alone_kills,
        kill_rate=kill_rate,
        rounds=rounds,
        seed=seed,
        min_epoch_interval_ms=min_epoch_interval,
        checkpoint_interval_ms=checkpoint_interval,
    )
    interrupt_on_sigterm()
    started = datetime.now(UTC)
    results = Results(settings, _command(), started.isoformat(timespec="seconds"))
    folder = output / started.strftime("%Y-%m-%dT%H-%M-%SZ")
    runs = [*([] if no_steady else steady_runs(settings)), *kill_runs(settings)]
    _say(f"{len(runs)} runs, about {expected_s(settings) / 60:.0f} min" if not no_steady else f"{len(runs)} runs")
    try:
        _measure_all(runs, results, folder)
    except KeyboardInterrupt:
        _say("stopped; what was measured is kept")
    except EmbeddedError as error:
        _say(f"FAILED: {error}")
    if results.rows or results.kill_runs:
        _finish(results, folder)
    raise typer.Exit(1 if results.failures or not (results.rows or results.kill_runs) else 0)


def _measure_all(runs: list[Run], results: Results, folder: Path) -> None:
    fetch_for((run.configuration for run in runs), _say)
    with (
        tempfile.TemporaryDirectory(prefix="tandem-bench-", ignore_cleanup_errors=True) as work,
        servers(Path(work)) as all_servers,
    ):
        for number, run in enumerate(runs):
            _say(f"run {number + 1} of {len(runs)}: {_name(run)}")
            try:
                _measure(run, f"bench-{number}", all_servers, results)
            except Exception as error:
                results.failures.append(Failure(run.configuration.name, run.job, f"{type(error).__name__}: {error}"))
                _say(f"FAILED, going on: {_name(run)}: {type(error).__name__}: {error}")
            results.write(folder)


def _measure(run: Run, name: str, around: Servers, results: Results) -> None:
    settings = results.settings
    with stage(run, around, settings.seed, name, lambda text: _say(f"  {_name(run)}: {text}")) as made:
        if not run.kills:
            results.rows += steady.measure(made, settings)
            return
        found, series = kills.measure(made, settings)
        results.kill_runs.append(found)
        results.series[run.configuration.name] = series


def _finish(results: Results, folder: Path) -> None:
    results.write(folder)
    if results.rows:
        plot_latency(results.rows, folder / "latency.png")
    if any(run.kills for run in results.kill_runs):
        plot_gaps(results.kill_runs, folder / "gaps.png")
        plot_kills(results.series, folder / "kills.png")
    print("\n" + results.table())
    for target in results.targets:
        value = "not measured" if target.value is None else f"{target.value:.2f}"
        print(f"{'reached' if target.reached else 'MISSED '}  {target.name}: {value} ({target.limit})")
    _say(f"results are in {folder}")


def _name(run: Run) -> str:
    what = f"{run.kills} kills" if run.kills else f"round {run.round + 1}"
    return f"{run.configuration.name}, {run.job}, {what}"


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def _command() -> str:
    """The command line without a path of this machine in it."""
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    return " ".join(["python -m bench", *words])


def _among(text: str | None, known: tuple[str, ...], option: str) -> tuple[str, ...] | None:
    words = None if text is None else tuple(text.split(","))
    unknown = [word for word in words or () if word not in known]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: known are {', '.join(known)}", param_hint=option)
    return words


def _whole(word: str, option: str) -> int:
    if not word.isdigit() or not int(word):
        raise typer.BadParameter(f"{word!r} is no number of records per second", param_hint=option)
    return int(word)


if __name__ == "__main__":
    typer.run(main)
