"""Following, proving and shipping where a state lies thousands of epochs behind the next one."""

from __future__ import annotations

import time
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.kafka.client import KafkaConnection
from tandem.kafka.tail import Record
from tandem.protocol.codec import encode_marker
from tandem.protocol.shipping import ShippingTurn
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Marker
from tandem.protocol.verification import VerificationPace
from tandem.shipping import Delta, Follower, FollowerSettings, Trial, Verdicts, Verifier
from tandem.shipping.digests import Digests
from tandem.shipping.values import encode_delta
from unit.shipping.batches import delta_of, replica
from unit.shipping.builders import IDENTITY, FolderBases

LONG = 10
"""Changes that a follower follows before it looks for a shorter base."""


class Followed:
    """A follower without its thread, of replicas with these checkpoints."""

    def __init__(self, folder: Path) -> None:
        now = count(0, 10_000)
        self.bases = FolderBases()
        self.follower = Follower(
            KafkaConnection({}),
            FollowerSettings("commits", "checkpoints", IDENTITY, longest_chain=LONG),
            self.bases,
            folder / "followed",
            clock_ms=lambda: float(next(now)),
            spawn=lambda call: call(),
        )

    def published(self, last: int, first: int = 0) -> None:
        for epoch in range(first, last + 1):
            marker = encode_marker(Marker(epoch, 0, "a", f"digest {epoch}", 0, epoch * 10))
            self.follower.take(Record("commits", epoch, marker, 0))
        self.follower.advance()

    def shipped(self, delta: Delta) -> None:
        self.follower.take(Record("checkpoints", 0, encode_delta(delta), 0))
        self.follower.advance()


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path)


def test_a_barrier_s_changes_wait_for_its_marker(tmp_path: Path, followed: Followed) -> None:
    active = replica(tmp_path / "active", 12, 24, 36)
    followed.bases.offer(active, 12)
    followed.published(23)
    followed.shipped(delta_of(active, 1))
    assert followed.follower.epoch == 12
    followed.published(24, 24)
    assert followed.follower.epoch == 24
    assert followed.follower.epochs_a_batch == 13, "the first batch has epoch 0, too"


def test_epochs_since_the_last_barrier_are_no_reason_to_look_for_a_newer_base(
    tmp_path: Path, followed: Followed
) -> None:
    active = replica(tmp_path / "active", 12, 24, 36, 48)
    followed.bases.offer(active, 24)
    followed.published(30)
    asked = followed.bases.asked
    followed.published(60, 31)
    assert followed.bases.asked == asked, "more epochs than a chain may be long, but not as many batches"
    followed.published(24 + LONG * 12 + 1, 61)
    assert followed.bases.asked > asked, "so many batches are missing"


def test_who_takes_over_to_ship_may_have_barriers_of_its_own(tmp_path: Path, followed: Followed) -> None:
    one, other = replica(tmp_path / "a", 12, 24, 36), replica(tmp_path / "b", 6, 18, 30, 42)
    followed.bases.offer(one, 12)
    followed.published(60)
    followed.shipped(delta_of(one, 1))
    assert followed.follower.epoch == 24
    followed.shipped(delta_of(other, 2, "b"))
    followed.shipped(delta_of(other, 3, "b"))
    assert followed.follower.epoch == 42


# Proofs ----------------------------------------------------------------------------------------------------------------


def rehearsing(asked: list[int]) -> Trial:
    """An engine that computes what was published, and counts."""

    def rehearse(checkpoint: Path, after: EnginePosition, _: object) -> Generator[tuple[int, pa.Table], None, None]:
        assert (checkpoint / "commits" / "1").exists()
        for epoch in count(after.epoch + 1):
            asked.append(epoch)
            yield epoch, pa.table({})

    return Trial(rehearse, lambda epoch, _: f"digest {epoch}")


@pytest.mark.parametrize(("published", "last"), [(60, 36), (30, 30)])
def test_a_proof_computes_the_epochs_of_a_barrier_s_interval_as_far_as_they_are_published(
    tmp_path: Path, followed: Followed, published: int, last: int
) -> None:
    active = replica(tmp_path / "active", 12, 24, 36)
    followed.bases.offer(active, 24)
    followed.published(published)
    asked: list[int] = []
    found: list[int] = []
    pace = VerificationPace(long=3, short=3)
    Verifier(followed.follower, rehearsing(asked), tmp_path / "proof", pace, Verdicts(found.append)).prove()
    assert asked == list(range(25, last + 1))
    assert found == [last]


