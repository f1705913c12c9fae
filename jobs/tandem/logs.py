"""Structured logs: one JSON object a line on standard error, or coloured text on a terminal."""

import logging
import sys
from contextlib import AbstractContextManager
from typing import Any, TextIO, cast

import structlog


def configure(level: str = "INFO", **context: Any) -> None:
    """Set up logging for this process; `context` (job, replica, …) is on every line."""
    renderer: Any = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _StandardError())),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.clear_contextvars()
    _context.clear()
    _context.update(context)


class _StandardError:
    """Standard error as it is when a line is written: code that replaces it for a while may close what it puts there."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


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
