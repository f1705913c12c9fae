"""Random numbers of an event, from its number alone: SplitMix64, seeded with it. Pure, and the same on every machine.

Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Bits: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]

_GAMMA: Final = 0x9E3779B97F4A7C15
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
_WORD: Final = 2**64
_HALF: Final = np.uint64(32)


class Draws:
    """The draws of some events: the first of each, the second of each, …

    `numbers` : of the events, from 0 on. `seed` : another one gives other events.
    """

    def __init__(self, numbers: Numbers, seed: int = 0) -> None:
        self._seeds = _mixed(numbers.astype(np.uint64) + np.uint64(seed * _GAMMA % _WORD))
        self._taken = 0

    def bits(self) -> Bits:
        """64 random bits of each event; the next ones with each call."""
        self._taken += 1
        return _mixed(self._seeds + np.uint64(self._taken * _GAMMA % _WORD))

    def below(self, bound: int | Numbers) -> Numbers:
        """A number from 0 to `bound` - 1 of each event. `bound`: 1 to 2**31, for all events or of each."""
        wide = np.asarray(bound, np.uint64)
        return ((self.bits() >> _HALF) * wide >> _HALF).astype(np.int64)


def _mixed(bits: Bits) -> Bits:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))
