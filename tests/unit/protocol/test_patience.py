"""Two that take over from each other: each gets twice the time of the one before, until one has had enough of it."""

from __future__ import annotations

import pytest

from tandem.protocol.actions import Action, Fence, Outcome, ProposeClaim, Publish, ReadToEnd, RenewProducer
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Publication
from tandem.protocol.publication_rules import Computation, Delivery
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.transaction_time import publication_ms
from tandem.protocol.values import Claim, Proposal
from unit.protocol.builders import config, cut

STEP_MS = 10.0


class Rivals:
    """Two incarnations that have computed epoch 0, whose transaction takes `transaction_ms`; nothing else takes any time.

    `work_ms` : what they know of it.
    """

    def __init__(self, transaction_ms: float, work_ms: float = 0.0) -> None:
        self.transaction_ms = transaction_ms
        self.now = 0.0
        self.log: list[Proposal] = []
        self.published_at: float | None = None
        self._open: dict[str, tuple[Publish, float]] = {}
        bounds = (AdaptiveTimeout(50.0, 500.0) for _ in range(2))
        names = ("a", "b")
        self.all = {
            name: Publication(name, Decisions(), 0, Delivery.EXACTLY_ONCE, bound)
            for name, bound in zip(names, bounds, strict=True)
        }
        self._append(config(0))
        self._append(cut(0, 1))
        for one in self.all.values():
            one.on_computed(0, Computation("d", work_ms=work_ms))

    def run_until(self, limit_ms: float) -> None:
        while self.published_at is None and self.now < limit_ms:
            self.now += STEP_MS
            for name, one in self.all.items():
                if name in self._open and self._open[name][1] + self.transaction_ms < self.now:
                    self.published_at = self.now
                while (action := one.next_action(self.now)) is not None:
                    self._carry_out(name, one, action)

    def _carry_out(self, name: str, one: Publication, action: Action) -> None:
        match action:
            case ProposeClaim(claim):
                self._append(claim)
            case Fence(owners):
                one.done(action)
                for owner in owners:
                    if (publish := self._open.pop(owner, None)) is not None:
                        self.all[owner].done(publish[0], Outcome.FENCED)
            case ReadToEnd() | RenewProducer():
                one.done(action)
            case Publish():
                self._open[name] = action, self.now

    def _append(self, proposal: Proposal) -> None:
        self.log.append(proposal)
        for one in self.all.values():
            one.on_proposal(proposal, len(self.log) - 1, self.now)


@pytest.mark.parametrize("transaction_ms", [100.0, 5_000.0, 100_000.0])
def test_two_owners_do_not_fence_each_other_for_ever(transaction_ms: float) -> None:
    rivals = Rivals(transaction_ms)
    rivals.run_until(1_000.0 + 5 * transaction_ms)
    assert rivals.published_at is not None, f"{sum(isinstance(one, Claim) for one in rivals.log)} claims in vain"


def test_nobody_takes_over_from_an_owner_that_has_millions_of_rows_to_publish() -> None:
    rivals = Rivals(30_000.0, work_ms=publication_ms(2_000_000, 20_000_000))
    rivals.run_until(60_000.0)
    assert [one for one in rivals.log if isinstance(one, Claim)] == [Claim(0, 0, "a")]
    assert rivals.published_at is not None


def test_an_owner_of_millions_of_rows_that_is_dead_is_taken_over() -> None:
    one = Rivals(5_000.0, work_ms=40_000.0).all["a"]
    one.on_proposal(Claim(0, 0, "b"), 2, 0.0)
    assert one.next_action(40_000.0) is None
    assert one.next_action(40_001.0) == ProposeClaim(Claim(0, 1, "a"))


def test_the_rows_of_an_ordinary_epoch_make_nobody_wait() -> None:
    assert publication_ms(1_000, 200_000) < 50.0, "the least bound by default"


def test_an_owner_that_is_dead_is_taken_over_however_often_that_happened_before() -> None:
    rivals = Rivals(5_000.0)
    one = rivals.all["a"]
    for attempt in range(2_000):
        one.on_proposal(Claim(0, attempt, "b"), attempt + 2, 0.0)
    assert one.next_action(320_000.0) is None
    assert one.next_action(320_001.0) == ProposeClaim(Claim(0, 2_000, "a"))
