"""The orderer's loop: it proposes again what the log does not show, and goes on without a leader."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tandem.kafka.tail import Record
from tandem.metrics import OrdererMetrics
from tandem.orderer.loop import Clocks, OrdererLoop, OrdererSettings
from tandem.protocol.codec import encode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.pace import Pace, PaceSettings
from tandem.protocol.silence import SilenceBound
from tandem.protocol.values import Claim, Config, Cut, Positions, Proposal, TopicIds, TopicPartition
from tandem.report import HeldInput
from tandem.waits import Waits

INPUT = TopicPartition("in", 0)
MOST_MS = 120.0
AGAIN_MS = 500.0
CONFIG = Config(0, "c0ffee", Positions({INPUT: 0}), "replica-0")


class Bench:
    """A loop whose log shows what the test says, and nothing else."""

    def __init__(self, decisions: Decisions | None = None) -> None:
        self.now_ms, self.wall_ms, self.leads = 0.0, 0, True
        self.available: int | None = 1
        self.waits = Waits(0.0)
        self.same = True
        self.counted: int | None = None
        self.proposed: list[Proposal] = []
        self.registry = CollectorRegistry()
        self._log: list[Record] = []
        self._offset = 0
        decisions = decisions or Decisions()
        pace = Pace(PaceSettings(), SilenceBound(20.0, MOST_MS))
        pace.resume(decisions.last_epoch)
        anything: Any = self
        self._loop = OrdererLoop(
            OrdererSettings("me", 1_000, repropose_ms=AGAIN_MS),
            decisions,
            pace,
            anything,
            anything,
            anything,
            anything,
            lambda: self.leads,
            Clocks(lambda: self.now_ms, lambda: self.wall_ms),
            OrdererMetrics(self.registry, "job", "me"),
            self.waits.task(),
        )
        self.shows(CONFIG)

    def shows(self, *proposals: Proposal) -> None:
        """The log shows these next."""
        for proposal in proposals:
            self._log.append(Record("log", self._offset, encode_proposal(proposal), 0))
            self._offset += 1

    def after(self, ms: float) -> list[Proposal]:
        """What the loop proposes when it looks, so much later."""
        self.now_ms += ms
        before = len(self.proposed)
        self._loop.step()
        return self.proposed[before:]

    # What the loop uses: the log, the appender, and the inputs.

    def poll(self, _timeout_s: float) -> list[Record]:
        news, self._log = self._log, []
        return news

    def append(self, proposal: Proposal) -> None:
        self.proposed.append(proposal)

    def ends(self) -> Positions | None:
        return None if self.available is None else Positions({INPUT: self.available})

    def refresh(self, _read_up_to: Positions, _now_ms: float, _known: TopicIds) -> None:
        pass

    def are_same(self, _known: TopicIds, _now_ms: float) -> bool:
        return self.same

    def waiting(self, available: Positions, last: Positions) -> int:
        return available.records_since(last)

    held: tuple[HeldInput, ...] = ()
    topic_ids: TopicIds = (("in", "an-id"),)

    # ... and the sizes of what is in them.

    def bounded(
        self, _last: Positions, ends: Positions, _turn: int, _now_ms: float, _available: Positions
    ) -> Positions:
        return ends if self.counted is None else Positions({INPUT: self.counted})

    def meanwhile(self, _now_ms: float) -> None:
        pass

    def shown(self, metric: str) -> float | None:
        return self.registry.get_sample_value(metric, {"job_name": "job", "orderer": "me"})


@pytest.fixture
def bench() -> Bench:
    return Bench()


def cut_of(proposals: list[Proposal]) -> Cut:
    """The only proposal, a cut."""
    (cut,) = proposals
    assert isinstance(cut, Cut)
    return cut


def test_a_cut_that_the_log_does_not_show_is_proposed_again_after_a_while(bench: Bench) -> None:
    assert cut_of(bench.after(0.0)).epoch == 0
    assert bench.after(AGAIN_MS / 2) == []
    assert cut_of(bench.after(AGAIN_MS)).epoch == 0


def test_what_a_cut_waits_for_is_told_until_it_is_accepted(bench: Bench) -> None:
    bench.available = None
    bench.after(0.0)
    assert bench.waits.words.startswith("the cut of epoch 0: Kafka, which does not say where the inputs end, for ")

    bench.available, bench.same = 1, False
    bench.after(1_000.0)
    assert "whether the inputs are the topics that they were" in bench.waits.words

    bench.same, bench.counted = True, 0
    bench.after(1_000.0)
    assert "records of the inputs, which are counted before they are cut" in bench.waits.words

    bench.counted = None
    cut = cut_of(bench.after(1_000.0))
    assert "its proposal in the ordering log" in bench.waits.words
    bench.shows(cut)
    bench.after(1.0)
    assert bench.waits.words == ""


def test_without_input_nothing_is_waited_for(bench: Bench) -> None:
    bench.available = None
    bench.after(0.0)
    bench.available = 0
    bench.after(1_000.0)
    assert bench.waits.words == ""


def test_a_cut_that_the_log_shows_is_not_proposed_again(bench: Bench) -> None:
    bench.shows(cut_of(bench.after(0.0)))
    assert bench.after(AGAIN_MS * 2) == []


def test_without_a_leader_somebody_proposes_after_the_bound_and_goes_on_at_once(bench: Bench) -> None:
    bench.leads = False
    assert bench.after(0.0) == []
    first = cut_of(bench.after(MOST_MS + 1))
    bench.shows(first, Claim(0, 0, "replica-0.1"))
    bench.available = 2
    assert bench.after(1.0) == []  # it reads that its cut was accepted
    assert cut_of(bench.after(1.0)).epoch == 1


def test_the_time_of_epochs_never_goes_back_though_clocks_do(bench: Bench) -> None:
    bench.wall_ms = 1_000
    first = cut_of(bench.after(0.0))
    bench.shows(first, Claim(0, 0, "replica-0.1"))
    bench.wall_ms, bench.available = 400, 2

    second = cut_of(bench.after(1.0) + bench.after(1.0))
    assert [(cut.epoch, cut.time_ms) for cut in (first, second)] == [(0, 1_000), (1, 1_000)]


def test_nor_does_it_when_all_orderers_start_again_with_earlier_clocks() -> None:
    published = Cut(7, Positions({INPUT: 5}), 1_000, 0, "who led before")
    bench = Bench(Decisions.resumed(CONFIG, published, 30))
    bench.shows(Claim(7, 0, "replica-0.1"))
    bench.wall_ms, bench.available = 400, 6

    cut = cut_of(bench.after(1.0) + bench.after(1.0))
    assert (cut.epoch, cut.time_ms) == (8, 1_000)


def test_before_the_first_epoch_it_shows_none_and_after_a_restart_the_last_one() -> None:
    assert Bench().shown("tandem_ordering_epoch") == -1
    published = Cut(7, Positions({INPUT: 5}), 1_000, 0, "who led before")
    assert Bench(Decisions.resumed(CONFIG, published, 30)).shown("tandem_ordering_epoch") == 7


def test_what_waits_is_shown_also_while_nobody_computes_the_last_epoch(bench: Bench) -> None:
    bench.shows(cut_of(bench.after(0.0)))
    bench.available = 41
    bench.after(2_000.0)

    assert bench.shown("tandem_input_lag_records") == 40


def test_nothing_is_cut_before_it_is_counted_and_no_more_than_is_counted(bench: Bench) -> None:
    bench.available, bench.counted = 5, 0
    assert bench.after(0.0) == []
    bench.counted = 3
    assert cut_of(bench.after(1.0)).ends == Positions({INPUT: 3})


def test_nothing_is_cut_while_nobody_knows_whether_the_inputs_are_the_same_topics(bench: Bench) -> None:
    bench.same = False
    assert bench.after(0.0) == []
    bench.same = True
    assert cut_of(bench.after(1.0)).epoch == 0


def test_a_cut_says_which_topics_the_inputs_are_where_an_older_config_does_not(bench: Bench) -> None:
    assert cut_of(bench.after(0.0)).topic_ids == (("in", "an-id"),)


def test_a_cut_says_nothing_of_topics_that_the_config_names() -> None:
    decisions = Decisions()
    decisions.apply(replace(CONFIG, topic_ids=(("in", "an-id"),)))
    assert cut_of(Bench(decisions).after(0.0)).topic_ids == ()
