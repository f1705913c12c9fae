"""Which base a follower begins with, and which one shortens the chain of changes that it has followed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tandem.shipping import FirstOf, LocalBases, Wanted
from unit.shipping.builders import STORES, FolderBases, checkpoint_with, empty_archive

EPOCH, FULL_COPY = 40, 36
CHAIN = EPOCH + 1 - FULL_COPY


@pytest.fixture
def predecessor(tmp_path: Path) -> Path:
    """A checkpoint at epoch 40 that nobody computes in any more; its last full copy is four epochs older."""
    folder = checkpoint_with(tmp_path / "predecessor", range(EPOCH + 1))
    for store in STORES:
        (folder / store / f"{FULL_COPY}.changelog").unlink()
        (folder / store / f"{FULL_COPY}.zip").write_bytes(empty_archive())
    return folder


def wanted(at: int, shorter_than: float) -> Wanted:
    return Wanted(-1, 1_000, at=at, shorter_than=shorter_than)


def test_a_first_base_may_be_as_long_as_it_is(tmp_path: Path, predecessor: Path) -> None:
    state = LocalBases(lambda: [predecessor]).newest(wanted(-1, math.inf), tmp_path / "state")
    assert state is not None
    assert (state.position.epoch, state.chain) == (EPOCH, CHAIN)


@pytest.mark.parametrize("at", [EPOCH, EPOCH + 10])
def test_a_base_is_as_long_as_it_will_be_where_the_follower_stands(tmp_path: Path, predecessor: Path, at: int) -> None:
    bases, length = LocalBases(lambda: [predecessor]), CHAIN + at - EPOCH
    assert bases.newest(wanted(at, length), tmp_path / "state") is None
    assert not (tmp_path / "state").exists()
    assert bases.newest(wanted(at, length + 1), tmp_path / "state") is not None


def test_a_predecessor_s_checkpoint_does_not_hide_a_shorter_base_in_the_store(
    tmp_path: Path, predecessor: Path
) -> None:
    active = checkpoint_with(tmp_path / "active", range(200))
    stored = FolderBases()
    stored.offer(active, 190)
    both = FirstOf(LocalBases(lambda: [predecessor]), stored)
    state = both.newest(wanted(at=195, shorter_than=100), tmp_path / "state")
    assert state is not None
    assert state.position.epoch == 190
