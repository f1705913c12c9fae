"""How a job stands, looked at again and again: a live screen on a terminal, lines in a pipe."""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tandem.local import Event as ProcessEvent
from tandem.local.lanes_screen import lanes_line, lanes_table
from tandem.local.observe import Observer
from tandem.local.page import job_page
from tandem.local.screen import progress_line
from tandem.local.trend import Trend
from tandem.status.page import fit
from tandem.waiting import Deadline

SCREEN_EVERY_S: Final = 1.0
LINE_EVERY_S: Final = 5.0
_LOOK_S: Final = 0.1
_EVENTS_SHOWN, _EVENTS_IN_A_LOW_TERMINAL, _LOW = 6, 3, 28


@dataclass(frozen=True, slots=True)
class View:
    """How a job stands, by its observers: one, or one for each lane. `each`: every lane has a row."""

    job: str
    observers: Sequence[Observer]
    each: bool = False
    trend: Trend = field(default_factory=Trend)

    def screen(self) -> RenderableType:
        """For a terminal."""
        seen = [observer.look() for observer in self.observers]
        if len(seen) > 1:
            return lanes_table(self.job, seen, self.each)
        self.trend.add(seen[0])
        return job_page(seen[0], self.trend)

    def line(self) -> str:
        """For a log."""
        seen = [observer.look() for observer in self.observers]
        return progress_line(seen[0]) if len(seen) == 1 else lanes_line(self.job, seen)


def watch(
    out: Console,
    view: View,
    runs: Callable[[], bool],
    stopping: Event,
    live: bool,
    happened: Callable[[], Sequence[ProcessEvent]] = tuple,
    for_s: float | None = None,
) -> None:
    """Show it until it runs no more, somebody stops it, or `for_s` have passed.

    `live` : on a screen that is drawn again and again, else in lines. `happened`: all events so far, the newest last.
    What cannot be written, because the disk is full or the terminal is gone, is left out: the job needs no reader.
    """
    ends, shown = Deadline(math.inf if for_s is None else for_s), 0.0
    with Live(console=out, auto_refresh=False) if live else nullcontext() as display:
        while not stopping.is_set() and runs() and not ends.passed:
            events = happened()
            with suppress(OSError):
                if display is not None:
                    count = _EVENTS_SHOWN if out.height > _LOW else _EVENTS_IN_A_LOW_TERMINAL
                    newest = [Text(), *map(_words, events[-count:])] if events else []
                    display.update(fit(out, Group(view.screen(), *newest)), refresh=True)
                else:
                    _lines(out, view, [event for event in events if event.at > shown])
                    shown = max([shown, *(event.at for event in events)])
            again = Deadline(min(SCREEN_EVERY_S if live else LINE_EVERY_S, ends.remaining_s))
            while runs() and not again.passed and not stopping.wait(min(_LOOK_S, again.remaining_s)):
                pass


def _lines(out: Console, view: View, events: Sequence[ProcessEvent]) -> None:
    out.print(view.line(), soft_wrap=True)
    for event in events:
        out.print(_words(event))


def _words(event: ProcessEvent) -> Text:
    return Text(f"{event.clock} {event.process} {event.text}", style="dim")
