"""Behind which epochs a query commits its state. Pure."""

from __future__ import annotations

from typing import Final

from tandem.protocol.values import EpochRange

EVERY: Final = 200
"""Epochs."""


def is_barrier(epoch: EpochRange) -> bool:
    """Whether a replica commits its state behind the epoch."""
    return epoch.epoch % EVERY == EVERY - 1
