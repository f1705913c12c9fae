"""Where an engine, a checkpoint or a snapshot stands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnginePosition:
    """Where an engine goes on: after `epoch` (−1: at the beginning), whose cut is at `log_offset` of the ordering topic."""

    epoch: int = -1
    log_offset: int = 0