def test_epochs_whose_markers_this_replica_has_never_read_are_not_waited_for_but_passed_over(
    tmp_path: Path, followed: Followed
) -> None:
    """A new follower reads the newest markers only; its state, of the last barrier, may be hundreds of epochs older."""
    followed.bases.offer(replica(tmp_path / "active", 12, 24, 36), 24)
    followed.published(40, 34)
    asked: list[int] = []
    pace = VerificationPace(long=3, short=3)
    began_s = time.monotonic()
    assert Verifier(followed.follower, rehearsing(asked), tmp_path / "proof", pace).prove() == 36
    assert time.monotonic() - began_s < 5
    assert asked == list(range(25, 37))


def test_a_proof_in_which_no_epoch_can_be_compared_is_soon_tried_again(tmp_path: Path, followed: Followed) -> None:
    followed.bases.offer(replica(tmp_path / "active", 12, 24, 36), 24)
    followed.published(400, 390)
    pace = VerificationPace(long=3, short=3)
    now = count(0, 1_000)
    # Each epoch takes 1 s, as the first ones do, and the proof some; no verdict.
    trial, folder = rehearsing([]), tmp_path / "proof"
    verifier = Verifier(followed.follower, trial, folder, pace, clock_ms=lambda: float(next(now)))
    assert verifier.prove() is None
    assert followed.follower.epoch == 24, "that says nothing about the state"
    assert not pace.is_due(400 + 19, followed.follower.size)
    assert pace.is_due(400 + 20, followed.follower.size)


def test_a_proof_knows_what_was_published_although_the_state_goes_on_meanwhile(
    tmp_path: Path, followed: Followed
) -> None:
    active = replica(tmp_path / "active", 12, 24, 36)
    followed.bases.offer(active, 24)
    followed.published(36)
    delta = delta_of(active, 2)

    def rehearse(_: Path, after: EnginePosition, __: object) -> Generator[tuple[int, pa.Table], None, None]:
        followed.shipped(delta)
        followed.published(5_000, 37)
        assert followed.follower.epoch == 36
        for epoch in range(after.epoch + 1, 37):
            yield epoch, pa.table({})
        assert followed.follower.digest(25) == "digest 25"

    pace, trial = VerificationPace(), Trial(rehearse, lambda epoch, _: f"digest {epoch}")
    assert Verifier(followed.follower, trial, tmp_path / "proof", pace).prove() == 36
    followed.published(5_001, 5_001)
    assert followed.follower.digest(25) is None, "it is kept for no longer than the proof lasts"


def test_a_proof_of_short_epochs_counts_its_cost_in_their_time() -> None:
    pace = VerificationPace(share=0.05)
    pace.begin(10)
    pace.ended(epoch=10_000, cost_ms=300, epoch_ms=0.2, right=True)
    assert not pace.is_due(10_000 + 29_999, 10)
    assert pace.is_due(10_000 + 30_000, 10), "30,000 epochs of 0.2 ms, of which 300 ms are a twentieth"


def test_digests_are_kept_from_the_state_on_and_a_thousand_before() -> None:
    digests = Digests()
    for epoch in range(9_000):
        digests.put(epoch, f"digest {epoch}", state=5_000)
    assert 5_001 in digests
    assert digests.get(8_999) == "digest 8999"
    assert 5_000 not in digests
    for epoch in range(9_000, 20_000):
        digests.put(epoch, "", state=epoch - 1)
    assert 18_999 not in digests
    assert 19_000 in digests


# Turns -----------------------------------------------------------------------------------------------------------------


def turn(me: str) -> ShippingTurn:
    return ShippingTurn(me, AdaptiveTimeout(least_ms=5_500, most_ms=18_000, factor=1.5))


def test_a_shipper_with_other_barriers_is_not_silent_until_it_has_missed_one() -> None:
    mine = turn("b")
    for number in range(5):
        mine.published(1_000 * number, 5_000.0 * number)
        assert not mine.is_mine(5_000 * number + 2_400)
        mine.delta(1_000 * number + 500, "a", 5_000 * number + 2_500)
    mine.published(5_000, 25_000)
    assert not mine.is_mine(25_000 + 5_500), "twice what it usually takes, and it may be the next one"
    assert mine.is_mine(25_000 + 5_501)
