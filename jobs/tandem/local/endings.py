"""Why a process ended, in its own words: the last `refused`, `failed` or `superseded` line of its log."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

_MOST_BYTES = 1_000_000
_TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class LogStory:
    """What the log of one run of a process tells: its reason to end, the kind of error, whether it came up at all."""

    reason: str = ""
    error: str = ""
    came_up: bool = False


def read_story(log_file: Path, start: int) -> LogStory:
    """The story of the run whose output begins at byte `start` of `log_file`.

    A process that ended before it could log (a manifest that cannot be read) is quoted: its last lines are the reason.
    """
    text = _text(log_file, start)
    reason, error, came_up = "", "", False
    plain: list[str] = []
    for line in text.splitlines():
        entry = _entry(line)
        if entry is None:
            plain.append(line)
            continue
        event = entry.get("event")
        came_up = came_up or event in ("started", "standing_by")
        if event in ("refused", "failed", "superseded"):
            reason, error = str(entry.get("reason", "")), str(entry.get("kind", ""))
    return LogStory(reason or "\n".join(plain[-_TAIL_LINES:]).strip(), error, came_up)


def has_come_up(log_file: Path, start: int) -> bool:
    """Whether the run whose output begins at byte `start` has logged that it started."""
    return read_story(log_file, start).came_up


def _text(log_file: Path, start: int) -> str:
    """The run's output; of a very long one the first part, for `started`, and the last."""
    try:
        with log_file.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(start)
            if size - start <= 2 * _MOST_BYTES:
                return file.read().decode(errors="replace")
            head = file.read(_MOST_BYTES)
            file.seek(size - _MOST_BYTES)
            return (head + b"\n" + file.read()).decode(errors="replace")
    except OSError:
        return ""


def _entry(line: str) -> dict[str, object] | None:
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
