"""When the next snapshot is due. Pure; times are wall clock, ms."""

from dataclasses import dataclass, field
from typing import Final

from tandem.snapshots.garbage import Retention

_INTERVALS_OF_OTHERS: Final = 3
"""So old is the newest snapshot before a replica takes one that does not publish."""


@dataclass(frozen=True, slots=True)
class SnapshotterSettings:
    """How often any replica takes a snapshot, how many are kept, and how often garbage is looked for."""

    interval_ms: int = 5_000
    retention: Retention = field(default_factory=Retention)
    collect_every_ms: int = 60_000

    @property
    def most_ms(self) -> int:
        """How far away the next snapshot may be."""
        return _INTERVALS_OF_OTHERS * self.interval_ms

    def apart_ms(self, published_ms: int | None, now_ms: int) -> int:
        """How old the newest snapshot is when a replica takes the next, which has published last at `published_ms`.

        One that does not publish steps in where nobody else takes any: the files of its state are others, and none of them
        is in the store.
        """
        publishes = published_ms is not None and now_ms - published_ms <= 2 * self.interval_ms
        return self.interval_ms if publishes else self.most_ms


def left_ms(due_ms: int, now_ms: int, most_ms: int) -> int:
    """How long it is until `due_ms`, which was `most_ms` away at most: if it is more now, the clock was set back."""
    left = due_ms - now_ms
    return left if 0 < left <= most_ms else 0
