"""What a follower makes of markers, deltas and bases, in whatever order and shape they come."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tandem.kafka.client import KafkaConnection
from tandem.kafka.tail import Record
from tandem.protocol.codec import encode_marker
from tandem.protocol.values import Marker
from tandem.shipping import (
    Delta,
    FollowedState,
    Follower,
    FollowerSettings,
    StateIdentity,
    UnknownStateError,
    Wanted,
)
from tandem.shipping.looking import Spawn
from tandem.shipping.values import encode_delta
from tandem.snapshots.local import pin
from unit.shipping.builders import IDENTITY, FolderBases, checkpoint_with, contents, delta_of, empty_archive

EPOCHS = 60


class Followed:
    """A follower without its thread; records come from the test, and time passes at each look."""

    def __init__(self, folder: Path, bases: FolderBases, spawn: Spawn = lambda call: call()) -> None:
        now = count(0, 10_000)
        self.steps: list[int] = []
        self.follower = Follower(
            KafkaConnection({}),
            FollowerSettings("commits", "checkpoints", IDENTITY, longest_chain=20),
            bases,
            folder / "followed",
            self.steps.append,
            lambda: float(next(now)),
            spawn=spawn,
        )
        self.folder = folder

    def published(self, *epochs: int) -> None:
        for epoch in epochs:
            marker = encode_marker(Marker(epoch, 0, "a", f"digest {epoch}", 0, epoch * 10))
            self.follower.take(Record("commits", epoch, marker, 0))
            self.follower.advance()

    def shipped(self, *deltas: Delta | bytes) -> None:
        for delta in deltas:
            value = delta if isinstance(delta, bytes) else encode_delta(delta)
            self.follower.take(Record("checkpoints", 0, value, 0))
            self.follower.advance()

    def files(self) -> dict[str, bytes]:
        target = self.folder / "handed-over"
        assert self.follower.hand_over(target) is not None
        return contents(target)


@pytest.fixture
def active(tmp_path: Path) -> Path:
    return checkpoint_with(tmp_path / "active", range(EPOCHS))


@pytest.fixture
def bases() -> FolderBases:
    return FolderBases()


@pytest.fixture
def followed(tmp_path: Path, bases: FolderBases) -> Followed:
    return Followed(tmp_path, bases)


def expected(active: Path, epoch: int, folder: Path) -> dict[str, bytes]:
    pin(active, epoch, folder)
    return contents(folder)


def test_the_state_follows_markers_and_deltas(
    tmp_path: Path, active: Path, bases: FolderBases, followed: Followed
) -> None:
    bases.offer(active, 5)
    followed.published(*range(8))
    followed.shipped(delta_of(active, 6), delta_of(active, 7))
    followed.published(8)
    followed.shipped(delta_of(active, 8))
    assert followed.follower.epoch == 8
    assert followed.steps == [5, 6, 7, 8]
    assert followed.files() == expected(active, 8, tmp_path / "expected")


def test_an_epoch_that_is_not_published_is_not_used(active: Path, bases: FolderBases, followed: Followed) -> None:
    bases.offer(active, 5)
    followed.published(*range(6))
    followed.shipped(delta_of(active, 6))
    assert followed.follower.epoch == 5
    followed.published(6)
    assert followed.follower.epoch == 6


def test_a_base_that_is_not_published_is_not_used(active: Path, bases: FolderBases, followed: Followed) -> None:
    bases.offer(active, 5)
    followed.published(*range(5))
    assert followed.follower.epoch == -1


def test_the_first_delta_of_an_epoch_counts(
    active: Path, bases: FolderBases, followed: Followed, tmp_path: Path
) -> None:
    other = checkpoint_with(tmp_path / "other", range(10))
    for path in other.glob("state/0/*/7.changelog"):
        path.write_bytes(b"the same in other words")
    bases.offer(active, 5)
    followed.published(*range(8))
    followed.shipped(delta_of(active, 6), delta_of(other, 6), delta_of(other, 7), delta_of(active, 7))
    assert followed.follower.epoch == 7
    assert followed.files() == expected(active, 7, tmp_path / "expected")


@pytest.mark.parametrize("fault", ["missing", "torn", "altered", "left out", "incomplete"])
def test_an_epoch_that_cannot_be_applied_is_passed_by_with_a_newer_base(
    fault: str, tmp_path: Path, active: Path, bases: FolderBases, followed: Followed
) -> None:
    bases.offer(active, 5)
    followed.published(*range(12))
    followed.shipped(delta_of(active, 6))
    bad = delta_of(active, 7)
    value = encode_delta(bad)
    match fault:
        case "torn":
            followed.shipped(value[: len(value) // 2])
        case "altered":
            followed.shipped(value[:-1] + b"?")
        case "left out":
            followed.shipped(replace(bad, files=(), left_out="large"))
        case "incomplete":
            followed.shipped(replace(bad, files=bad.files[1:]))
    followed.shipped(delta_of(active, 8), delta_of(active, 9))
    assert followed.follower.epoch == 6, "it stays where it is complete"
    bases.offer(active, 9)
    followed.shipped(delta_of(active, 10))
    followed.shipped(delta_of(active, 10), delta_of(active, 11))
    assert followed.follower.epoch == 11
    assert followed.files() == expected(active, 11, tmp_path / "expected")


def test_a_newer_base_is_gone_on_from_when_nothing_is_shipped_for_long(
    tmp_path: Path, active: Path, bases: FolderBases, followed: Followed
) -> None:
    bases.offer(active, 5)
    followed.published(*range(26))
    bases.offer(active, 20)
    followed.published(25)
    assert followed.follower.epoch == 5, "twenty epochs may be on their way"
    followed.published(26)
    assert followed.follower.epoch == 20
    followed.shipped(delta_of(active, 20), delta_of(active, 21), delta_of(active, 22))
    assert followed.follower.epoch == 22
    assert followed.steps == [5, 20, 21, 22]
    assert followed.files() == expected(active, 22, tmp_path / "expected")


def test_who_is_far_behind_does_not_go_back(active: Path, bases: FolderBases, followed: Followed) -> None:
    bases.offer(active, 5)
    followed.published(*range(10))
    followed.shipped(delta_of(active, 6), delta_of(active, 7))
    followed.published(*range(10, 40))
    assert followed.follower.epoch == 7
    assert followed.steps == [5, 6, 7]


def test_state_of_another_job_or_format_is_not_used(active: Path, bases: FolderBases, followed: Followed) -> None:
    bases.offer(active, 5)
    followed.published(*range(8))
    for identity in (StateIdentity("other", "format"), StateIdentity("config", "other")):
        followed.shipped(replace(delta_of(active, 6), identity=identity))
    assert followed.follower.epoch == 5


def follow_a_long_chain(followed: Followed, bases: FolderBases, active: Path) -> None:
    """From epoch 5 to 39."""
    bases.offer(active, 5)
    followed.published(*range(EPOCHS))
    for epoch in range(6, 40):
        followed.shipped(delta_of(active, epoch))


def offer_a_shorter_one(bases: FolderBases, active: Path) -> None:
    for store in ("0", "1"):
        (active / f"state/0/{store}/30.zip").write_bytes(empty_archive())
    bases.offer(active, 35)


def test_a_long_chain_is_given_up_for_a_shorter_base_without_going_back(
    active: Path, bases: FolderBases, followed: Followed
) -> None:
    follow_a_long_chain(followed, bases, active)
    offer_a_shorter_one(bases, active)
    followed.shipped(delta_of(active, 40), delta_of(active, 41))
    assert followed.follower.epoch == 41
    files = followed.files()
    assert "state/0/0/30.zip" in files
    assert "state/0/0/30.changelog" not in files
    assert "state/0/0/42.changelog" in files


@pytest.fixture
def slow(tmp_path: Path, active: Path, bases: FolderBases) -> tuple[Followed, list[Callable[[], None]]]:
    """One that follows from epoch 5 to 39, and looks that a test makes when it likes."""
    looks: list[Callable[[], None]] = []
    followed = Followed(tmp_path, bases, looks.append)
    follow_a_long_chain(followed, bases, active)
    offer_a_shorter_one(bases, active)
    return followed, looks


def test_a_store_that_does_not_answer_holds_up_no_delta(
    active: Path, slow: tuple[Followed, list[Callable[[], None]]]
) -> None:
    followed, looks = slow
    assert (followed.follower.epoch, len(looks)) == (39, 1)
    followed.shipped(delta_of(active, 40), delta_of(active, 41))
    assert (followed.follower.epoch, len(looks)) == (41, 1), "one look at a time"
    looks.pop()()
    followed.shipped(delta_of(active, 42))
    assert followed.follower.epoch == 42
    files = followed.files()
    assert "state/0/0/30.changelog" not in files, "the base was found meanwhile"
    assert "state/0/0/43.changelog" in files


def test_a_base_that_is_found_when_nobody_follows_any_more_is_removed(
    slow: tuple[Followed, list[Callable[[], None]]],
) -> None:
    followed, looks = slow
    followed.files()
    looks.pop()()
    assert not any((followed.folder / "followed").glob("*/commits/*"))


def test_what_a_look_raises_is_raised_where_it_is_taken(tmp_path: Path, active: Path) -> None:
    class Unknown(FolderBases):
        def newest(self, wanted: Wanted, folder: Path) -> FollowedState | None:
            if wanted.shorter_than < math.inf:
                raise UnknownStateError("of another Spark")
            return super().newest(wanted, folder)

    looks: list[Callable[[], None]] = []
    bases = Unknown()
    followed = Followed(tmp_path, bases, looks.append)
    follow_a_long_chain(followed, bases, active)
    looks.pop()()
    with pytest.raises(UnknownStateError, match="another Spark"):
        followed.shipped(delta_of(active, 40))


def test_state_that_was_found_wrong_is_dropped_and_its_base_not_used_again(
    active: Path, bases: FolderBases, followed: Followed
) -> None:
    bases.offer(active, 5)
    followed.published(*range(20))
    followed.shipped(delta_of(active, 6))
    followed.follower.drop(6)
    followed.published(20)
    assert followed.follower.epoch == -1
    bases.offer(active, 12)
    followed.published(21)
    assert followed.follower.epoch == 12


def test_what_was_handed_over_is_not_changed_any_more(
    tmp_path: Path, active: Path, bases: FolderBases, followed: Followed
) -> None:
    bases.offer(active, 5)
    followed.published(*range(8))
    files = followed.files()
    followed.shipped(delta_of(active, 6))
    assert contents(tmp_path / "handed-over") == files
    assert followed.follower.hand_over(tmp_path / "again") is None


def test_the_state_is_copied_for_a_proof(tmp_path: Path, active: Path, bases: FolderBases, followed: Followed) -> None:
    bases.offer(active, 5)
    followed.published(*range(8))
    position = followed.follower.copy_to(tmp_path / "copy")
    assert position is not None
    assert position.epoch == 5
    followed.shipped(delta_of(active, 6))
    assert contents(tmp_path / "copy") == expected(active, 5, tmp_path / "expected")
    assert followed.follower.digest(6) == "digest 6"
    assert followed.follower.digest(99) is None
