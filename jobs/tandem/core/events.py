"""What a core is given: one event per step."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.protocol.values import Proposal


@dataclass(frozen=True, slots=True)
class LogRecord:
    """The next record of the ordering log, at `offset`; `timestamp_ms`: the broker's (Unix, ms)."""

    offset: int
    proposal: Proposal
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. Sent again and again; `has_read_all`: as far as known nothing is left to read in the logs."""

    has_read_all: bool = True
