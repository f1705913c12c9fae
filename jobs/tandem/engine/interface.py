"""What Tandem asks of an engine. Nothing here assumes that epochs are micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

OnEpoch = Callable[[int, pa.Table], None]
"""Called with each epoch, in order without gaps, and its output rows (see `engine.output` for the columns)."""


@dataclass(frozen=True, slots=True)
class EnginePosition:
    """Where an engine goes on: after `epoch` (−1: at the beginning), whose cut is at `log_offset` of the ordering topic."""

    epoch: int = -1
    log_offset: int = 0


OnFailure = Callable[[BaseException], None]
"""Called, by any thread, with what ended the computing."""


class JobError(Exception):
    """The user's job cannot run, or raised. Restarting would not help."""


class StoppedError(Exception):
    """This part of the replica was stopped, by whoever knows why."""
