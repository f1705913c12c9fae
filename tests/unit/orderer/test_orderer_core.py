"""What an orderer decides, by events and effects: it cuts again what the log does not show, and goes on without a leader."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.core.effects import Append
from tandem.core.events import Tick
from tandem.core.orderer import OrdererCore, OrdererSettings
from tandem.core.ordering import (
    CountOn,
    CountRecords,
    InputsSeen,
    Leading,
    LookAtInputs,
    RecordsCounted,
    WatchInputs,
)
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.pace import Pace, PaceSettings
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Cut
from unit.orderer.orderer_bench import AGAIN_MS, CONFIG, IDS, LOOK_MS, MOST_MS, Bench, at


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_round_looks_counts_and_proposes(bench: Bench) -> None:
    assert bench.after(0.0) == [Cut(0, at(1), 0, 5, "me", IDS)]
    assert [type(effect) for effect in bench.effects] == [WatchInputs, LookAtInputs, CountRecords, Append]
    assert bench.core.state.proposed == 1


def test_before_the_config_nothing_is_done() -> None:
    core = OrdererCore(OrdererSettings("me", 1), Decisions(), Pace(PaceSettings(), AdaptiveTimeout(20.0, MOST_MS)))
    assert core.step(Tick(), 0.0) == ()


def test_in_a_log_that_has_ended_nothing_is_done(bench: Bench) -> None:
    bench.after(0.0)
    bench.shows(replace(CONFIG, generation=1, lane=-1, moved=True))
    assert bench.after(2 * AGAIN_MS) == []
    assert bench.effects == []


def test_a_cut_that_the_log_does_not_show_is_proposed_again_after_a_while(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    assert bench.after(AGAIN_MS - 1) == []
    assert [type(effect) for effect in bench.effects] == [WatchInputs, CountOn]
    (again,) = bench.after(1.0)
    assert (first.epoch, again.epoch, bench.core.state.proposed) == (0, 0, 2)


def test_a_cut_that_the_log_shows_is_not_proposed_again(bench: Bench) -> None:
    assert bench.after(0.0, *bench.after(0.0)) == []
    assert bench.after(AGAIN_MS * 2) == []
    assert (bench.core.state.epoch, bench.core.state.won) == (0, 1)


def test_what_a_cut_waits_for_is_told_until_it_is_accepted(bench: Bench) -> None:
    bench.available = None
    assert bench.after(0.0) == []
    assert bench.waits_for == "the cut of epoch 0: Kafka, which does not say where the inputs end"

    bench.available, bench.same = 1, False
    assert bench.after(1.0) == []
    assert "whether the inputs are the topics that they were" in bench.waits_for

    bench.same, bench.counted = True, 0
    assert bench.after(1.0) == []
    assert "records of the inputs, which are counted before they are cut" in bench.waits_for

    bench.counted = None
    (cut,) = bench.after(1.0)
    assert "its proposal in the ordering log" in bench.waits_for
    bench.shows(cut)
    assert bench.waits_for == ""


def test_without_input_nothing_is_waited_for(bench: Bench) -> None:
    bench.available = None
    bench.after(0.0)
    bench.available = 0
    assert bench.after(1.0) == []
    assert bench.waits_for == ""


def test_without_input_an_epoch_is_cut_when_one_is_wanted() -> None:
    bench = Bench(idle_ms=200.0)
    (first,) = bench.after(0.0)
    bench.shows(first, Claim(0, 0, "replica-0.1"))
    assert bench.after(199.0) == []
    assert [cut.ends for cut in bench.after(1.0)] == [at(1)]


def test_without_a_leader_somebody_proposes_after_the_bound_and_goes_on_at_once(bench: Bench) -> None:
    bench.leads = False
    assert bench.after(0.0) == []
    (first,) = bench.after(MOST_MS + 1)
    bench.available = 2
    assert bench.after(1.0, first, Claim(0, 0, "replica-0.1")) == []  # it reads that its cut was accepted
    assert [cut.epoch for cut in bench.after(1.0)] == [1]


def test_after_a_take_over_nobody_waits_for_the_leader_which_may_have_died_with_the_owner(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    bench.leads, bench.available = False, 2
    other = replace(first, proposer="the leader")
    assert bench.after(1.0, other, Claim(0, 0, "replica-0.1")) == []
    (second,) = bench.after(1.0, Claim(0, 1, "replica-1.1"))
    assert second.epoch == 1

    bench.available = 3  # the leader was quicker, so it lives
    assert bench.after(1.0, replace(second, proposer="the leader")) == []
    assert bench.after(1.0, Claim(1, 0, "replica-0.1")) == []


def test_nor_where_the_epoch_behind_was_cut_before_the_owner_died(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    bench.leads, bench.available = False, 2
    first = replace(first, proposer="the leader")
    second = replace(first, epoch=1, ends=at(2))
    assert bench.after(1.0, first, Claim(0, 0, "replica-0.1"), second) == []
    bench.available = 3
    assert bench.after(1.0, Claim(0, 1, "replica-1.1")) == []
    (third,) = bench.after(1.0, Claim(1, 0, "replica-1.1"))
    assert third.epoch == 2


def test_who_does_not_lead_does_not_look_before_the_silence_is_remarkable(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    other = replace(first, proposer="another")
    bench.leads = False
    bench.after(1.0, other, Claim(0, 0, "replica-0.1"))
    assert [type(effect) for effect in bench.effects] == [WatchInputs]


def follows(bench: Bench) -> bool:
    """Whether the look of the last round has the inputs read on."""
    (look,) = (effect for effect in bench.effects if isinstance(effect, LookAtInputs))
    return look.follow


def test_the_leader_reads_the_inputs_on_and_while_nothing_is_cut_so_do_the_others(bench: Bench) -> None:
    """The first record is seen as it comes. But a busy leader that is a bit late has nobody else read its epochs, too."""
    (first,) = bench.after(0.0)
    assert follows(bench)
    bench.leads, bench.available = False, 2
    bench.after(1.0, replace(first, proposer="another"), Claim(0, 0, "replica-0.1"))
    bench.after(15.0)
    assert not follows(bench)
    bench.leads = True
    bench.after(0.0)
    assert follows(bench)
    bench.leads = False
    bench.after(2 * AGAIN_MS)
    assert follows(bench)


def test_others_do_not_read_the_epochs_of_a_leader_whose_epochs_take_long(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    bench.leads, bench.available = False, 2
    bench.after(2 * AGAIN_MS, replace(first, proposer="another"))
    bench.after(2 * AGAIN_MS, Claim(0, 0, "replica-0.1"))
    bench.after(30.0)
    assert not follows(bench)


def test_how_long_to_wait_for_news_depends_on_who_is_to_cut() -> None:
    bench, settings = Bench(pace=PaceSettings(most_rest_ms=0.0)), OrdererSettings("me", 1)
    (first,) = bench.after(0.0)
    assert bench.core.wait_ms(bench.now_ms) == settings.tick_ms
    bench.shows(replace(first, proposer="another"))
    assert bench.core.wait_ms(bench.now_ms) == settings.idle_tick_ms
    bench.leads = False
    bench.after(1.0, Claim(0, 0, "replica-0.1"))
    assert bench.core.wait_ms(bench.now_ms) == settings.tick_ms, "who leads may die just now"
    bench.after(settings.repropose_ms)
    assert bench.core.wait_ms(bench.now_ms) == settings.watching_tick_ms


@pytest.mark.parametrize(("available", "waits"), [(1_000, True), (1_001, False)])
def test_the_next_cut_waits_a_moment_unless_records_were_left(available: int, waits: bool) -> None:
    bench = Bench()
    bench.available = available
    (first,) = bench.after(0.0)
    bench.after(0.0, first)
    bench.available = 1_500
    assert bool(bench.after(4.0, Claim(0, 0, "replica-0.1"))) is not waits
    assert bool(bench.after(4.0)) is waits


def test_who_leads_counts_on_while_the_pace_rests(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    bench.after(0.0, first)
    bench.after(4.0, Claim(0, 0, "replica-0.1"))
    assert [type(effect) for effect in bench.effects] == [WatchInputs, CountOn]


def test_who_leads_waits_for_a_record_where_there_is_none_to_be_cut(bench: Bench) -> None:
    settings = OrdererSettings("me", 1)
    assert bench.core.input_wait_ms == 0.0, "it has not looked yet"
    bench.available = 0
    bench.after(0.0)
    assert bench.core.input_wait_ms == settings.input_tick_ms
    bench.available = 1
    bench.after(1.0)
    assert bench.core.input_wait_ms == 0.0, "its cut is on its way through the log"


def test_who_does_not_lead_waits_for_no_record(bench: Bench) -> None:
    bench.leads, bench.available = False, 0
    bench.after(2 * AGAIN_MS)
    assert [type(effect) for effect in bench.effects] == [WatchInputs, LookAtInputs]
    assert bench.core.input_wait_ms == 0.0


@pytest.mark.parametrize("beats", [False, True])
def test_the_next_look_is_when_a_cut_is_due_and_then_a_generators_when_it_beats(beats: bool) -> None:
    bench = Bench(pace=PaceSettings(min_epoch_interval_ms=18.0), beats=beats)
    settings = OrdererSettings("me", 1)
    (first,) = bench.after(0.0)
    bench.after(0.0, first, Claim(0, 0, "replica-0.1"))
    assert bench.core.wait_ms(bench.now_ms + 10.0) == settings.tick_ms, "due in 8 ms"
    assert bench.core.wait_ms(bench.now_ms + 15.0) == 3.0
    bench.available = 1
    bench.after(20.0)
    assert bench.core.input_wait_ms == (0.0 if beats else settings.input_tick_ms), "it is due, and all is cut"
    assert bench.core.wait_ms(bench.now_ms) == settings.tick_ms


def test_the_time_of_epochs_never_goes_back_though_clocks_do(bench: Bench) -> None:
    bench.wall_ms = 1_000
    (first,) = bench.after(0.0)
    bench.wall_ms, bench.available = 400, 2
    (second,) = bench.after(1.0, first, Claim(0, 0, "replica-0.1"))
    assert [(cut.epoch, cut.time_ms) for cut in (first, second)] == [(0, 1_000), (1, 1_000)]


def test_nor_does_it_when_all_orderers_start_again_with_earlier_clocks() -> None:
    bench = Bench(Decisions.resumed(CONFIG, Cut(7, at(5), 1_000, 0, "who led before"), 30))
    assert bench.core.state.epoch == 7
    bench.wall_ms, bench.available = 400, 6
    (cut,) = bench.after(1.0, Claim(7, 0, "replica-0.1"))
    assert (cut.epoch, cut.time_ms) == (8, 1_000)


def test_a_leader_looks_from_time_to_time_how_much_waits_also_while_no_cut_is_due(bench: Bench) -> None:
    bench.after(0.0, *bench.after(0.0))
    bench.available = 41
    bench.after(LOOK_MS - 1)
    assert bench.core.state.lag_records == 1
    assert bench.after(1.0) == []
    assert bench.effects[1:] == [CountOn(), LookAtInputs(at(1), IDS, to_cut=False)]
    assert bench.core.state.lag_records == 40


def test_nothing_is_cut_before_it_is_counted_and_no_more_than_is_counted(bench: Bench) -> None:
    bench.available, bench.counted = 5, 0
    assert bench.after(0.0) == []
    bench.counted = 3
    assert [cut.ends for cut in bench.after(1.0)] == [at(3)]


def test_what_was_counted_for_an_epoch_that_was_cut_meanwhile_is_of_no_use(bench: Bench) -> None:
    core = bench.core
    core.step(Leading(True), 0.0)
    core.step(Tick(), 0.0)
    (count,) = core.step(InputsSeen(at(1), 1, True, IDS), 0.0)
    assert count == CountRecords(at(0), at(1), at(1), 0)
    bench.shows(Cut(0, at(1), 0, 0, "another"))
    assert core.step(RecordsCounted(at(1), 0, 5), 1.0) == ()


def test_nothing_is_cut_while_nobody_knows_whether_the_inputs_are_the_same_topics(bench: Bench) -> None:
    bench.same = False
    assert bench.after(0.0) == []
    bench.same = True
    assert [cut.epoch for cut in bench.after(1.0)] == [0]


def test_a_cut_says_nothing_of_topics_that_the_config_names() -> None:
    decisions = Decisions()
    decisions.apply(replace(CONFIG, topic_ids=IDS))
    (cut,) = Bench(decisions).after(0.0)
    assert cut.topic_ids == ()


def test_what_is_decided_about_earlier_epochs_is_forgotten(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    bench.available = 2
    (second,) = bench.after(1.0, first, Claim(0, 0, "replica-0.1"))
    bench.shows(second)
    assert bench.core.verdict is Verdict.ACCEPTED
    assert bench.core.decisions.epoch_range(0) is None


def test_its_state_is_the_same_object_while_nothing_changes(bench: Bench) -> None:
    bench.after(0.0)
    state = bench.core.state
    bench.after(1.0)
    assert bench.core.state is state
