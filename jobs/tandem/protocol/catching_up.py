"""How long a replica that is behind will take to the log's head. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a replica stood at `at_ms` (any monotonic clock): the last epoch that it computed, and the last that was cut."""

    at_ms: float
    computed: int
    head: int

    @property
    def behind(self) -> int:
        """Epochs between the two; the engine may have read a cut first."""
        return max(0, self.head - self.computed)


@dataclass(frozen=True, slots=True)
class Estimate:
    """`behind` in epochs, `epochs_per_s` that the replica computes; `left_s` None: it comes no nearer, or who knows."""

    behind: int
    epochs_per_s: float = 0.0
    left_s: float | None = None


def estimate(before: Standing, now: Standing) -> Estimate:
    """The head moves on meanwhile: what counts is by how much the replica is faster.

    Examples
    --------
    >>> estimate(Standing(0, 100, 300), Standing(2_000, 200, 320))
    Estimate(behind=120, epochs_per_s=50.0, left_s=3.0)
    """
    elapsed_s = (now.at_ms - before.at_ms) / 1000
    if now.behind == 0:
        return Estimate(0, left_s=0.0)
    if elapsed_s <= 0:
        return Estimate(now.behind)
    speed = (now.computed - before.computed) / elapsed_s
    nearing = speed - (now.head - before.head) / elapsed_s
    return Estimate(now.behind, speed, now.behind / nearing if nearing > 0 else None)
