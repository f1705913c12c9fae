"""How a job stands, looked at again and again: a live screen on a terminal, lines in a pipe."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from rich.console import Console, RenderableType
from rich.live import Live

from tandem.local.lanes_screen import lanes_line, lanes_table
from tandem.local.observe import Observer
from tandem.local.page import job_page
from tandem.local.screen import progress_line
from tandem.local.trend import Trend
from tandem.status.page import fit

SCREEN_EVERY_S: Final = 1.0
LINE_EVERY_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class View:
    """How a job stands, by its observers: one, or one for each lane."""

    job: str
    observers: Sequence[Observer]
    trend: Trend = field(default_factory=Trend)

    def screen(self) -> RenderableType:
        """For a terminal."""
        seen = [observer.look() for observer in self.observers]
        if len(seen) > 1:
            return lanes_table(self.job, seen)
        self.trend.add(seen[0])
        return job_page(seen[0], self.trend)

    def line(self) -> str:
        """For a log."""
        seen = [observer.look() for observer in self.observers]
        return progress_line(seen[0]) if len(seen) == 1 else lanes_line(self.job, seen)


def watch(out: Console, view: View, runs: Callable[[], bool], stopping: Event) -> None:
    """Show it until it runs no more, or somebody stops it."""
    live = out.is_terminal
    with Live(console=out, auto_refresh=False) if live else nullcontext() as display:
        while not stopping.is_set() and runs():
            if display is None:
                out.print(view.line(), soft_wrap=True)
            else:
                display.update(fit(out, view.screen()), refresh=True)
            stopping.wait(SCREEN_EVERY_S if live else LINE_EVERY_S)
