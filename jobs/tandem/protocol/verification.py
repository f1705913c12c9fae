"""When a standby proves its state, and how long. Pure; a proof costs as much as many epochs, so it must earn its place."""

import math
from dataclasses import dataclass

_LEAST_EPOCH_MS = 0.01
"""No engine computes an epoch in less."""


@dataclass(slots=True)
class VerificationPace:
    """A proof is due when the actives have worked `1 / share` times as long as the last one took, and the first at once.

    So proofs use about that share of an active's computing time, whatever the load and the size of the state. There are
    `least_epochs` between two.

    While the state is not proved (no proof had a verdict yet, or the last one found it wrong) the next is due sooner:
    `least_epochs` after the first such proof, and `later` times as many after each further one, up to the wait above. So
    these few, whose number grows with the logarithm of that wait, are all that is beyond the share.

    A proof is `short` epochs long; `long` ones, and due at once, if it is the first or if the state is `grown` times what
    it was in the last long one. It also warms the JVM: to load a large state cold takes several times as long, and who was
    warm with an empty state is cold with a full one. States of less than `least_bytes` are all alike.
    """

    share: float = 0.04
    least_epochs: int = 20
    long: int = 20
    short: int = 3
    grown: float = 4.0
    least_bytes: int = 1_000_000
    later: int = 4
    _due_epoch: float = -1.0
    _warm_bytes: float = 0.0  # what the JVM is warm for
    _is_proved: bool = False
    _in_vain: int = 0  # proofs since the state was proved, or since the first

    def ended(self, epoch: int, cost_ms: float, epoch_ms: float, right: bool | None) -> None:
        """A proof has ended, however, when `epoch` was the last published one.

        It took `cost_ms`; once it had begun, an epoch of it took `epoch_ms`, and so does an active's. `right`: whether the
        state was; None: it gave no verdict.
        """
        wait = max(self.least_epochs, math.ceil(cost_ms / (self.share * max(epoch_ms, _LEAST_EPOCH_MS))))
        self._is_proved = self._is_proved if right is None else right
        if self._is_proved:
            self._in_vain = 0
        else:
            wait = min(wait, self.least_epochs * self.later**self._in_vain)
            self._in_vain += 1
        self._due_epoch = epoch + wait

    def is_due(self, epoch: int, size: int) -> bool:
        """Whether to begin the next proof, of `size` bytes of state, when `epoch` is the last published one."""
        return epoch >= self._due_epoch or self._has_grown(size)

    def begin(self, size: int) -> int:
        """A proof of `size` bytes of state begins: how many epochs it computes at most."""
        if not self._has_grown(size):
            return self.short
        self._warm_bytes = max(size, self.least_bytes)
        return self.long

    def _has_grown(self, size: int) -> bool:
        return size >= self.grown * self._warm_bytes
