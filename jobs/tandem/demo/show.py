"""What the demo shows while it runs: a live screen on a terminal, a line every few seconds elsewhere."""

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table
from rich.text import Text

from tandem.demo.latency import Latencies
from tandem.local import Event
from tandem.local.page import job_page
from tandem.local.screen import progress_line
from tandem.local.status import JobStatus
from tandem.local.trend import spark

SPARK_S = 60
RECENT_MS = 10_000.0


@dataclass(frozen=True, slots=True)
class View:
    """One moment. `done`: 0 to 1; `recent`: records of the last minute, `now_ms` on the same clock."""

    scene: str
    done: float
    fed: int
    published: int
    recent: Latencies
    now_ms: float
    status: JobStatus | None
    events: Sequence[Event]


def screen(view: View) -> RenderableType:
    """The whole screen."""
    parts: list[RenderableType] = [_head(view), Text()]
    if view.status is not None:
        parts += [job_page(view.status), Text()]
    parts += [_reader(view), Text(), *map(event_line, view.events[-6:])]
    return Padding(Group(*parts), (1, 0, 0, 0))


def line(view: View) -> str:
    """The same for a log."""
    status = "" if view.status is None else f"; {progress_line(view.status).partition(': ')[2]}"
    return f"{view.scene}: {view.fed:,} fed, {view.published:,} published, latency {_recent(view)}{status}"


def event_line(event: Event) -> Text:
    """Something that happened to a process."""
    loud = "SIGKILL" in event.text
    return Text(f"{event.clock} {event.process} {event.text}", style="bold red" if loud else "dim")


def per_second(recent: Latencies, now_ms: float, seconds: int = SPARK_S) -> list[float]:
    """The highest latency of the records created in each of the last seconds, oldest first; NaN without records."""
    edges = [now_ms - 1_000 * back for back in range(seconds, 0, -1)]
    return [recent.between(edge, edge + 1_000).quantile(1.0) for edge in edges]


def _head(view: View) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=1.0, completed=view.done, width=24)
    grid.add_row(Text("tandem demo", style="bold"), Text(view.scene, style="cyan"), bar)
    return grid


def _reader(view: View) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_row("Records", Text(f"{view.fed:,} fed, {view.published:,} published", style="bold"))
    grid.add_row("Latency", Text(f"{_recent(view)} in the last 10 s", style="bold"))
    grid.add_row("", Text(spark(per_second(view.recent, view.now_ms)), style="green"))
    grid.add_row(
        "", Text("the slowest record of each second, one minute; from creation to a committed reader", style="dim")
    )
    return grid


def _recent(view: View) -> str:
    last = view.recent.between(view.now_ms - RECENT_MS, math.inf)
    if not len(last):
        return "unknown"
    return f"p50 {last.quantile(0.5):,.0f} ms, p99 {last.quantile(0.99):,.0f} ms"


LINE_EVERY_S = 5.0


class Show:
    """Use it around the whole demo: what is on the screen goes away or stays as it should, whatever happens."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._display: AbstractContextManager[object] | None = None
        self._shown_at = 0.0
        self._events_to = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def waiting(self, what: str) -> None:
        """Say what is being waited for."""
        if not self._out.is_terminal:
            self._out.print(f"waiting for {what}")
        elif isinstance(self._display, Status):
            self._display.update(f"Waiting for {what} …")
        else:
            self._enter(self._out.status(f"Waiting for {what} …"))

    def update(self, view: View) -> None:
        """Show a moment; elsewhere than on a terminal only when it is time for another line."""
        if self._out.is_terminal:
            if not isinstance(self._display, Live):
                self._enter(Live(console=self._out, auto_refresh=False))
            assert isinstance(self._display, Live)  # noqa: S101
            self._display.update(screen(view), refresh=True)
            return
        for event in view.events:
            if event.at > self._events_to:
                self._out.print(event_line(event))
                self._events_to = event.at
        if time.monotonic() - self._shown_at >= LINE_EVERY_S:
            self._shown_at = time.monotonic()
            self._out.print(line(view))

    def _enter(self, display: AbstractContextManager[object]) -> None:
        self._leave()
        self._display = display
        display.__enter__()

    def _leave(self) -> None:
        display, self._display = self._display, None
        if display is not None:
            display.__exit__(None, None, None)
