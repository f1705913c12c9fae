"""Times in a status: RFC 3339, UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def written(ms: int) -> str:
    """`2026-11-21T21:00:00Z` for ms since 1970."""
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_ms(time: str | None) -> int:
    """The reverse; 0 for what is no time."""
    try:
        return int(datetime.fromisoformat(time or "").timestamp() * 1000)
    except ValueError:
        return 0
