"""State that is shipped barrier to barrier: also of replicas that turn over at different epochs, and number them apart."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.shipping import DeltaError, DeltaGapError
from tandem.shipping.files import next_batch, renumbered
from tandem.shipping.state import FollowedState
from tandem.shipping.values import DeltaFile
from tandem.snapshots.local import pin
from unit.shipping.batches import LAST, commit, delta_of, read, replica, state_at
from unit.shipping.builders import contents


def followed(checkpoint: Path, epoch: int, folder: Path) -> FollowedState:
    return FollowedState(pin(checkpoint, epoch, folder))


def test_a_state_is_followed_from_barrier_to_barrier(tmp_path: Path) -> None:
    active = replica(tmp_path / "active", 10, 20, 33, 47)
    state = followed(active, 15, tmp_path / "state")
    assert (state.position.epoch, state.batch) == (10, 0)
    for number in (1, 2, 3):
        state.apply(delta_of(active, number))
        assert read(state.folder) == state_at(state.position.epoch)
    assert (state.position.epoch, state.position.log_offset, state.batch, state.epochs_a_batch) == (47, 470, 3, 14)
    assert state.chain == 4
    pin(active, 47, tmp_path / "expected")
    assert contents(state.folder) == contents(tmp_path / "expected")


def test_a_delta_that_begins_earlier_than_the_state_brings_it_to_its_end(tmp_path: Path) -> None:
    one, other = replica(tmp_path / "a", 10, 20), replica(tmp_path / "b", 5, 15, 25)
    state = followed(one, 20, tmp_path / "state")
    state.apply(delta_of(other, 2, "b"))
    assert (state.position.epoch, state.batch) == (25, 2)
    assert read(state.folder) == state_at(25)
    assert (state.folder / "watermarks/2").read_text() == "known after 25"


def test_a_delta_that_begins_later_than_the_state_is_a_gap(tmp_path: Path) -> None:
    one, other = replica(tmp_path / "a", 10, 20), replica(tmp_path / "b", 5, 15, 25)
    state = followed(one, 10, tmp_path / "state")
    before = contents(state.folder)
    for wrong in (delta_of(other, 2), delta_of(other, 0), delta_of(one, 0)):
        with pytest.raises(DeltaGapError, match="does not follow epoch 10"):
            state.apply(wrong)
    assert contents(state.folder) == before


def test_a_delta_whose_files_are_of_another_batch_or_epoch_is_refused(tmp_path: Path) -> None:
    active = replica(tmp_path / "active", 10, 20)
    state = followed(active, 10, tmp_path / "state")
    delta = delta_of(active, 1)
    with pytest.raises(DeltaGapError, match="no file of batch 2"):
        state.apply(replace(delta, batch=(2, 10)))
    with pytest.raises(DeltaError, match="its entry in offsets says 20"):
        state.apply(replace(delta, epoch=21))
    assert (state.position.epoch, state.batch) == (10, 0)


def test_a_newer_base_of_another_replica_takes_over_what_was_followed(tmp_path: Path) -> None:
    one, other = replica(tmp_path / "a", 10, 20, 30, 40), replica(tmp_path / "b", 3, 6, 15, 25)
    earlier = followed(one, 10, tmp_path / "earlier")
    for number in (1, 2, 3):
        earlier.apply(delta_of(one, number))
    state = followed(other, 25, tmp_path / "state")
    state.carry_over(earlier)
    assert (state.position.epoch, state.batch) == (40, 5)
    assert read(state.folder) == state_at(40)
    state.apply(delta_of(replica(tmp_path / "c", 50), 0))
    assert read(state.folder) == state_at(50)


def test_nothing_is_carried_over_of_batches_that_were_not_followed(tmp_path: Path) -> None:
    one, other = replica(tmp_path / "a", 10, 20, 30, 40), replica(tmp_path / "b", 3, 6, 15)
    earlier = followed(one, 40, tmp_path / "earlier")
    state = followed(other, 15, tmp_path / "state")
    state.carry_over(earlier)
    assert (state.position.epoch, state.batch) == (15, 2)


barriers = st.lists(st.integers(0, LAST), min_size=1, max_size=6, unique=True).map(sorted)


@settings(deadline=None, max_examples=25)
@given(st.lists(barriers, min_size=2, max_size=3), st.data())
def test_whoever_ships_what_in_whatever_order_a_followed_state_is_that_of_its_epoch(
    replicas: list[list[int]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = [replica(Path(folder) / f"r{i}", *epochs) for i, epochs in enumerate(replicas)]
        base = data.draw(st.sampled_from(checkpoints))
        state = FollowedState(
            pin(
                base,
                LAST if data.draw(st.booleans()) else min(replicas[checkpoints.index(base)]),
                Path(folder) / "state",
            )
        )
        deltas = [delta_of(c, n) for c, epochs in zip(checkpoints, replicas, strict=True) for n in range(len(epochs))]
        for delta in data.draw(st.permutations(deltas)):
            before = state.position.epoch
            try:
                state.apply(delta)
            except DeltaGapError:
                assert state.position.epoch == before
            else:
                assert state.position.epoch == delta.epoch > before
            assert read(state.folder) == state_at(state.position.epoch)


# What is shipped next ----------------------------------------------------------------------------------------------------


def shipped(checkpoint: Path, state: int, published: int, guess: int = 0) -> int | None:
    batch = next_batch(checkpoint, state, published, guess)
    return None if batch is None else batch.number


def test_the_batch_that_continues_what_was_shipped_is_shipped_next(tmp_path: Path) -> None:
    active = replica(tmp_path, 10, 20, 33, 47)
    assert [shipped(active, at, 100) for at in (-1, 10, 20, 33, 47)] == [0, 1, 2, 3, None]
    assert shipped(active, 15, 100) == 1, "another replica's barrier lies within it"
    assert shipped(active, 10, 19) is None, "its barrier is not published"
    assert shipped(active, 20, 100, guess=2) == 2
    assert shipped(active, 20, 100, guess=9) == 2, "a wrong guess costs a look"


def test_where_the_checkpoint_begins_later_the_newest_batch_is_shipped(tmp_path: Path) -> None:
    for batch, (after, epoch) in enumerate([(20, 30), (30, 40), (40, 50)], 7):
        commit(tmp_path, batch, after, epoch)
    assert shipped(tmp_path, 5, 100) == 9
    assert shipped(tmp_path, 5, 45) == 8


def test_micro_batches_are_shipped_one_by_one_as_ever(tmp_path: Path) -> None:
    for epoch in range(5, 9):
        commit(tmp_path, epoch, epoch - 1, epoch)
    assert [shipped(tmp_path, at, 7, at + 1) for at in range(4, 9)] == [5, 6, 7, None, None]


def test_a_file_is_called_by_the_number_that_is_wanted() -> None:
    paths = ("offsets/3", "commits/3", "watermarks/3", "state/0/1/4.changelog", "state/0/1/4.delta")
    names = [renumbered(DeltaFile(path, b"x"), 3, 12).path for path in paths]
    assert names == ["offsets/12", "commits/12", "watermarks/12", "state/0/1/13.changelog", "state/0/1/13.delta"]
