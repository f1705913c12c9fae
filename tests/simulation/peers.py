"""Connections between replicas, as the product's `Slots` sees them: closed when a process ends, now and then for nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tandem.coordination.beacon import Address

if TYPE_CHECKING:
    from simulation.standby import StandbyReplica
    from simulation.world import World

_WRONG = 0.02
"""Share of the connections that break although the process lives, and cannot be made again."""
_BREAKS_AFTER_MS = 150.0


class SimulatedPeers:
    """In the place of `tandem.coordination.peers.Peers`."""

    address = Address("simulated", 0)

    def __init__(self, replica: StandbyReplica) -> None:
        self._replica = replica
        self._watched: set[str] = set()
        self._ended: set[str] = set()
        self._changed: Callable[[], None] = lambda: None

    def start(self, changed: Callable[[], None]) -> None:
        """See `tandem.coordination.peers`, as for all that follows."""
        self._changed = changed

    def stop(self) -> None:
        self.watch({})

    def watch(self, addresses: Mapping[str, Address]) -> None:
        world = self._replica.world
        for name in sorted(addresses.keys() - self._watched):
            if world.rng.random() < _WRONG:
                world.timeline.after(_BREAKS_AFTER_MS, self._replica, self.has_ended, name)
        self._watched = set(addresses)
        self._ended &= self._watched

    @property
    def ended(self) -> frozenset[str]:
        return frozenset(self._ended)

    def has_ended(self, name: str) -> None:
        """A connection was closed, and cannot be made again."""
        if name in self._watched and name not in self._ended:
            self._ended.add(name)
            self._changed()


def tell_of_end(world: World, incarnation: str) -> None:
    """The kernel closes the connections of a process that ends."""
    for process in world.processes:
        peers: SimulatedPeers | None = getattr(process, "peers", None)
        if peers is not None and process.alive:
            world.timeline.after(world.delay(), process, peers.has_ended, incarnation)
