"""What an orderer decides, by events and effects: it cuts again what the log does not show, and goes on without a leader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tandem.core.effects import Append
from tandem.core.events import LogRecord, Tick
from tandem.core.orderer import (
    CountOn,
    CountRecords,
    InputsSeen,
    Leading,
    LookAtInputs,
    OrdererCore,
    OrdererEffect,
    OrdererSettings,
    RecordsCounted,
    WatchInputs,
)
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.pace import Pace, PaceSettings
from tandem.protocol.silence import SilenceBound
from tandem.protocol.values import Claim, Config, Cut, Positions, Proposal, TopicIds, TopicPartition

INPUT = TopicPartition("in", 0)
MOST_MS = 120.0
AGAIN_MS = 500.0
LOOK_MS = 1_000.0
BARRIER_MS = 5_000
CONFIG = Config(0, "c0ffee", Positions({INPUT: 0}), "replica-0")
IDS: TopicIds = (("in", "an-id"),)


def at(offset: int) -> Positions:
    return Positions({INPUT: offset})


class Bench:
    """A core, and the answers to what it asks: `available` records, of which `counted` are counted (None: all)."""

    def __init__(
        self, decisions: Decisions | None = None, idle_ms: float | None = None, config: Config = CONFIG
    ) -> None:
        self.now_ms, self.wall_ms, self.leads = 0.0, 0, True
        self.available: int | None = 1
        self.same = True
        self.counted: int | None = None
        self.offset = 0
        self.effects: list[OrdererEffect] = []
        pace = Pace(PaceSettings(idle_epoch_interval_ms=idle_ms), SilenceBound(20.0, MOST_MS))
        settings = OrdererSettings("me", 1_000, repropose_ms=AGAIN_MS, look_ms=LOOK_MS, barrier_ms=BARRIER_MS)
        self.core = OrdererCore(settings, decisions or Decisions(), pace)
        self.shows(config)

    def shows(self, *proposals: Proposal) -> None:
        """The log shows these next."""
        for proposal in proposals:
            assert self.core.step(LogRecord(self.offset, proposal), self.now_ms) == ()
            self.offset += 1

    def after(self, ms: float, *shown: Proposal) -> list[Cut]:
        """What is proposed in a round so much later, in which the log shows `shown`."""
        self.now_ms += ms
        self.effects = []
        self.core.step(Leading(self.leads), self.now_ms)
        self.shows(*shown)
        return self._cuts(self.core.step(Tick(), self.now_ms))

    def _cuts(self, effects: Sequence[OrdererEffect]) -> list[Cut]:
        cuts: list[Cut] = []
        for effect in effects:
            self.effects.append(effect)
            match effect:
                case LookAtInputs(last):
                    available = None if self.available is None else at(self.available)
                    waiting = 0 if available is None else available.records_since(last)
                    cuts += self._cuts(self.core.step(InputsSeen(available, waiting, self.same, IDS), self.now_ms))
                case CountRecords():
                    ends = effect.ends if self.counted is None else at(self.counted)
                    cuts += self._cuts(self.core.step(RecordsCounted(ends, self.wall_ms, 5), self.now_ms))
                case Append(Cut() as cut):
                    cuts.append(cut)
        return cuts

    @property
    def waits_for(self) -> str:
        return ": ".join(self.core.state.waits_for or ())


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_round_looks_counts_and_proposes(bench: Bench) -> None:
    assert bench.after(0.0) == [Cut(0, at(1), 0, 5, "me", IDS)]
    assert [type(effect) for effect in bench.effects] == [WatchInputs, LookAtInputs, CountRecords, Append]
    assert bench.core.state.proposed == 1


def test_before_the_config_nothing_is_done() -> None:
    core = OrdererCore(OrdererSettings("me", 1), Decisions(), Pace(PaceSettings(), SilenceBound(20.0, MOST_MS)))
    assert core.step(Tick(), 0.0) == ()


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


def test_who_does_not_lead_does_not_look_before_the_silence_is_remarkable(bench: Bench) -> None:
    (first,) = bench.after(0.0)
    other = replace(first, proposer="another")
    bench.leads = False
    bench.after(1.0, other, Claim(0, 0, "replica-0.1"))
    assert [type(effect) for effect in bench.effects] == [WatchInputs]


def test_how_long_to_wait_for_news_depends_on_who_is_to_cut(bench: Bench) -> None:
    settings = OrdererSettings("me", 1)
    (first,) = bench.after(0.0)
    assert bench.core.wait_ms == settings.tick_ms
    bench.shows(replace(first, proposer="another"))
    assert bench.core.wait_ms == settings.idle_tick_ms
    bench.leads = False
    bench.after(1.0, Claim(0, 0, "replica-0.1"))
    assert bench.core.wait_ms == settings.watching_tick_ms


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


def barriers(bench: Bench, *wall_ms: int) -> list[bool]:
    """Whether each of the next cuts is a barrier, which are made at these times, accepted and claimed."""
    found = []
    for wall in wall_ms:
        bench.wall_ms, epoch = wall, bench.core.decisions.last_epoch + 1
        bench.available = epoch + 1
        (cut,) = bench.after(10)
        bench.shows(cut, Claim(epoch, 0, "r"))
        found.append(cut.barrier)
    return found


def test_the_first_epoch_of_a_period_is_a_barrier_where_the_generation_asks_for_them() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    assert barriers(bench, 4_000, 4_999, 5_002, 5_003, 17_000, 17_001) == [False, False, True, False, True, False]
    assert barriers(Bench(), 4_000, 4_999, 5_002, 5_003) == [False] * 4, "nobody asks"


def test_a_cut_that_gets_lost_is_a_barrier_when_it_is_cut_again() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    barriers(bench, 4_000)
    bench.wall_ms, bench.available = 5_002, 2
    (lost,) = bench.after(10)
    bench.wall_ms = 5_600
    (again,) = bench.after(AGAIN_MS)
    assert lost.barrier
    assert again.barrier
    assert lost.epoch == again.epoch == 1


def test_where_another_s_cut_without_it_was_first_the_next_one_is_the_barrier() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    barriers(bench, 4_000)
    bench.wall_ms, bench.available = 5_002, 2
    (mine,) = bench.after(10)
    bench.shows(replace(mine, proposer="other", time_ms=4_998, barrier=False), mine, Claim(1, 0, "r"))
    assert barriers(bench, 5_003) == [True]


def test_when_input_ends_one_epoch_more_is_cut_as_the_barrier_that_is_owed() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    barriers(bench, 4_000, 4_500)
    bench.wall_ms = 4_500 + BARRIER_MS
    assert bench.after(BARRIER_MS - 1) == []
    (empty,) = bench.after(1)
    assert (empty.epoch, empty.ends, empty.barrier) == (2, at(2), True)
    bench.shows(empty, Claim(2, 0, "r"))
    bench.wall_ms += 10 * BARRIER_MS
    assert bench.after(10 * BARRIER_MS) == [], "nothing came since"


def test_no_epoch_is_owed_where_nobody_asks_for_barriers() -> None:
    bench = Bench()
    barriers(bench, 4_000, 4_500)
    bench.wall_ms = 1_000_000
    assert bench.after(10 * BARRIER_MS) == []
