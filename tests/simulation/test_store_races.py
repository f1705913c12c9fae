"""Whichever process pauses, between any two calls: no snapshot is robbed of what it needs."""

from collections import Counter
from collections.abc import Iterable

import pytest

from simulation.guards import Guard
from simulation.guards_of_store import GUARDS_OF_STORE
from simulation.invariants import InvariantError
from simulation.store_races import race
from tandem.snapshots import SnapshotStore

RACES = 120
MOST = 1_000  # far more than any guard needs
SITUATIONS = (
    "snapshot saved",
    "gave up",
    "restored from a snapshot",
    "retired",
    "garbage removed",
    "garbage collection raced a reader",
    "store was away",
)


def first_violation(seeds: Iterable[int], store: type[SnapshotStore]) -> tuple[int, str] | None:
    """The first seed under which an invariant is broken, and which."""
    for seed in seeds:
        try:
            race(seed, store)
        except InvariantError as violation:
            return seed, str(violation)
    return None


def test_no_race_robs_a_snapshot() -> None:
    seen: Counter[str] = Counter()
    for seed in range(RACES):
        seen.update(race(seed).seen)
    assert not [situation for situation in SITUATIONS if not seen[situation]]


@pytest.mark.parametrize("guard", GUARDS_OF_STORE, ids=lambda guard: guard.name)
def test_removing_a_guard_of_the_store_is_found(guard: Guard) -> None:
    with guard.removed() as deviation:
        found = first_violation(range(guard.near, guard.near + MOST), deviation.store)
    assert found is not None, f"{MOST} races do not miss: {guard.name}"
    print(f"{guard.name}: missed under seed {found[0]}: {found[1]}")
    assert first_violation(found[:1], SnapshotStore) is None
