"""The orderer's loop: it asks the log, the inputs and the election, and shows in metrics and tasks what the core tells."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tandem.core.orderer import OrdererCore, OrdererSettings
from tandem.kafka.errors import LostInputError, RecreatedTopicError
from tandem.kafka.tail import Record
from tandem.orderer.loop import Clocks, OrdererLoop, Ports
from tandem.protocol.codec import encode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.pace import Pace, PaceSettings
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Config, Cut, Offsets, Proposal, TopicIds, TopicPartition
from tandem.status.metrics import OrdererMetrics
from tandem.status.report import HeldInput
from tandem.waits import Waits

INPUT = TopicPartition("in", 0)
MOST_MS = 120.0
AGAIN_MS = 500.0
SHOWN = ("orderer_leading", "ordering_epoch", "input_lag_records", "cuts_proposed_total", "cuts_won_total")
CONFIG = Config(0, "c0ffee", Offsets({INPUT: 0}), "replica-0")


class Bench:
    """A loop whose log shows what the test says, and nothing else."""

    def __init__(self, decisions: Decisions | None = None) -> None:
        self.now_ms, self.wall_ms, self.leads = 0.0, 0, True
        self.available: int | None = 1
        self.waits = Waits(0.0)
        self.same = True
        self.counted: int | None = None
        self.read: dict[TopicPartition, int] = {}
        self.lost: LostInputError | None = None
        self.cause: LostInputError | None = None
        self.proposed: list[Proposal] = []
        self.registry = CollectorRegistry()
        self._log: list[Record] = []
        self._offset = 0
        self.polled_s: list[float] = []
        self.waited_s: list[float] = []
        self.can_wait = True
        pace = Pace(PaceSettings(), AdaptiveTimeout(20.0, MOST_MS))
        anything: Any = self
        clocks = Clocks(lambda: self.now_ms, lambda: self.wall_ms)
        self.loop = OrdererLoop(
            OrdererCore(OrdererSettings("me", 1_000, repropose_ms=AGAIN_MS), decisions or Decisions(), pace),
            Ports(anything, anything, anything, anything, lambda: self.leads, clocks),
            OrdererMetrics(self.registry, "job", "me"),
            self.waits.task(),
        )
        self.shows(CONFIG)

    def shows(self, *proposals: Proposal) -> None:
        """The log shows these next."""
        for proposal in proposals:
            self._log.append(Record("log", self._offset, encode_proposal(proposal), 0))
            self._offset += 1

    def foreign(self) -> None:
        """The log shows what is no proposal."""
        self._log.append(Record("log", self._offset, b"?", 0))
        self._offset += 1

    def after(self, ms: float) -> list[Proposal]:
        """What the loop proposes when it looks, so much later."""
        self.now_ms += ms
        before = len(self.proposed)
        self.loop.step()
        return self.proposed[before:]

    # What the loop uses: the log, the appender, and the inputs.

    def poll(self, timeout_s: float) -> list[Record]:
        self.polled_s.append(timeout_s)
        news, self._log = self._log, []
        return news

    def append(self, proposal: Proposal) -> None:
        self.proposed.append(proposal)

    def serve(self) -> None:
        self.served += 1

    def ends(self) -> Offsets | None:
        self.asked += 1
        return None if self.available is None else Offsets({INPUT: self.available})

    def refresh(self, _read_up_to: Offsets, _now_ms: float, _known: TopicIds) -> None:
        pass

    def are_same(self, _known: TopicIds, _now_ms: float) -> bool:
        return self.same

    def waiting(self, available: Offsets, last: Offsets) -> int:
        return available.records_since(last)

    served = asked = 0
    partitions: tuple[TopicPartition, ...] = (INPUT,)
    held: tuple[HeldInput, ...] = ()
    topic_ids: TopicIds = (("in", "an-id"),)

    # ... and the sizes of what is in them.

    def cause_of(self, loss: LostInputError, _known: TopicIds) -> LostInputError:
        return self.cause or loss

    def bounded(self, _last: Offsets, ends: Offsets, _turn: int, _now_ms: float, _available: Offsets) -> Offsets:
        if self.lost is not None:
            raise self.lost
        return ends if self.counted is None else Offsets({INPUT: self.counted})

    def follow(self, last: Offsets, inputs: tuple[TopicPartition, ...], _now_ms: float) -> None:
        self.read = {tp: last[tp] for tp in inputs} | self.read

    def wait(self, timeout_s: float) -> bool:
        if self.lost is not None:
            raise self.lost
        if self.can_wait:
            self.waited_s.append(timeout_s)
        return self.can_wait

    def read_to(self) -> dict[TopicPartition, int]:
        return self.read

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


def test_a_cut_is_proposed_with_what_the_clock_and_the_inputs_say(bench: Bench) -> None:
    bench.wall_ms, bench.available, bench.counted = 1_000, 5, 3
    cut = cut_of(bench.after(0.0))
    assert (cut.ends, cut.time_ms, cut.topic_ids) == (Offsets({INPUT: 3}), 1_000, (("in", "an-id"),))
    bench.shows(cut)
    bench.after(AGAIN_MS)
    assert bench.polled_s == [0.005, 0.005]
    assert bench.served == 2


def test_records_that_were_read_are_cut_without_asking_where_the_inputs_end(bench: Bench) -> None:
    bench.read = {INPUT: 1}
    ends = []
    for epoch in range(5):
        cut = cut_of(bench.after(5.0))
        ends.append(cut.ends[INPUT])
        bench.shows(cut, Claim(epoch, 0, "replica-0"))
        bench.read = {INPUT: cut.ends[INPUT] + 2}
    assert ends == [1, 3, 5, 7, 9]
    assert bench.asked == 1


def test_a_job_without_input_asks_from_time_to_time_and_sees_the_first_record_when_it_is_read(bench: Bench) -> None:
    bench.available = 0
    for _ in range(20):  # 100 ms
        assert bench.after(5.0) == []
    assert bench.asked == 2
    bench.read[INPUT] = 1
    assert cut_of(bench.after(1.0)).ends == Offsets({INPUT: 1})
    assert bench.asked == 2


def test_who_has_nothing_to_cut_waits_for_a_record_and_takes_the_log_in_without_waiting(bench: Bench) -> None:
    bench.available = 0
    bench.after(0.0)
    assert bench.waited_s == []
    bench.after(5.0)
    assert (bench.waited_s, bench.polled_s[-1]) == ([0.02], 0.0)

    bench.can_wait = False
    bench.after(5.0)
    assert (bench.waited_s, bench.polled_s[-1]) == ([0.02], 0.005), "it looks for records each 5 ms"


def test_records_that_are_gone_while_they_are_waited_for_end_it_with_the_cause(bench: Bench) -> None:
    bench.available = 0
    bench.after(0.0)
    bench.lost, bench.cause = LostInputError("in/0: offset 5 was deleted"), RecreatedTopicError("in is another one")
    with pytest.raises(RecreatedTopicError):
        bench.after(1.0)


def test_a_record_that_is_no_proposal_is_passed_over(bench: Bench) -> None:
    bench.foreign()
    assert cut_of(bench.after(0.0)).epoch == 0


def test_its_metrics_show_its_state(bench: Bench) -> None:
    shown = [bench.shown(f"tandem_{name}") for name in SHOWN]
    assert shown == [0, -1, 0, 0, 0]
    bench.shows(cut_of(bench.after(0.0)))
    bench.available = 41
    bench.after(2_000.0)  # also while nobody computes the last epoch
    bench.after(2_000.0)
    assert [bench.shown(f"tandem_{name}") for name in SHOWN] == [1, 0, 40, 1, 1]
    bench.leads = False
    bench.after(1.0)
    assert not bench.loop.state.leading
    assert bench.shown("tandem_orderer_leading") == 0


def test_after_a_restart_it_shows_the_last_epoch() -> None:
    published = Cut(7, Offsets({INPUT: 5}), 1_000, 0, "who led before")
    assert Bench(Decisions.resumed(CONFIG, published, 30)).shown("tandem_ordering_epoch") == 7


def test_records_that_are_gone_end_it(bench: Bench) -> None:
    bench.lost = LostInputError("deleted")
    with pytest.raises(LostInputError, match="deleted"):
        bench.after(1_000)


def test_records_that_are_gone_with_their_topic_end_it_with_that(bench: Bench) -> None:
    bench.lost, bench.cause = LostInputError("deleted"), RecreatedTopicError("another topic")
    with pytest.raises(RecreatedTopicError, match="another topic"):
        bench.after(1_000)
