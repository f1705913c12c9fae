"""`python -m bench.evaluation`: carries out what is planned and not yet done, then writes the report."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from bench.evaluation.folder import Folder, FolderError
from bench.evaluation.loading import FOLDER, ScenarioError, load_scale, load_scenarios
from bench.evaluation.measure import carry_out, warm_up
from bench.evaluation.models import Scale, ScaleName
from bench.evaluation.plan import RunSpec, left_s, planned, to_do
from bench.evaluation.record import Plan
from bench.evaluation.report import write_report
from bench.fetched import fetch_for
from bench.signals import interrupt_on_sigterm
from bench.stage import servers
from tandem.engine.jvm.errors import JarsError


def main(
    scale: Annotated[ScaleName, typer.Option(help="How long and how often")] = "laptop",
    out: Annotated[
        Path | None, typer.Option(help="The folder; by default below bench/results, one for each scale")
    ] = None,
    scenario: Annotated[list[str] | None, typer.Option(help="Only this one; may be given several times")] = None,
    scenarios: Annotated[Path, typer.Option(help="The folder with the scenarios")] = FOLDER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is to do, and how long it takes")] = False,
) -> None:
    """Run the evaluation. After an interruption the same command goes on: a run that is done is not done again."""
    folder = Folder(out or Path(__file__).parent.parent / "results" / f"evaluation-{scale}")
    interrupt_on_sigterm()
    try:
        found = load_scenarios(scenarios, only=scenario or ())
        specs = planned(found, scale, load_scale(scale))
        left = to_do(specs, folder.done())
        _say(f"{len(specs)} runs, {len(specs) - len(left)} of them done; about {_minutes(left_s(left, _took(folder)))}")
        if dry_run:
            print("\n".join(spec.id for spec in left))
            return
        about = {one.name: one.about for one in found if one.name in {spec.scenario for spec in specs}}
        folder.begin(Plan(command=_command(), scale=scale, about=about, runs=tuple(specs)), partly=bool(scenario))
    except (ScenarioError, FolderError) as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from error
    is_interrupted = _all(left, folder, load_scale(scale))
    missing = to_do(specs, folder.done())
    _say(f"the report is {write_report(folder)}")
    if missing:
        _say(f"{len(missing)} of {len(specs)} runs are missing: the same command goes on with them")
    raise typer.Exit(130 if is_interrupted else int(bool(missing)))


def _all(specs: list[RunSpec], folder: Folder, scale: Scale) -> bool:
    """Return whether it was interrupted."""
    try:
        if specs:
            _carry_out_all(_fetched(specs, folder), folder, scale)
    except KeyboardInterrupt:
        _say("interrupted; what is done is kept")
        return True
    return False


def _fetched(specs: list[RunSpec], folder: Folder) -> list[RunSpec]:
    """Those for which all is there: what cannot be fetched for a peer does not keep the others from being run."""
    there = []
    for kind in dict.fromkeys((spec.system.plain, bool(spec.system.detection)) for spec in specs):
        own = [spec for spec in specs if (spec.system.plain, bool(spec.system.detection)) == kind]
        try:
            fetch_for((spec.system for spec in own), _say)
            there += own
        except JarsError as error:
            _say(f"FAILED, going on without {len(own)} runs: {error}")
            for spec in own:
                folder.keep_failure(spec, f"JarsError: {error}")
    return [spec for spec in specs if spec in there]


def _carry_out_all(specs: list[RunSpec], folder: Folder, scale: Scale) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="tandem-evaluation-", ignore_cleanup_errors=True) as work,
        servers(Path(work)) as around,
    ):
        if specs and scale.servers_warm_up:
            _say(f"warm-up of the broker and ZooKeeper: {scale.servers_warm_up:g} s")
            try:
                warm_up(around, scale.servers_warm_up, scale.seed, lambda text: _say(f"  {text}"))
            except Exception as error:
                _say(f"FAILED, going on with cold ones: {type(error).__name__}: {error}")
        for number, spec in enumerate(specs):
            if not (around.kafka.running and around.zookeeper.running):
                _say("the broker or ZooKeeper has ended: the same command starts others, and goes on")
                return
            left = left_s(specs[number:], _took(folder))
            _say(f"run {number + 1} of {len(specs)}, {_minutes(left)} left: {spec.id}")
            try:
                carry_out(spec, f"run-{number}", around, folder, _command(), lambda text: _say(f"  {text}"))
            except Exception as error:
                folder.keep_failure(spec, f"{type(error).__name__}: {error}")
                _say(f"FAILED, going on: {spec.id}: {type(error).__name__}: {error}")


def _took(folder: Folder) -> list[tuple[RunSpec, float]]:
    return [(record.spec, record.took_s) for record in folder.records().values()]


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _command() -> str:
    """The command line without a path of this machine in it."""
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    return " ".join(["python -m bench.evaluation", *words])


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    typer.run(main)
