"""Where the inputs end is asked a few times a second, and known by what was read meanwhile."""

from __future__ import annotations

import pytest

from tandem.orderer.ends import ASKED_EVERY_MS, KnownEnds
from tandem.protocol.values import Offsets, TopicPartition

A, B = TopicPartition("in", 0), TopicPartition("in", 1)
SOON, LATER = ASKED_EVERY_MS / 2, ASKED_EVERY_MS


def at(a: int, b: int) -> Offsets:
    return Offsets({A: a, B: b})


class Inputs:
    """What the brokers say when they are asked, and how far each partition is read."""

    def __init__(self) -> None:
        self.said: Offsets | None = at(5, 7)
        self.read: dict[TopicPartition, int] = {A: 5, B: 7}
        self.asked = 0
        self.last = at(0, 0)
        self._ends = KnownEnds(self._ask, lambda: self.read)

    def _ask(self) -> Offsets | None:
        self.asked += 1
        return self.said

    def ends(self, now_ms: float) -> Offsets | None:
        return self._ends.now(self.last, now_ms)


@pytest.fixture
def inputs() -> Inputs:
    return Inputs()


def test_what_was_read_since_is_there_without_asking(inputs: Inputs) -> None:
    assert inputs.ends(0.0) == at(5, 7)
    inputs.read[B] = 9
    assert inputs.ends(SOON) == at(5, 9)
    assert inputs.asked == 1


def test_what_the_brokers_said_counts_though_it_is_not_read_yet(inputs: Inputs) -> None:
    inputs.said, inputs.read[A] = at(500, 7), 20
    inputs.ends(0.0)
    inputs.read[B] = 8
    assert inputs.ends(SOON) == at(500, 8)


def test_an_old_answer_is_not_relied_on_however_much_is_read(inputs: Inputs) -> None:
    """The brokers of one input may be away, while those of another go on."""
    inputs.ends(0.0)
    inputs.said, inputs.read[B] = None, 9
    assert inputs.ends(LATER) is None


def test_brokers_that_do_not_answer_are_asked_each_time(inputs: Inputs) -> None:
    inputs.said = None
    assert [inputs.ends(now) for now in (0.0, 1.0, 2.0)] == [None] * 3
    inputs.said = at(6, 7)
    assert inputs.ends(3.0) == at(6, 7)
    assert inputs.asked == 4


def test_they_are_asked_each_time_while_a_partition_is_not_followed(inputs: Inputs) -> None:
    for followed in ((), (A,)):
        inputs.read = dict.fromkeys(followed, 5)
        inputs.ends(0.0)
        inputs.said = at(6, 8)
        assert inputs.ends(SOON) == at(6, 8)
    assert inputs.asked == 4


def test_an_input_that_has_lost_what_was_read_ends_where_the_brokers_say(inputs: Inputs) -> None:
    """After an unclean election, say: a cut of records that are gone could never be computed."""
    inputs.read = {A: 9, B: 7}
    assert [inputs.ends(now) for now in (0.0, SOON)] == [at(5, 7)] * 2
    assert inputs.asked == 2


def test_the_ends_are_never_before_what_another_orderer_has_cut(inputs: Inputs) -> None:
    inputs.ends(0.0)
    inputs.last = at(8, 7)
    assert inputs.ends(SOON) == at(8, 7)
