"""What Tandem asks of an engine. Nothing here assumes that epochs are micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

OnEpoch = Callable[[int, pa.Table], None]
"""Called with each epoch, in order without gaps, and its output rows (see `engine.output` for the columns)."""


@dataclass(frozen=True, slots=True)
class EnginePosition:
    """Where an engine goes on: after `epoch` (−1: at the beginning), whose cut is at `log_offset` of the ordering topic."""

    epoch: int = -1
    log_offset: int = 0


class JobError(Exception):
    """The user's job cannot run, or raised. Restarting would not help."""


class Engine(Protocol):
    """Computes epochs in the order of the log."""

    def start(self, after: EnginePosition, on_epoch: OnEpoch) -> None:
        """Begin with the epoch after `after`, which the engine's state was restored to."""

    def failure(self) -> BaseException | None:
        """Why it stopped by itself; None while it runs."""

    def stop(self) -> None:
        """Stop computing and release everything."""
