"""Structured logs: one JSON object a line on standard error, or coloured text on a terminal.

What libraries say through Python's logging becomes such lines, too. A warning or an error is written once in 30 s, with how
many like it were left out since: what is tried four times a second would fill the log of a day, and hide the rest of it.
"""

import logging
import re
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, Final

import structlog


def configure(level: str = "INFO", **context: Any) -> None:
    """Set up logging for this process; `context` (job, replica, …) is on every line."""
    renderer: Any = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            UnlessRepeated(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=lambda *_: _PRINTER,
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.clear_contextvars()
    _context.clear()
    _context.update(context)
    logging.lastResort = _LIBRARIES
    for name in _TALKATIVE:
        library = logging.getLogger(name)
        library.handlers, library.propagate = [_LIBRARIES], False


class _Printer:
    """Standard error as it is when a line is written: code that replaces it for a while may close what it puts there.

    A line that cannot be written, because the disk is full, is lost: nothing ends for it.

    A thread may write while it writes: what is collected meanwhile may log from its `__del__`. With structlog's own, whose
    lock is none of that kind, it would wait for itself.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def msg(self, message: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            sys.stderr.write(message + "\n")
            sys.stderr.flush()

    log = debug = info = warn = warning = error = critical = fatal = failure = exception = msg


_PRINTER: Final = _Printer()


_context: dict[str, Any] = {}


def get_logger(name: str) -> Any:
    """A logger whose lines carry the process's context, in every thread."""
    return _ContextLogger(name)


def bound(**context: Any) -> AbstractContextManager[None]:
    """While the block runs, the lines of this thread carry `context` too, unless they say otherwise themselves."""
    return structlog.contextvars.bound_contextvars(**context)


class _ContextLogger:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        return getattr(structlog.get_logger(self._name).bind(**_context), method)


_CHANGING: Final = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?= ?(?:ms|s|sec|seconds)\b)")


def _without_durations(text: str) -> str:
    """Nor addresses: a session's, an object's."""
    return _CHANGING.sub("", text)


def _compared(name: str, value: object) -> object:
    """A field without what is no news. A text without a space is a name, as `clicks-5s`, and has no duration."""
    if isinstance(value, int | float) and name.endswith(("_s", "_ms")):
        return None
    return _without_durations(value) if isinstance(value, str) and " " in value else value


@dataclass(slots=True)
class _Said:
    at_s: float
    since: int = 0


class Repeats:
    """Decides which lines pass: a text that has not passed for `every_s`. Pure.

    `most` : texts that are known apart; while there are more, all others count as one; with `forgets` the first of them is
    forgotten, so that all pass that differ. `same` : takes from a text what is no news.
    """

    def __init__(
        self, every_s: float = 30.0, most: int = 200, same: Callable[[str], str] = str, forgets: bool = False
    ) -> None:
        self._every_s, self._most, self._same, self._forgets = every_s, most, same, forgets
        self._said: dict[str, _Said] = {}

    def passes(self, who: str, text: str, now_s: float) -> int | None:
        """None: leave this line out; else how many like it, of `who`, were left out since one passed."""
        kind = self._known(f"{who} {self._same(text)}", now_s)
        said = self._said.get(kind)
        if said is not None and now_s - said.at_s < self._every_s:
            said.since += 1
            return None
        self._said[kind] = _Said(now_s)
        return 0 if said is None else said.since

    def _known(self, kind: str, now_s: float) -> str:
        if kind in self._said or len(self._said) < self._most:
            return kind
        self._said = {one: said for one, said in self._said.items() if now_s - said.at_s < self._every_s}
        if len(self._said) >= self._most and self._forgets:
            del self._said[next(iter(self._said))]
        return kind if len(self._said) < self._most else ""


_BOUNDED: Final = frozenset({"warning", "error", "critical"})


class UnlessRepeated:
    """A processor of structlog: leaves out a warning or an error of which all fields but the durations are known.

    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._repeats = Repeats(forgets=True)
        self._lock = threading.RLock()  # as in `_Printer`

    def __call__(self, _logger: object, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """The line, as structlog wants it. Raises `DropEvent` if it is to be left out."""
        if line["level"] in _BOUNDED:
            said = sorted((name, _compared(name, value)) for name, value in line.items() if name != "exc_info")
            with self._lock:
                repeated = self._repeats.passes("", repr(said), self._clock_s())
            if repeated is None:
                raise structlog.DropEvent
            if repeated:
                line["repeated"] = repeated
        return line


_TALKATIVE: Final = ("kazoo",)
"""Loggers that are bounded even where a job's code sets up logging for itself, as `logging.warning` does."""
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")
_STANDARD: Final = sysconfig.get_path("stdlib") + "/"


_PLAIN: Final = logging.lastResort


class LibraryLog(logging.Handler):
    """Takes what libraries log and nobody else handles, warnings and errors. What is no library's is written as it is.

    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._clock_s = clock_s
        self._repeats = Repeats(most=50, same=_without_durations)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or leave it out; a job's own lines are all written."""
        try:
            if not _is_of_library(record.pathname):
                if _PLAIN is not None:
                    _PLAIN.handle(record)
                return
            reason = record.getMessage()
            repeated = self._repeats.passes(record.name, reason, self._clock_s())
            if repeated is not None:
                more: dict[str, Any] = {"repeated": repeated} if repeated else {}
                if record.exc_info:
                    more["exc_info"] = record.exc_info
                _log.log(_known(record.levelno), "library", library=record.name, reason=reason, **more)
        except Exception:
            self.handleError(record)


def _is_of_library(path: str) -> bool:
    return any(folder in path for folder in _INSTALLED) or path.startswith(_STANDARD)


def _known(level: int) -> int:
    """The level below, of those that structlog knows."""
    return min(max(level // 10 * 10, logging.WARNING), logging.CRITICAL)


_log = get_logger(__name__)
_LIBRARIES: Final = LibraryLog()
