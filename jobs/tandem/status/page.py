"""One screen about a job, of `tandem run`, `tandem status` and `kubectl tandem status` alike: is it safe, what is wrong?"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final, Literal

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

PIPE_WIDTH: Final = 160
"""Columns in a file or a pipe, where nobody knows how wide it will be shown."""
NONE: Final = "–"
_STYLES: Final = {"safe": "bold green", "unsafe": "bold red", "unknown": "bold yellow"}
_LABEL: Final = 10  # columns
_ASCII: Final = str.maketrans("–→·…▁▂▃▄▅▆▇█", "->|~_.-:=+*#")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a failure of any one replica would be masked now, in words."""

    state: Literal["safe", "unsafe", "unknown"]
    words: str


@dataclass(frozen=True)
class Page:
    """What is shown. `about`: engine, mode, delivery; `attention`: what somebody should see to; `facts`: label, text."""

    job: str
    about: tuple[str, ...]
    verdict: Verdict
    table: RenderableType
    attention: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        folds = console.is_terminal  # in a pipe a text stays one line, for grep

        def text(words: str, style: str = "") -> Text:
            return Text(words, style=style, no_wrap=not folds, overflow="fold" if folds else "ignore")

        title = text(self.job, "bold")
        title.append(f"  {' · '.join(filter(None, self.about))}", style="not bold dim")
        yield title
        yield text(self.verdict.words, _STYLES[self.verdict.state])
        for words in self.attention:
            yield text(f"! {words}", "bold red")
        yield Text()
        yield self.table
        yield Text()
        for label, words in self.facts:
            yield text(f"{label:<{_LABEL}} {words}")


def bare_table() -> Table:
    """A table without lines at its edges, as narrow as can be."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)


class _Ascii:
    """What is inside, for a terminal that knows no other letters."""

    def __init__(self, inside: RenderableType) -> None:
        self._inside = inside

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inside, options):
            text = segment.text.translate(_ASCII).encode("ascii", "replace").decode()
            yield Segment(text, segment.style, segment.control)


def fit(out: Console, shown: RenderableType) -> RenderableType:
    """As the stream can take it: letters of ASCII, if it is not UTF-8."""
    return shown if out.encoding.lower().startswith("utf") else _Ascii(shown)


def console() -> Console:
    """Of the standard output; words are shown as they are."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False, emoji=False)


def show(out: Console, shown: RenderableType) -> None:
    """Print it."""
    out.print(fit(out, shown), soft_wrap=not out.is_terminal)


def duration(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h`, `4 d`: rounded down."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


def failover_words(ago_s: float, before: str, after: str, gap_ms: int | None) -> str:
    """Who took over from whom, and how long the output was silent."""
    gap = "" if gap_ms is None else f", a gap of {gap_ms:,} ms"
    return f"{duration(ago_s)} ago: {before} → {after}{gap}"
