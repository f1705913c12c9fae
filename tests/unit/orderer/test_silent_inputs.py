"""An orderer connects again where nothing comes, and not where a consumer skips what nobody may read."""

from __future__ import annotations

from itertools import pairwise

from tandem.orderer.sizes import InputSizes
from unit.orderer.fake_inputs import A, B, FakeConsumer, Message, Now, at


def test_a_consumer_that_skips_aborted_records_is_not_silent(
    sizes: InputSizes, now: Now, consumers: list[FakeConsumer]
) -> None:
    waited_for = at(0, 0), at(0, 1_000_000), 0, 0.0
    for _ in range(2):
        sizes.bounded(*waited_for)
        now.s += 6.0
    sizes.bounded(*waited_for)
    for second in range(100):
        consumers[1].skipped_to(p0=-1001, p1=second * 100)
        sizes.bounded(*waited_for)
        now.s += 1.0
    assert len(consumers) == 2, "one that is watched follows on the first"

    for _ in range(2):
        now.s += 11.0
        sizes.bounded(*waited_for)
    sizes.bounded(*waited_for)
    assert len(consumers) == 3, "it gets on no more"


def test_each_consumer_is_given_more_time_than_the_one_before_until_nothing_is_waited_for(
    sizes: InputSizes, now: Now, consumers: list[FakeConsumer]
) -> None:
    """An answer of a broker that takes ten seconds comes to none that is given up after five."""
    made_s: list[float] = []
    while len(consumers) < 7:
        if len(made_s) < len(consumers):
            made_s.append(now.s)
        sizes.bounded(at(0, 0), at(0, 1), 0, 0.0)
        now.s += 0.5
    assert [round(later - before) for before, later in pairwise(made_s)] == [6, 11, 21, 41, 41]

    consumers[-1].coming.append(Message(B, 0))
    sizes.bounded(at(0, 0), at(0, 1), 0, 0.0)
    for _ in range(3):
        sizes.bounded(at(0, 1), at(0, 2), 0, 0.0)
        now.s += 6.0
    assert len(consumers) == 8


def test_a_watched_consumer_is_closed_where_it_would_rest(
    sizes: InputSizes, now: Now, consumers: list[FakeConsumer]
) -> None:
    """Nobody polls it then, and its statistics would pile up."""
    for _ in range(3):
        sizes.bounded(at(0, 0), at(0, 1), 0, 0.0)
        now.s += 6.0
    assert "stats_cb" in consumers[1].settings
    sizes.meanwhile(5_000.0)
    assert sizes.read_to() == {}
    sizes.follow(at(0, 0), (A, B), 6_000.0)
    assert len(consumers) == 3
