"""The fold of the ordering log: which proposals count, whoever sends them, however often and late."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.values import Claim, Cut, Determinant, LagReport, Offsets, Proposal, TopicPartition
from unit.protocol.builders import (
    answer,
    any_claim,
    any_config,
    any_cut,
    any_determinant,
    any_proposal,
    at,
    config,
    cut,
    decided,
    verdicts,
)

A, R, E, B = Verdict.ACCEPTED, Verdict.REPEATED, Verdict.TOO_EARLY, Verdict.GOES_BACK


def test_nothing_counts_before_the_config() -> None:
    assert verdicts(Decisions(), cut(0, 1), Claim(0, 0, "a"), config(0), cut(0, 1)) == [E, E, A, A]


def test_the_first_config_of_a_generation_counts() -> None:
    log = Decisions()
    assert verdicts(log, config(3), config(9), config(5, generation=2), config(7, generation=1)) == [A, R, E, A]
    assert log.config == config(7, generation=1)


def test_a_new_generation_goes_on_where_the_last_one_ended() -> None:
    log = decided(config(99, generation=1), epochs=2)
    assert log.last_ends == at(2)
    assert verdicts(log, cut(2, 3)) == [A]


def test_the_first_cut_of_an_epoch_counts_and_copies_and_gaps_do_not() -> None:
    log = decided()
    assert verdicts(log, cut(1, 5), cut(0, 3), cut(0, 4, by="orderer-1"), cut(0, 3), cut(2, 9), cut(1, 5)) == [
        E,
        A,
        R,
        R,
        E,
        A,
    ]
    assert log.last_epoch == 1
    assert log.last_ends == at(5)


def test_an_epoch_reads_on_where_the_one_before_ended() -> None:
    log = decided(cut(0, 3, 4), cut(1, 5, 4))
    found = log.epoch_range(1)
    assert found is not None
    assert (found.starts, found.ends, found.log_offset) == (at(3, 4), at(5, 4), 2)


def test_a_cut_neither_goes_back_nor_forgets_an_input() -> None:
    log = decided(cut(0, 3, 4))
    assert verdicts(log, cut(1, 2, 9), cut(1, 9), cut(1, 3, 4)) == [B, B, A]


def test_an_input_may_appear_later() -> None:
    assert verdicts(decided(cut(0, 3)), cut(1, 3, 7)) == [A]


def test_only_a_cut_epoch_can_be_claimed_and_attempts_have_no_gaps() -> None:
    log = decided(epochs=1)
    claims = (
        Claim(1, 0, "a"),
        Claim(0, 1, "a"),
        Claim(0, 0, "a"),
        Claim(0, 0, "b"),
        Claim(0, 2, "b"),
        Claim(0, 1, "b"),
    )
    assert verdicts(log, *claims) == [E, E, A, R, E, A]
    assert log.owner(0) == Claim(0, 1, "b")
    assert log.claims(0) == (Claim(0, 0, "a"), Claim(0, 1, "b"))


def test_progress_is_advice() -> None:
    assert verdicts(decided(), LagReport("replica-0", 3, 20.0)) == [Verdict.ADVICE]


def test_what_is_forgotten_cannot_be_claimed_again() -> None:
    log = decided(Claim(0, 0, "a"), Claim(0, 1, "b"), epochs=3)
    log.forget_before(2)
    assert log.epoch_range(0) is None
    assert verdicts(log, Claim(0, 0, "c"), Claim(1, 0, "c"), Claim(2, 0, "c")) == [R, R, A]
    assert not log.is_claimed(0)


def test_forgetting_changes_no_later_decision() -> None:
    log = decided(epochs=3)
    log.forget_before(3)
    assert verdicts(log, cut(2, 9), cut(3, 2), cut(3, 4), cut(5, 9)) == [R, B, A, E]


class Compared(int):
    """A number that counts how often it is compared."""

    times = 0

    def __gt__(self, other: int) -> bool:
        self.times += 1
        return int(self) > other


def test_forgetting_looks_at_no_epoch_that_is_kept() -> None:
    log, first = decided(epochs=1_000), Compared(2)
    log.forget_before(first)

    assert [epoch for epoch in range(1_000) if log.epoch_range(epoch) is None] == [0, 1]
    assert first.times < 10


@given(st.integers(0, 5), st.integers(0, 9), st.lists(st.integers(-1, 12), max_size=6))
def test_what_is_known_are_the_epochs_since_the_last_that_was_forgotten(
    published: int, more: int, forgotten: list[int]
) -> None:
    log = Decisions.resumed(config(0), cut(published, published + 1), offset=7)
    for epoch in range(published + 1, published + 1 + more):
        log.apply(cut(epoch, epoch + 1))
    for epoch in forgotten:
        log.forget_before(epoch)

    known = [epoch for epoch in range(20) if log.epoch_range(epoch) is not None]
    assert known == list(range(max([published, *forgotten]), published + 1 + more))


@given(st.lists(any_proposal, max_size=30))
def test_whatever_is_proposed_the_epochs_tile_the_inputs(proposals: list[Proposal]) -> None:
    log = decided()
    cuts = [p for offset, p in enumerate(proposals, 1) if log.apply(p, offset) is A and isinstance(p, Cut)]
    assert [accepted.epoch for accepted in cuts] == list(range(log.last_epoch + 1))
    before = at(0)
    for accepted in cuts:
        found = log.epoch_range(accepted.epoch)
        assert found is not None
        assert (found.starts, found.ends) == (before, accepted.ends)
        assert all(found.ends[tp] >= offset for tp, offset in before.items())
        before = accepted.ends


@given(st.lists(any_claim | any_cut, max_size=40))
def test_whatever_is_proposed_an_attempt_has_one_owner(proposals: list[Proposal]) -> None:
    log = decided(epochs=5)
    accepted = [p for p in proposals if log.apply(p) is A and isinstance(p, Claim)]
    for epoch in range(5):
        assert [claim.attempt for claim in log.claims(epoch)] == list(range(len(log.claims(epoch))))
        assert list(log.claims(epoch)) == [claim for claim in accepted if claim.epoch == epoch]


@given(st.lists(any_claim | any_determinant | any_cut | any_config, max_size=40), st.integers(0, 4))
def test_who_reads_from_a_published_cut_decides_as_who_read_everything(
    proposals: list[Proposal], published: int
) -> None:
    everything = [config(0), *(cut(epoch, epoch + 1) for epoch in range(5)), *proposals]
    whole, place = Decisions(), published + 1
    for offset, proposal in enumerate(everything):
        whole.apply(proposal, offset)
    start = everything[place]
    assert isinstance(start, Cut)
    resumed = Decisions.resumed(config(0), start, place)
    for offset, proposal in enumerate(everything[place + 1 :], place + 1):
        resumed.apply(proposal, offset)
    assert (resumed.last_epoch, resumed.last_ends, resumed.config) == (whole.last_epoch, whole.last_ends, whole.config)
    for epoch in range(published + 1, whole.last_epoch + 1):
        assert resumed.epoch_range(epoch) == whole.epoch_range(epoch)
        assert resumed.claims(epoch) == whole.claims(epoch)
        assert resumed.generation_of(epoch) == whole.generation_of(epoch)
        for name in ("score", "rate"):
            assert resumed.answer(epoch, name) == whole.answer(epoch, name)


def test_the_first_answer_to_a_question_of_a_cut_epoch_counts() -> None:
    log = decided(epochs=2)
    proposed = (answer(2, "x"), answer(1, "x", by="b"), answer(1, "y"), answer(1, "x", by="b"), answer(1, name="rate"))
    assert verdicts(log, *proposed) == [E, A, R, R, A]
    assert (log.answer(1, "score"), log.answered_by(1, "score")) == (("x",), "b")
    assert (log.answer(1, "rate"), log.answered_by(1, "rate")) == ((), "a")
    assert (log.answer(0, "score"), log.answered_by(0, "score")) == (None, None)


def test_that_nobody_answered_is_an_answer() -> None:
    log = decided(answer(0, None, None), answer(0, "late", "later", by="b"), epochs=1)
    assert log.answer(0, "score") == (None, None)


def test_an_answer_in_parts_counts_when_its_last_part_has_come_and_no_part_may_be_missing() -> None:
    log = decided(epochs=1)
    first, second, third = (answer(0, text, part=(part, 3)) for part, text in enumerate("xyz"))
    assert verdicts(log, second, first, first, third) == [E, A, R, E]
    assert log.answer(0, "score") is None
    assert verdicts(log, second, third, first) == [A, A, R]
    assert log.answer(0, "score") == ("x", "y", "z")


def test_parts_of_different_answers_are_never_mixed() -> None:
    log = decided(epochs=1)
    mine = [answer(0, f"a{part}", by="a", part=(part, 2)) for part in (0, 1)]
    other = [answer(0, f"b{part}", by="b", part=(part, 2)) for part in (0, 1)]
    assert verdicts(log, mine[0], other[0], other[1], mine[1]) == [A, A, A, R]
    assert log.answer(0, "score") == ("b0", "b1")


def test_parts_that_disagree_on_their_number_are_never_mixed() -> None:
    log = decided(epochs=1)
    assert verdicts(log, answer(0, "x", part=(0, 2)), answer(0, "y", part=(1, 3)), answer(0, "y", part=(1, 2))) == [
        A,
        E,
        A,
    ]


def test_an_answer_that_broke_off_with_its_proposer_does_not_block_the_next_one() -> None:
    log = decided(answer(0, "x", by="dead", part=(0, 2)), epochs=1)
    assert verdicts(log, answer(0, "y", by="b")) == [A]
    assert log.answer(0, "score") == ("y",)


def test_answers_are_forgotten_with_their_epoch() -> None:
    log = decided(answer(0, "x"), answer(1, "y", part=(0, 2)), answer(2, "z"), epochs=3)
    log.forget_before(2)
    assert verdicts(log, answer(0, "later"), answer(1, "later", part=(1, 2))) == [R, R]
    assert [log.answer(epoch, "score") for epoch in range(3)] == [None, None, ("z",)]


@given(st.lists(any_determinant, max_size=40))
def test_an_answer_that_counts_never_changes_and_is_wholly_one_proposers(proposals: list[Determinant]) -> None:
    log = decided(epochs=5)
    counted: dict[tuple[int, str], tuple[str | None, ...]] = {}
    for proposal in proposals:
        question = proposal.epoch, proposal.name
        log.apply(proposal)
        found = log.answer(*question)
        assert question not in counted or found == counted[question]
        if found is not None:
            counted[question] = found
            by = log.answered_by(*question)
            said = {p.answers for p in proposals if (p.epoch, p.name, p.proposer) == (*question, by)}
            assert any(found[: len(part)] == part for part in said)


def test_positions_of_other_topics_are_other_inputs() -> None:
    log = decided(cut(0, 3))
    other = Cut(1, Offsets({TopicPartition("other", 0): 9}), 0, 0, "orderer-0")
    assert verdicts(log, other) == [B]


def test_a_range_says_whether_its_cut_is_a_barrier_also_to_who_begins_there() -> None:
    barrier = replace(cut(1, 2), barrier=True)
    log = decided(cut(0, 1), barrier, cut(2, 3))
    assert [found.barrier for epoch in range(3) if (found := log.epoch_range(epoch))] == [False, True, False]
    resumed = Decisions.resumed(config(0), barrier, 2).epoch_range(1)
    assert resumed is not None
    assert resumed.barrier


def test_the_first_accepted_cut_says_whether_an_epoch_is_a_barrier() -> None:
    log = decided(cut(0, 1))
    assert verdicts(log, replace(cut(0, 1), barrier=True)) == [Verdict.REPEATED]
    found = log.epoch_range(0)
    assert found is not None
    assert not found.barrier
