"""When the number of lanes changes, every partition goes on in one lane, where it stood, behind all that was decided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.actions import Outcome, ProposeClaim, Publish, ReadToEnd, RenewProducer
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.lanes import (
    Boundary,
    MovedLane,
    came_from,
    ends_of,
    is_taken_over,
    marker,
    only_merges,
    positions,
    taking_over,
    unpublished_owners,
)
from tandem.protocol.publication import Publication, SupersededError
from tandem.protocol.publication_rules import Computation, Delivery
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Config, Cut, Offsets, TopicPartition

COUNTS = st.integers(1, 12)


def at(*offsets: int, step: int = 1, first: int = 0) -> Offsets:
    return Offsets({TopicPartition("in", first + step * n): offset for n, offset in enumerate(offsets)})


def log_of(lane: int, lanes: int, epochs: int) -> Decisions:
    """A lane with two partitions that has cut so many epochs of a record each, the last of which is claimed."""
    log = Decisions()
    log.apply(Config(0, "old", at(0, 0, step=lanes, first=lane), "r"), 0)
    for epoch in range(epochs):
        log.apply(Cut(epoch, at(epoch + 1, 0, step=lanes, first=lane), 0, 0, "o"), epoch + 1)
    log.apply(Claim(epochs - 1, 0, "owner"), epochs + 1)
    return log


MOVED = MovedLane(1, 4, "new", at(5, 6, step=4, first=1), savepoint="s")
BOUNDARY = Boundary(3, 20)


@given(lanes=COUNTS, before=COUNTS, more=st.integers(0, 3))
def test_a_partition_that_no_lane_has_cut_begins_in_one_lane(lanes: int, before: int, more: int) -> None:
    cut, there = lanes * before, lanes * before * (1 + more)
    ends = [Offsets({TopicPartition("in", p): 100 + p for p in range(old, cut, before)}) for old in range(before)]
    found = [positions(lane, lanes, ends, {"in": there, "new": lanes}) for lane in range(lanes)]
    for lane, one in enumerate(found):
        assert {tp.partition % lanes for tp in one} == {lane}
    assert sorted(pair for one in found for pair in one.items()) == [
        *((TopicPartition("in", p), 100 + p if p < cut else 0) for p in range(there)),
        *((TopicPartition("new", p), 0) for p in range(lanes)),
    ]


@given(lanes=COUNTS, before=COUNTS)
def test_every_partition_goes_on_in_one_lane_from_where_it_was(lanes: int, before: int) -> None:
    partitions = lanes * before * 2
    ends = [
        Offsets({TopicPartition("in", p): 100 + p for p in range(old, partitions, before)}) for old in range(before)
    ]
    found = [positions(lane, lanes, ends) for lane in range(lanes)]
    assert sorted((tp.partition, offset) for one in found for tp, offset in one.items()) == [
        (p, 100 + p) for p in range(partitions)
    ]
    for lane, one in enumerate(found):
        assert {tp.partition % before for tp in one} == set(came_from(lane, lanes, before))


@given(lanes=COUNTS, before=COUNTS)
def test_a_lane_that_only_merges_is_part_of_one(lanes: int, before: int) -> None:
    goes_to = [{lane for lane in range(lanes) if old in came_from(lane, lanes, before)} for old in range(before)]
    assert only_merges(lanes, before) == all(len(one) == 1 for one in goes_to)


def test_the_boundary_is_behind_all_logs_of_lanes_that_are_and_that_were() -> None:
    ended = Decisions()
    ended.apply(MovedLane(None, 2, "x", Offsets()).config(Boundary(7, 3), "me"), 0)
    assert Boundary.behind([log_of(0, 2, 4), log_of(1, 2, 9), Decisions(), ended]) == Boundary(8, 9)


def test_a_moved_lane_goes_on_with_its_own_epochs_and_positions() -> None:
    log = log_of(1, 2, 4)
    assert log.apply(MOVED.config(BOUNDARY, "me"), 10) is Verdict.ACCEPTED
    assert log.apply(Cut(4, at(9, 9, step=2, first=1), 0, 0, "old orderer"), 11) is Verdict.REPEATED
    assert log.apply(MOVED.cut(BOUNDARY, "me", 5), 12) is Verdict.ACCEPTED
    found = log.epoch_range(20)
    assert found is not None
    assert (found.starts, found.ends, found.config_offset, found.log_offset) == (MOVED.start, MOVED.start, 10, 12)
    assert [log.generation_of(epoch) for epoch in (19, 20, 21)] == [0, 3, 3]
    assert log.apply(Claim(20, 0, "old replica", 0), 13) is Verdict.SUPERSEDED
    assert log.apply(Cut(21, at(6, 8, step=4, first=1), 0, 0, "o"), 14) is Verdict.ACCEPTED
    assert log.epoch_range(3) is None
    log.forget_before(21)
    assert log.epoch_range(20) is None


def test_who_begins_with_the_marker_decides_as_who_read_everything() -> None:
    whole, config, cut = log_of(1, 2, 4), MOVED.config(BOUNDARY, "me"), MOVED.cut(BOUNDARY, "me", 5)
    whole.apply(config, 10)
    whole.apply(cut, 11)
    place = marker(BOUNDARY, "me", 10, 11)
    assert (place.epoch, place.generation, place.log_offset, place.config_offset, place.rows) == (20, 3, 11, 10, 0)
    late = Decisions.resumed(config, cut, 11, 10)
    for proposal in (
        Cut(21, at(6, 8, step=2, first=1), 0, 0, "of two lanes"),
        Cut(21, at(6, 8, step=4, first=1), 0, 0, "o"),
        Claim(21, 0, "old", 2),
        Claim(21, 0, "new", 3),
    ):
        assert whole.apply(proposal, 20) is late.apply(proposal, 20)
    assert (whole.last_epoch, whole.last_ends, whole.owner(21)) == (late.last_epoch, late.last_ends, late.owner(21))


def test_a_cut_of_another_number_of_lanes_is_refused() -> None:
    log = log_of(1, 2, 1)
    log.apply(MOVED.config(BOUNDARY, "me"), 3)
    log.apply(MOVED.cut(BOUNDARY, "me", 5), 4)
    others = Offsets({**MOVED.start, TopicPartition("in", 3): 1})
    assert log.apply(Cut(21, others, 0, 0, "of two lanes"), 5) is Verdict.OTHER_LANE


def test_the_log_of_a_lane_that_ended_takes_nothing_any_more_until_there_is_such_a_lane_again() -> None:
    log = log_of(1, 2, 4)
    ended = MovedLane(None, 1, "one", Offsets()).config(BOUNDARY, "me")
    assert log.apply(ended, 10) is Verdict.ACCEPTED
    assert log.apply(Cut(20, at(9, 9, step=2, first=1), 0, 0, "old orderer"), 11) is Verdict.OTHER_LANE
    again = Boundary(4, 50)
    assert log.apply(MOVED.config(again, "me"), 12) is Verdict.ACCEPTED
    assert log.apply(MOVED.cut(again, "me", 5), 13) is Verdict.ACCEPTED
    assert (log.last_epoch, log.last_ends) == (50, MOVED.start)


def test_a_replica_of_the_lanes_before_publishes_nothing_any_more() -> None:
    """One that was paused while the number of lanes changed, and had an epoch to claim."""
    replica = Publication("me", Decisions(), 0, Delivery.EXACTLY_ONCE, AdaptiveTimeout(10.0, 100.0), 0)
    start, end = at(0, 0, step=2, first=1), at(1, 0, step=2, first=1)
    for offset, proposal in enumerate([Config(0, "old", start, "r"), Cut(0, end, 0, 0, "o")]):
        replica.on_proposal(proposal, offset, 0.0)
    replica.on_computed(0, Computation("d"))
    assert replica.next_action(0.0) == ProposeClaim(Claim(0, 0, "me", 0))
    config, cut = MOVED.config(BOUNDARY, "change"), MOVED.cut(BOUNDARY, "change", 5)
    verdicts = [replica.on_proposal(one, 2, 1.0) for one in (config, cut, Claim(0, 0, "me", 0))]
    assert verdicts == [Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.REPEATED]
    for now in range(0, 1_000, 100):
        assert not isinstance(replica.next_action(float(now)), Publish)
    with pytest.raises(SupersededError):
        replica.on_marker(marker(BOUNDARY, "change", 2, 3), 2.0)


def test_an_older_move_comes_too_late() -> None:
    log = log_of(1, 2, 1)
    log.apply(MOVED.config(BOUNDARY, "me"), 3)
    assert log.apply(MOVED.config(BOUNDARY, "another"), 4) is Verdict.REPEATED
    assert log.apply(replace(MOVED.config(BOUNDARY, "me"), generation=2), 5) is Verdict.REPEATED


@pytest.mark.parametrize(("published", "owners", "end"), [(2, {"owner"}, 3), (3, set(), 4), (-1, {"owner"}, 0)])
def test_what_is_not_published_is_cut_again(published: int, owners: set[str], end: int) -> None:
    log = log_of(0, 2, 4)
    assert unpublished_owners(log, published) == owners
    assert ends_of(log, published)[TopicPartition("in", 0)] == end


def test_who_changes_the_lanes_claims_what_is_claimed_and_not_published() -> None:
    log = log_of(0, 2, 4)
    assert taking_over(log, 3, "writer") == ()
    claims = taking_over(log, 2, "writer")
    assert claims == (Claim(3, 1, "writer", 0),)
    assert not is_taken_over(log, 2, "writer", {"owner"})
    assert log.apply(claims[0], 9) is Verdict.ACCEPTED
    assert taking_over(log, 2, "writer") == ()
    assert is_taken_over(log, 2, "writer", {"owner"})
    assert not is_taken_over(log, 2, "writer", set())  # the owner was not known when others were fenced


def test_who_claims_after_the_owners_were_looked_at_is_noticed() -> None:
    log = log_of(0, 2, 4)
    for claim in (*taking_over(log, 2, "writer"), Claim(3, 2, "late")):
        log.apply(claim, 9)
    assert not is_taken_over(log, 2, "writer", {"owner"})
    assert not is_taken_over(log, 2, "writer", {"owner", "late"})


@pytest.mark.parametrize("claims", [True, False])
def test_an_owner_that_was_fenced_and_renews_its_producer_publishes_only_if_nobody_has_claimed(claims: bool) -> None:
    """So a fence alone is not enough: the change claims before it."""
    replica = Publication("me", Decisions(), 0, Delivery.EXACTLY_ONCE, AdaptiveTimeout(10.0, 100.0), 0)
    start, end = at(0, 0, step=2, first=1), at(1, 0, step=2, first=1)
    for offset, one in enumerate([Config(0, "old", start, "r"), Cut(0, end, 0, 0, "o"), Claim(0, 0, "me")]):
        replica.on_proposal(one, offset, 0.0)
    replica.on_computed(0, Computation("d"))
    published = replica.next_action(0.0)
    assert isinstance(published, Publish)
    replica.done(published, Outcome.FENCED)
    for kind in (RenewProducer, ReadToEnd):
        action = replica.next_action(1.0)
        assert isinstance(action, kind)
        for claim in taking_over(replica.decisions, -1, "writer") if claims and kind is ReadToEnd else ():
            replica.on_proposal(claim, 3, 1.0)
        replica.done(action)
    assert isinstance(replica.next_action(2.0), Publish) is not claims
