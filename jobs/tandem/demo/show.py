"""Shows the demo: a live screen on a terminal, a line every few seconds elsewhere."""

import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.status import Status

from tandem.demo.screen import View, event_line, line, screen

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
