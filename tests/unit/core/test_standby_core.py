"""When a standby begins to compute, and when it ends, by events and effects."""

from __future__ import annotations

import pytest

from tandem.core.active_role import DrainedError
from tandem.core.effects import Exit, TellRole
from tandem.core.events import LogRecord, Seen
from tandem.core.standby import Promote, Promotion, StandbyCore, bound_on_actives
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import SupersededError
from tandem.protocol.switchover import Role
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Config, Cut, Offsets, Proposal

LOG: tuple[Proposal, ...] = (
    Config(0, "c0ffee", Offsets(), "replica-0"),
    Cut(0, Offsets(), 0, 0, "orderer-0"),
    Claim(0, 0, "a"),
    Cut(1, Offsets(), 0, 0, "orderer-0"),
)


def standby(*proposals: Proposal) -> StandbyCore:
    core = StandbyCore(Decisions(), AdaptiveTimeout(20.0, 120.0), 0)
    for offset, proposal in enumerate(proposals):
        assert core.step(LogRecord(offset, proposal), 0.0) is None
    return core


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (Seen(slot=0), Promotion.SLOT),
        (Seen(replaces_ended=True), Promotion.ENDED),
        (Seen(is_summoned=True), Promotion.REQUEST),
    ],
)
def test_it_is_promoted_for_what_it_sees(seen: Seen, why: Promotion) -> None:
    assert standby(*LOG).step(seen, 1.0) == Promote(why)


def test_it_is_promoted_when_nobody_claims_for_too_long() -> None:
    core = standby(*LOG)
    assert core.step(Seen(), 1.0) == TellRole(Role.STANDBY)
    assert core.step(Seen(), 10_000.0) == Promote(Promotion.SILENCE)


def test_while_there_is_nothing_to_claim_nobody_is_silent() -> None:
    assert standby(*LOG[:3]).step(Seen(has_proved=True), 1e9) == TellRole(Role.PROVED)


def test_one_that_was_drained_ends_whatever_else_it_sees() -> None:
    effect = standby(*LOG).step(Seen(slot=0, must_end=True), 1.0)
    assert isinstance(effect, Exit)
    assert isinstance(effect.error, DrainedError)


def test_the_next_generation_ends_it() -> None:
    effect = standby(*LOG).step(LogRecord(4, Config(1, "new", Offsets(), "replica-1")), 1.0)
    assert isinstance(effect, Exit)
    assert isinstance(effect.error, SupersededError)


def test_promotion_is_a_greater_step_than_a_take_over() -> None:
    assert bound_on_actives(50.0).ms > 50.0
