"""Which state a replica starts from. Pure. Any is right whose epoch is published: what follows is computed again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Source(Enum):
    """Where a state may be."""

    FOLLOWED = "followed while it stood by"
    STORE = "in the snapshot store"
    MACHINE = "on this machine, or at the generation's beginning"


@dataclass(frozen=True, slots=True)
class Distances:
    """In epochs. State on this machine that is no farther behind than `far` is used without asking the store, which is slow.

    Followed state that is no farther behind than `near` is used at once: to compute so many again is quicker than linking.
    """

    far: int = 100
    near: int = 5


def sources(
    last_published: int, local: int, followed: int, has_store: bool, distances: Distances = Distances()
) -> tuple[Source, ...]:
    """Where to look, best first: the first that can be had is taken, `MACHINE` always can.

    Parameters
    ----------
    last_published : no state is taken that is after it.
    local, followed : the epochs of the newest usable state on this machine, and of the followed one; −1: there is none.

    >>> [source.name for source in sources(1_000, local=600, followed=990, has_store=True)]
    ['FOLLOWED', 'STORE', 'MACHINE']
    """
    is_usable = local < followed <= last_published
    is_near_store = not has_store or last_published - followed <= distances.far
    found = []
    if local - distances.near < followed <= last_published and is_near_store:
        found.append(Source.FOLLOWED)
    if has_store and (local < 0 or last_published - local > distances.far):
        found.append(Source.STORE)
    if is_usable and Source.FOLLOWED not in found:
        found.append(Source.FOLLOWED)
    return (*found, Source.MACHINE)
