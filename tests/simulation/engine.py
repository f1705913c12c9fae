"""A replica's engine: it computes epoch after epoch, each for a while, and asks the outside world where the job does."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simulation.barriers import Turnovers
from simulation.outputs import QUESTION
from tandem.core.events import Asked, Computed, Needs
from tandem.protocol.values import Answers, EpochRange

if TYPE_CHECKING:
    from simulation.replica import Replica

TICK_MS = 12.0
"""How soon a replica looks again at what it waits for."""
_CALL_MS = (1.0, 8.0)  # how long the outside world takes


class Engine:
    """One incarnation's. What an epoch makes of the state, and what becomes of that, is up to the replica."""

    def __init__(self, replica: Replica, compute_ms: float) -> None:
        self._replica, self._world = replica, replica.world
        self._compute_ms = compute_ms
        self._turnovers = Turnovers(replica)
        self._handed: deque[EpochRange] = deque()
        self._computing = False

    def hand(self, what: EpochRange) -> None:
        """The core wants an epoch computed, after those before."""
        self._handed.append(what)

    def go_on(self) -> None:
        """Compute the next epoch, if there is one and nothing else is computed."""
        replica = self._replica
        if self._computing or not self._handed or not replica.alive:
            return
        self._computing = True
        if self._world.schedule.asks:
            replica.post(Needs(self._handed[0].epoch, (QUESTION,), replica.has_read_all))
            replica.tick_after(TICK_MS)
        else:
            self.begin(())

    def ask(self, epoch: int) -> None:
        """The outside world, which never answers the same twice, or not at all."""
        rng = self._world.rng
        self._world.reached("asked", self._replica)
        answers = (str(rng.getrandbits(32)), None, str(rng.getrandbits(32)))  # two parts
        self._world.checker.on_told(epoch, answers)
        asked = Asked(epoch, QUESTION, answers)
        self._world.timeline.after(rng.uniform(*_CALL_MS), self._replica, self._asked, asked)

    def _asked(self, answered: Asked) -> None:
        if self._handed and self._handed[0].epoch == answered.epoch:
            self._replica.post(answered)
        else:
            self._world.reached("the log answered while the outside world was asked")

    def begin(self, answers: Answers) -> None:
        """With the next epoch: all that it asks is answered."""
        what = self._handed.popleft()
        duration = self._compute_ms * self._world.rng.uniform(0.6, 1.6)
        self._world.timeline.after(duration, self._replica, self._computed, what, answers)

    def _computed(self, what: EpochRange, answers: Answers) -> None:
        replica = self._replica
        replica.state, rows = replica.compute(what, answers)
        replica.epoch = what.epoch
        digest = f"{replica.state:x}"
        self._computing = self._turnovers.computed(what)
        replica.rows[what.epoch] = digest, rows
        replica.post(Computed(what.epoch, digest))
        if what.epoch < replica.publication.head:
            replica.rows.pop(what.epoch, None)
        self._world.reached("computed", replica)
        replica.think()

    def is_free(self) -> None:
        """It can compute the next epoch: it has turned over."""
        self._computing = False
        self._replica.think()
