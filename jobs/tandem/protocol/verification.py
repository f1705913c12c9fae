"""When a standby proves its state. Pure; a proof costs as much as many epochs do, so it must earn its place."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class VerificationPace:
    """A proof is due when the actives have worked `1 / share` times as long as the last one took, and the first at once.

    So proofs use about that share of an active's computing time, whatever the load and the size of the state. There are
    `least_epochs` between two.
    """

    share: float = 0.04
    least_epochs: int = 20
    _due_epoch: float = -1.0

    def proved(self, epoch: int, cost_ms: float, epoch_ms: float) -> None:
        """A proof has ended, however, when `epoch` was the last published one.

        It took `cost_ms`; once it had begun, an epoch of it took `epoch_ms`, and so does an active's.
        """
        self._due_epoch = epoch + max(self.least_epochs, math.ceil(cost_ms / (self.share * max(epoch_ms, 1.0))))

    def is_due(self, epoch: int) -> bool:
        """Whether to begin the next proof, when `epoch` is the last published one."""
        return epoch >= self._due_epoch
