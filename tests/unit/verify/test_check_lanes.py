"""The output of a job whose number of lanes has changed is whole, and what is wrong with it is still found."""

from __future__ import annotations

from dataclasses import replace

from tandem.kafka.headers import RowId
from tandem.protocol.lanes import Boundary, MovedLane, marker
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Config, Cut, Marker, Offsets, TopicPartition
from tandem.verify.check import Checker
from tandem.verify.inputs import InputBounds
from tandem.verify.report import Report

BOUNDARY = Boundary(1, 20)
MINE, OTHER = TopicPartition("in", 0), TopicPartition("in", 2)
OUT = TopicPartition("out", 0)


def report(cuts: list[Cut], published: list[int], begins: bool = False) -> Report:
    """Of lane 0 of 4, which was lane 0 of 2 before, or was not there (`begins`)."""
    checker = Checker(Delivery.EXACTLY_ONCE)
    offset = 0
    if not begins:
        old = Config(0, "two", Offsets({MINE: 0, OTHER: 0}), "r")
        log = [old, *(Cut(n, Offsets({MINE: n + 1, OTHER: n + 1}), 0, 0, "o") for n in range(3))]
        for proposal in log:
            checker.on_proposal(proposal, offset)
            offset += 1
        for epoch in range(2):  # the third was not published, and is cut again
            checker.on_marker(Marker(epoch, 0, "r", "d", 1, epoch + 1), epoch)
            checker.on_row(OUT, RowId(epoch, 0), epoch)
    moved = MovedLane(0, 4, "four", Offsets({MINE: 2}))
    checker.on_proposal(moved.config(BOUNDARY, "me"), offset)
    checker.on_proposal(moved.cut(BOUNDARY, "me", 0), offset + 1)
    checker.on_marker(marker(BOUNDARY, "me", offset, offset + 1), 10)
    for number, cut in enumerate(cuts):
        checker.on_proposal(cut, offset + 2 + number)
        if cut.epoch in published:
            checker.on_marker(
                replace(Marker(cut.epoch, 0, "r", "d", 1, offset + 2 + number), generation=1), 11 + number
            )
            checker.on_row(OUT, RowId(cut.epoch, 0), 11 + number)
    return checker.report(InputBounds(Offsets({MINE: 0}), Offsets({MINE: 4}), frozenset({"in"})))


CUTS = [Cut(n, Offsets({MINE: n - 18}), 0, 0, "o") for n in (21, 22)]


def test_a_lane_whose_partitions_are_others_now_is_whole() -> None:
    found = report(CUTS, [21, 22])
    assert found.good, found.findings
    assert (found.input_offsets, found.unseen.input_records) == (2 * 3 + 2, 0)


def test_a_lane_that_was_not_there_before_is_whole() -> None:
    found = report(CUTS, [21, 22], begins=True)
    assert found.good, found.findings
    assert found.input_offsets == 2


def test_an_epoch_that_is_lost_after_the_change_is_found() -> None:
    assert not report(CUTS, [22]).good
