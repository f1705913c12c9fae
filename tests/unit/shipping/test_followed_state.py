"""A followed state equals the checkpoint that it follows, and is complete at any time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.checkpoint.folders import find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.shipping import DeltaError, DeltaFile, DeltaGapError
from tandem.snapshots.local import pin
from unit.shipping.builders import (
    STORES,
    checkpoint_with,
    contents,
    delta_of,
    empty_archive,
    state_at,
    with_watermarks,
)


def test_deltas_bring_a_base_to_where_the_checkpoint_is(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(30))
    state = state_at(active, 10, tmp_path / "state")
    for epoch in range(11, 30):
        state.apply(delta_of(active, epoch))
    pin(active, 29, tmp_path / "expected")
    assert contents(state.folder) == contents(tmp_path / "expected")
    assert state.position == EnginePosition(29, 290)
    assert state.chain == 30


def test_a_followed_state_knows_the_watermarks_of_its_epoch(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(30))
    for epoch in range(30):
        with_watermarks(active, epoch)
    state = state_at(active, 10, tmp_path / "state")
    for epoch in range(11, 30):
        state.apply(delta_of(active, epoch))
    newer = state_at(active, 15, tmp_path / "newer")
    newer.carry_over(state)
    for folder in (state.folder, newer.folder):
        assert (folder / "watermarks/29").read_text() == "known after 29"
    pin(active, 29, tmp_path / "expected")
    assert contents(state.folder) == contents(tmp_path / "expected")


def test_its_size_is_that_of_its_files(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(12))
    state = state_at(active, 10, tmp_path / "state")
    assert state.size == sum(map(len, contents(state.folder).values()))
    delta = delta_of(active, 11)
    before = state.size
    state.apply(delta)
    assert state.size - before == sum(len(file.content) for file in delta.files)


def test_an_epoch_that_is_left_out_is_a_gap_and_changes_nothing(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(9))
    state = state_at(active, 5, tmp_path / "state")
    before = contents(state.folder)
    for wrong in (delta_of(active, 7), delta_of(active, 5), replace(delta_of(active, 6), left_out="large", files=())):
        with pytest.raises(DeltaGapError):
            state.apply(wrong)
    assert contents(state.folder) == before
    assert state.position.epoch == 5


def test_a_delta_without_a_store_of_the_base_is_a_gap(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(6))
    state = state_at(active, 5, tmp_path / "state")
    fewer = checkpoint_with(tmp_path / "other", range(7), stores=STORES[:1])
    with pytest.raises(DeltaGapError, match="state/0/1"):
        state.apply(delta_of(fewer, 6))


def test_offsets_that_are_not_ours_are_refused(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(7))
    state = state_at(active, 5, tmp_path / "state")
    delta = delta_of(active, 6)
    files = tuple(DeltaFile(f.path, b"v1\n{}" if f.path == "offsets/6" else f.content) for f in delta.files)
    with pytest.raises(DeltaError, match="offsets"):
        state.apply(replace(delta, files=files))


def test_a_crash_in_the_middle_of_an_epoch_leaves_the_epoch_before(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(7))
    state = state_at(active, 5, tmp_path / "state")
    delta = delta_of(active, 6)
    (state.folder / "state/0/0/.7.changelog.tmp").mkdir()
    with pytest.raises(OSError, match="changelog"):
        state.apply(replace(delta, files=delta.files[::-1]))
    found = find_newest([state.folder], 100)
    assert found is not None
    assert found.position == state.position == EnginePosition(5, 50)


def test_a_newer_base_keeps_the_epochs_that_were_followed_after_it(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(40))
    for store in STORES:
        (active / store / "20.zip").write_bytes(empty_archive())
    earlier = state_at(active, 10, tmp_path / "earlier")
    for epoch in range(11, 40):
        earlier.apply(delta_of(active, epoch))
    state = state_at(active, 25, tmp_path / "state")
    state.carry_over(earlier)
    assert state.position == EnginePosition(39, 390)
    assert state.chain == 20, "changes 21 … 40"
    state_files = {path for path in contents(state.folder) if path.startswith("state/0/0")}
    assert state_files == {"state/0/0/20.zip", *(f"state/0/0/{version}.changelog" for version in range(21, 41))}


def test_nothing_is_carried_over_a_gap(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(40))
    earlier = state_at(active, 30, tmp_path / "earlier")
    (earlier.folder / "state/0/0/28.changelog").unlink()
    state = state_at(active, 20, tmp_path / "state")
    before = contents(state.folder)
    state.carry_over(earlier)
    assert contents(state.folder) == before
    assert state.position.epoch == 20


def test_old_logs_are_pruned(tmp_path: Path) -> None:
    active = checkpoint_with(tmp_path / "active", range(40))
    state = state_at(active, 10, tmp_path / "state")
    for epoch in range(11, 40):
        state.apply(delta_of(active, epoch))
    assert {path for path in contents(state.folder) if path.startswith("commits")} == {
        f"commits/{e}" for e in (37, 38, 39)
    }
