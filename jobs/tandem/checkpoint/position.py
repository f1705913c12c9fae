"""Where an engine, a checkpoint or a snapshot stands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnginePosition:
    """Where an engine goes on: after `epoch` (−1: at the beginning), whose cut is at `log_offset` of the ordering topic."""

    epoch: int = -1
    log_offset: int = 0

    @property
    def text(self) -> str:
        """As Spark has it in a checkpoint: it takes another text, if only by a blank, for another position."""
        return f'{{"epoch":{self.epoch},"log":{self.log_offset}}}'
