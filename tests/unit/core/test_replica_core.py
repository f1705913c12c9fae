"""What a replica decides, by events and effects: what is computed, claimed and published when, and what ends it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tandem.core.active_role import ActiveRoleSettings
from tandem.core.catch_up import CatchUp
from tandem.core.effects import Append, Begun, Compared, Compute, Effect, Exit, Expect, Marked, SeekSuccessor, TookOver
from tandem.core.events import Computed, Done, Failed, LogRecord, MarkerRecord, ReplicaEvent, Stop, Tick
from tandem.core.replica import ReplicaCore
from tandem.core.settings import ReplicaSettings
from tandem.protocol.actions import Fence, Outcome, Publish, ReadToEnd, RenewProducer
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import Boundary, MovedLane
from tandem.protocol.publication import (
    DivergedError,
    MissingMarkerError,
    ProtocolMisuseError,
    Publication,
    SupersededError,
)
from tandem.protocol.publication_rules import LEAVE_MS, Delivery
from tandem.protocol.succession import Succession, SuccessionError
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Config, Cut, LagReport, Marker, Offsets, Proposal, TopicPartition

ME, OTHER = "j.replica-0.1", "j.replica-1.1"
IN = TopicPartition("in", 0)
CONFIG = Config(0, "c0ffee", Offsets({IN: 0}), "replica-0")


class Bench:
    """A core, and a log in which its proposals and those of others are accepted in the order of the calls."""

    def __init__(self, succession: Succession | None = None, generation: int = 0, **settings: object) -> None:
        publication = Publication(
            ME, Decisions(), 0, Delivery.EXACTLY_ONCE, AdaptiveTimeout(20.0, 120.0), generation=generation
        )
        self.core = ReplicaCore(
            publication,
            CatchUp("replica-0", -1),
            0.0,
            succession,
            settings=ReplicaSettings(**settings),  # type: ignore[arg-type]
        )
        self.now_ms, self._offset = 0.0, -1
        self.log(CONFIG)

    def step(self, event: ReplicaEvent, after_ms: float = 1.0) -> list[Effect]:
        self.now_ms += after_ms
        return self.core.step(event, self.now_ms)

    def log(self, *proposals: Proposal) -> list[Effect]:
        effects = []
        for proposal in proposals:
            self._offset += 1
            effects += self.step(LogRecord(self._offset, proposal, 1_000 + self._offset))
        return effects

    def cut(self, *epochs: int) -> list[Effect]:
        return self.log(*(cut(epoch) for epoch in epochs))

    def computed(self, epoch: int, digest: str = "same") -> list[Effect]:
        return self.step(Computed(epoch, digest))

    def marked(self, epoch: int, owner: str, digest: str = "same", generation: int = 0) -> list[Effect]:
        return self.step(MarkerRecord(Marker(epoch, 0, owner, digest, 1, 1, generation=generation)))

    def owns(self, epoch: int) -> Publish:
        """It has computed and claimed the head, and is asked to publish it."""
        self.cut(epoch)
        self.computed(epoch)
        (publish,) = self.log(Claim(epoch, 0, ME))
        assert publish == Publish(epoch, 0)
        return publish


def kinds(effects: Iterable[Effect]) -> list[type]:
    return [type(effect) for effect in effects]


def test_an_epoch_is_computed_claimed_published_and_forgotten() -> None:
    bench = Bench()
    (compute,) = bench.cut(0)
    assert isinstance(compute, Compute)
    assert (compute.epoch.epoch, compute.epoch.ends) == (0, Offsets({IN: 10}))

    assert bench.computed(0) == [Append(Claim(0, 0, ME))]
    (publish,) = bench.log(Claim(0, 0, ME))
    assert publish == Publish(0, 0)
    assert bench.step(Done(publish, Outcome.COMMITTED)) == []
    marked, compared = bench.marked(0, ME)
    assert isinstance(marked, Marked)
    assert compared == Compared(0)
    assert (bench.core.state.published_epoch, bench.core.state.claims_won) == (0, 1)


def test_a_silent_owner_is_taken_over_in_this_order() -> None:
    bench = Bench()
    bench.cut(0)
    bench.computed(0)
    assert bench.log(Claim(0, 0, OTHER)) == [Expect(OTHER)]

    assert bench.step(Tick(), 200) == [Append(Claim(0, 1, ME))]
    took, fence = bench.log(Claim(0, 1, ME))
    assert took == TookOver(Claim(0, 1, ME), OTHER)
    assert fence == Fence((OTHER,))
    (read,) = bench.step(Done(fence))
    assert read == ReadToEnd()
    assert bench.step(Done(read)) == [Publish(0, 1)]
    assert (bench.core.state.take_overs, bench.core.state.claims_lost) == (1, 1)


def test_the_engine_is_given_few_epochs_ahead_and_none_while_many_wait_to_be_published() -> None:
    bench = Bench(most_pending_epochs=3)
    given = [effect.epoch.epoch for effect in bench.cut(*range(10)) if isinstance(effect, Compute)]
    assert given == [0, 1]
    for epoch in range(3):
        given += [effect.epoch.epoch for effect in bench.computed(epoch) if isinstance(effect, Compute)]
    assert given == [0, 1, 2]

    bench.log(Claim(0, 0, OTHER))
    given += [effect.epoch.epoch for effect in bench.marked(0, OTHER) if isinstance(effect, Compute)]
    assert given == [0, 1, 2, 3]


def test_a_replica_whose_lane_has_ended_ends_too_though_no_marker_says_so() -> None:
    bench = Bench()
    bench.owns(0)
    *_, ended = bench.log(MovedLane(None, 2, "c0ffee", Offsets()).config(Boundary(3, 31), "j.lanes"))
    assert isinstance(ended, Exit)
    assert isinstance(ended.error, SupersededError)
    assert "generation 3 has 2 lanes: this one has ended" in str(ended.error)


def test_a_replica_whose_lane_goes_on_waits_for_what_its_generation_publishes() -> None:
    bench = Bench()
    bench.owns(0)
    assert Exit not in kinds(bench.log(MovedLane(0, 2, "c0ffee", Offsets()).config(Boundary(3, 31), "j.lanes")))


def test_an_unknown_outcome_renews_and_reads_to_the_end() -> None:
    bench = Bench()
    publish = bench.owns(0)
    (renew,) = bench.step(Done(publish, Outcome.UNKNOWN))
    assert renew == RenewProducer()
    assert bench.step(Done(renew)) == [ReadToEnd()]


def test_a_step_that_fails_is_made_again_until_patience_ends() -> None:
    bench = Bench(patience_ms=1_000)
    publish = bench.owns(0)
    away = TimeoutError("Kafka is away")
    assert bench.step(Failed(publish, away)) == []
    assert publish in bench.step(Tick(), 500)
    assert bench.step(Failed(publish, away), 400) == []
    assert publish in bench.step(Tick())
    assert bench.step(Failed(publish, away), 200) == [Exit(away)]


def test_patience_begins_again_after_a_success() -> None:
    bench = Bench(patience_ms=1_000)
    publish = bench.owns(0)
    bench.step(Failed(publish, TimeoutError()))
    bench.step(Tick(), 900)
    bench.step(Done(publish, Outcome.COMMITTED))
    bench.marked(0, ME)
    publish = bench.owns(1)
    assert bench.step(Failed(publish, TimeoutError()), 900) == []


def test_what_was_not_asked_for_is_refused() -> None:
    bench = Bench()
    bench.owns(0)
    with pytest.raises(ProtocolMisuseError):
        bench.step(Done(ReadToEnd()))


@pytest.mark.parametrize(
    ("marker", "kind"),
    [
        (Marker(0, 0, OTHER, "published", 1, 1, generation=1), SupersededError),
        (Marker(0, 0, OTHER, "published", 1, 1), DivergedError),
        (Marker(7, 0, OTHER, "published", 1, 1), MissingMarkerError),
    ],
)
def test_a_marker_that_ends_it_ends_it_once_and_for_all(marker: Marker, kind: type[Exception]) -> None:
    bench = Bench()
    bench.cut(0, 1)
    bench.computed(0, "mine")
    (end,) = bench.step(MarkerRecord(marker))
    assert isinstance(end, Exit)
    assert isinstance(end.error, kind)
    assert bench.computed(1) == bench.step(Tick()) == []


def test_rows_that_come_after_their_marker_are_compared_too() -> None:
    bench = Bench()
    bench.cut(0)
    bench.log(Claim(0, 0, OTHER))
    bench.marked(0, OTHER, "published")
    (end,) = bench.computed(0, "mine")
    assert isinstance(end, Exit)
    assert isinstance(end.error, DivergedError)


def test_who_leaves_claims_on_until_its_successor_does_and_publishes_what_it_owes() -> None:
    bench = Bench()
    bench.cut(0, 1, 2)
    assert bench.step(Stop()) == [SeekSuccessor()]
    assert not [effect for effect in bench.computed(0) if isinstance(effect, Append)]
    assert bench.step(Tick(), LEAVE_MS) == [Append(Claim(0, 0, ME))]
    (publish,) = bench.log(Claim(0, 0, ME))
    assert Expect(OTHER) in bench.log(Claim(1, 0, OTHER))
    assert not [effect for effect in bench.computed(1) if isinstance(effect, Append)]
    bench.step(Done(publish, Outcome.COMMITTED))
    assert Exit() in bench.marked(0, ME)


def test_who_leaves_waits_for_nobody_for_ever() -> None:
    bench = Bench(active_role=ActiveRoleSettings(leave_ms=100))
    bench.owns(0)
    assert bench.step(Stop()) == [SeekSuccessor()]
    assert bench.step(Tick(), 90) == bench.step(Tick(), 20) == []
    assert bench.step(Tick(), 110) == [Exit()]


def test_one_that_is_alone_leaves_at_once() -> None:
    assert Bench(active_role=ActiveRoleSettings(has_others=False)).step(Stop()) == [SeekSuccessor(), Exit()]


def test_a_candidate_proposes_its_generation_at_the_head_and_once_it_has_computed() -> None:
    config = Config(1, "new", Offsets({IN: 0}), "replica-0")
    bench = Bench(Succession(config), generation=1)
    assert kinds(bench.cut(0)) == [Compute]
    assert bench.core.state.candidate
    assert Append(config) in bench.computed(0)
    assert Begun(1, 0) in bench.log(config)
    assert not bench.core.state.candidate


def test_a_candidate_reaches_a_head_behind_more_unpublished_epochs_than_it_may_have_later() -> None:
    config = Config(1, "new", Offsets({IN: 0}), "replica-0")
    bench = Bench(Succession(config), generation=1, most_pending_epochs=2)
    log = [one for epoch in range(16) for one in (cut(epoch), Claim(epoch, 0, OTHER))]
    given = [effect for effect in bench.log(*log, cut(16)) if isinstance(effect, Compute)]
    said: list[Effect] = []
    while given:
        effects = bench.computed(given.pop(0).epoch.epoch)
        given += [effect for effect in effects if isinstance(effect, Compute)]
        said += effects

    assert Append(config) in said
    assert Begun(1, 16) in bench.log(config)
    assert not any(isinstance(effect, Compute) for effect in bench.cut(17))  # from now on as few as ever


def cut(epoch: int) -> Cut:
    return Cut(epoch, Offsets({IN: 10 * (epoch + 1)}), 990_000 + epoch, 0, "orderer-0")


def test_a_candidate_whose_place_another_one_took_ends() -> None:
    bench = Bench(Succession(Config(1, "new", Offsets({IN: 0}), "replica-0")), generation=1)
    bench.cut(0)
    bench.computed(0)
    (end,) = bench.log(Config(1, "another", Offsets({IN: 0}), "replica-9"))
    assert isinstance(end, Exit)
    assert isinstance(end.error, SuccessionError)


def test_one_that_lags_says_so_in_the_log_and_in_its_state() -> None:
    bench = Bench()
    bench.cut(*range(8))
    bench.computed(0)
    said = [e.proposal for e in bench.computed(1) if isinstance(e, Append) and isinstance(e.proposal, LagReport)]
    assert [progress.epoch for progress in said] == [1]
    state = bench.core.state
    assert (state.epoch, state.head_epoch, state.lag_epochs, state.lag_records, state.due_ms) == (1, 7, 6, 60, 990_002)
    assert not state.ready
