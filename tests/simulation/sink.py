"""The topic that the lanes of a job write together, and what its readers may rely on, whatever the lanes do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from simulation.invariants import InvariantError
from simulation.kafka import Partition, Transaction
from simulation.outputs import OUTPUTS, Row
from tandem.protocol.publication_rules import Delivery

if TYPE_CHECKING:
    from simulation.site import Site
    from simulation.world import World

_CONTROL_MS = 110.0  # until a transaction that is over is over in a partition, at most


class SharedPartition(Partition):
    """Rows of several lanes, each with the lane that wrote it. An open transaction hides what comes after it."""

    def __init__(self, name: str, site: Site, on_visible: Any) -> None:
        super().__init__(name, on_visible)
        self._site = site
        self._committed_at: dict[Transaction, float] = {}  # of those that are still hidden

    def finish(self, transaction: Transaction, committed: bool) -> None:
        """Committed rows may stay hidden, behind a transaction of another lane: until that is over, and it times out."""
        super().finish(transaction, committed)
        now, hidden = self._site.timeline.now, {one for one, _ in self._hidden}
        if committed and transaction in hidden:
            self._committed_at[transaction] = now
            if self._hidden[0][0].world is not transaction.world:
                transaction.world.reached("an open transaction hid the rows of another lane")
        for one in [one for one in self._committed_at if one not in hidden]:
            most = one.world.schedule.transaction_timeout_ms + _CONTROL_MS
            waited = now - self._committed_at.pop(one)
            if waited > most:
                raise InvariantError(f"{self.name} hid what {one.tid} committed for {waited:.0f} ms", unsafe=False)


class LaneOutput:
    """A partition of the sink as one lane writes it."""

    def __init__(self, shared: SharedPartition, world: World) -> None:
        self._shared, self._world = shared, world

    def append(self, rows: Sequence[Row], transaction: Transaction | None) -> None:
        """See `Partition`, as for all that follows."""
        self._shared.append([(self._world, row) for row in rows], transaction)

    @property
    def end(self) -> int:
        return self._shared.end

    @property
    def stable_end(self) -> int:
        return self._shared.stable_end


class Sink:
    """Readers see the rows of all lanes: those of each record once, and those of a key in order.

    Records of one input partition whose rows go to the same output partition count as records of one key.
    """

    def __init__(self, site: Site) -> None:
        self.partitions = [SharedPartition(f"out/{i}", site, partial(self._on_visible, i)) for i in range(OUTPUTS)]
        self._last: dict[tuple[int, int], int] = {}
        self._seen: set[tuple[int, int]] = set()

    def _on_visible(self, output: int, written: tuple[World, Row]) -> None:
        world, row = written
        world.checker.on_visible_row(output, row)
        if world.schedule.delivery is not Delivery.EXACTLY_ONCE:
            return
        record, key = (row.partition, row.position), (output, row.partition)
        if record in self._seen:
            raise InvariantError(f"output {output}: {row} of {world.job} is of a record that was published before")
        if row.position <= self._last.get(key, -1):
            raise InvariantError(
                f"output {output}: {row} of {world.job} comes after record {self._last[key]} of its key"
            )
        self._seen.add(record)
        self._last[key] = row.position

    def at_the_end(self, worlds: Sequence[World]) -> None:
        """Everything has been published: of each record there is a row."""
        there = {(tp.partition, n) for world in worlds for tp, end in world.available.items() for n in range(end)}
        if worlds[0].schedule.delivery is Delivery.EXACTLY_ONCE and there != self._seen:
            raise InvariantError(f"the sink lacks rows of {sorted(there - self._seen)}")
