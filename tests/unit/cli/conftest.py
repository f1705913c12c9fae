"""A store that can be away, and a job with lanes whose snapshots are in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from unit.cli.kept_lanes import lanes
from unit.snapshots.snapshot_builders import Faults

__all__ = ["faults", "lanes"]


@pytest.fixture
def faults() -> Iterator[type[Faults]]:
    """Lets the stores `faulty://` fail until the end of the test."""
    yield Faults
    Faults.heal()
