"""Where an engine ends its batches, and what follows from that for a replica's core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem.core.catch_up import REAL_TIME, Near
from tandem.core.giving import GivingSettings
from tandem.protocol.barriers import OwnBarriers

_AHEAD_RECORDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Batches:
    """What is known with the job's plan. The defaults are of the micro-batch engine: an epoch is a batch.

    Parameters
    ----------
    real_time : the engine takes one epoch after the other in a task that lasts, and ends a batch behind a barrier.
    stateful : the plan keeps state.
    watermark : it has a watermark, which moves where a batch ends.
    """

    real_time: bool = False
    stateful: bool = False
    watermark: bool = False

    @property
    def needs_common(self) -> bool:
        """Whether all replicas must turn over behind the same epochs: `Config.barriers`."""
        return self.real_time and self.stateful and self.watermark

    @property
    def near(self) -> Near:
        """How near to the log's head is near."""
        return REAL_TIME if self.real_time else Near()

    def giving(self, interval_ms: int, place: int, replicas: int) -> GivingSettings:
        """How epochs are given to the engine of the replica at `place` among so many; barriers are `interval_ms` apart."""
        if not self.real_time:
            return GivingSettings()
        has_own = self.stateful and not self.watermark
        own = OwnBarriers(interval_ms, place, max(1, replicas)) if has_own else None
        return GivingSettings(most_records=_AHEAD_RECORDS, barriers=own)

    def apart_ms(self, interval_ms: int) -> int:
        """How far apart the states are that the engine commits, of barriers that far apart; 0: one behind each epoch."""
        return interval_ms if self.real_time else 0
