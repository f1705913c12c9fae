"""A good history gives zero; each anomaly put into its rows and markers is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.kafka.headers import RowId
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Offsets
from tandem.verify.check import Checker
from tandem.verify.inputs import InputBounds
from tandem.verify.report import Anomaly, Unseen
from unit.verify.history import INPUT, ROWS, TAKEN, counts, cut, feed, good, marker, texts


@pytest.mark.parametrize("delivery", list(Delivery))
def test_a_good_history_gives_zero(delivery: Delivery) -> None:
    report = good(delivery=delivery).verified()

    assert report.good
    assert counts(report) == (0, 0, 0)
    assert (report.epochs, report.first_epoch, report.last_epoch, report.rows) == (5, 0, 4, 5 * ROWS)
    assert report.unseen == Unseen()
    assert not report.findings


def test_a_job_that_never_ran_gives_zero() -> None:
    report = Checker(Delivery.EXACTLY_ONCE).report(InputBounds(Offsets({INPUT: 0}), Offsets({INPUT: 7})))

    assert report.good
    assert (report.epochs, report.first_epoch, report.unseen) == (0, None, Unseen(input_records=7))


def test_a_missing_row_is_lost() -> None:
    history = good()
    report = history.with_output(1, [row for row in history.outputs[1] if row != RowId(2, 3)]).verified()

    assert counts(report) == (1, 0, 0)
    assert texts(report, Anomaly.LOST_WRITE) == ["epoch 2 has 3 of 4 rows; the first indices not seen: 3"]


def test_an_epoch_of_which_no_row_came_is_lost() -> None:
    history = good()
    for partition in (0, 1):
        history = history.with_output(partition, [row for row in history.outputs[partition] if row.epoch != 4])

    assert counts(history.verified()) == (ROWS, 0, 0)


def test_epochs_without_marker_below_the_last_one_are_lost() -> None:
    history = good()
    report = replace(history, markers=tuple(m for m in history.markers if m.epoch not in (0, 2, 3))).verified()

    assert counts(report) == (3, 0, 0)
    assert texts(report, Anomaly.LOST_WRITE) == [
        "epoch 0 has no marker, but later epochs are published",
        "epochs 2 to 3 have no marker, but later epochs are published",
    ]


def test_a_row_that_comes_twice_is_a_duplicate() -> None:
    history = good()
    first, second, *others = history.outputs[0]

    assert counts(history.with_output(0, [first, second, second, *others]).verified()) == (0, 1, 0)


def test_a_row_of_another_partition_is_a_duplicate() -> None:
    history = good()
    rows = sorted([*history.outputs[1], RowId(2, 0)])

    assert counts(history.with_output(1, rows).verified()) == (0, 1, 0)


def test_a_row_that_the_marker_does_not_count_is_a_duplicate() -> None:
    history = good()
    rows = sorted([*history.outputs[1], RowId(2, ROWS)])

    assert counts(history.with_output(1, rows).verified()) == (0, 1, 0)


def test_a_second_marker_is_a_duplicate() -> None:
    history = good()
    report = replace(history, markers=(*history.markers[:3], *history.markers[2:])).verified()

    assert counts(report) == (0, 1, 0)
    assert texts(report, Anomaly.DUPLICATE) == ["epoch 2 has another marker, by replica-0 (offset 3)"]


def test_a_second_marker_with_another_digest_is_a_divergence() -> None:
    history = good()
    report = replace(history, markers=(*history.markers, marker(3, digest="other"))).verified()

    assert (report.diverged, report.good) == (1, False)


def test_a_whole_epoch_published_again_is_all_duplicates() -> None:
    history = good()
    again = replace(history, markers=(*history.markers, marker(1)))
    for partition in (0, 1):
        rows = history.outputs[partition]
        again = again.with_output(partition, [*rows, *(row for row in rows if row.epoch == 1)])
    report = again.verified()

    assert (report.lost, report.duplicated) == (0, ROWS + 1)
    assert report.reordered == 2  # once in each partition


def test_rows_that_changed_places_are_reordered() -> None:
    history = good()
    first, second, *others = history.outputs[1]
    report = history.with_output(1, [second, first, *others]).verified()

    assert counts(report) == (0, 0, 1)
    assert texts(report, Anomaly.ORDER_INVERSION) == ["out/1 offset 1: row 1 of epoch 0 stands after row 3 of epoch 0"]


def test_epochs_that_changed_places_in_a_partition_are_reordered() -> None:
    history = good()
    rows = history.outputs[0]

    assert counts(history.with_output(0, [*rows[2:4], *rows[0:2], *rows[4:]]).verified()) == (0, 0, 1)


def test_markers_that_changed_places_are_reordered() -> None:
    history = good()
    zeroth, first, *others = history.markers

    assert counts(replace(history, markers=(first, zeroth, *others)).verified()) == (0, 0, 1)


def test_what_is_not_published_yet_is_unseen_and_no_anomaly() -> None:
    history = good()
    report = replace(history, markers=history.markers[:3], input_end=TAKEN * 5 + 7).verified()

    assert report.good
    assert report.unseen == Unseen(input_records=7, epochs=2, rows=2 * ROWS)


def test_foreign_records_are_noted() -> None:
    checker = Checker(Delivery.EXACTLY_ONCE)
    checker.on_foreign("out")

    assert "1 records of out are not this job's: not looked at" in checker.report().notes


def test_only_epochs_under_way_are_kept() -> None:
    history = good(200)
    checker = Checker(Delivery.EXACTLY_ONCE)
    log, markers, even, odd = history.steps()
    most = 0
    feed(checker, log[:1])
    for epoch in range(200):
        rows = slice(epoch * 2, epoch * 2 + 2)
        refused = ("log", cut(epoch, TAKEN * epoch + 1), 1_000 + epoch)  # as the second of two generators proposes
        feed(checker, [log[epoch + 1], refused, *even[rows], *odd[rows], markers[epoch]])
        most = max(most, checker.under_way)

    assert most == 0
    assert checker.report(history.bounds).good


@settings(deadline=None)  # a busy machine is no fault
@given(data=st.data())
def test_the_order_in_which_partitions_are_read_does_not_matter(data: st.DataObject) -> None:
    history = good(4)
    rows = list(history.outputs[0])
    rows.insert(data.draw(st.integers(0, len(rows))), data.draw(st.sampled_from(rows)))
    rows.pop(data.draw(st.integers(0, len(rows) - 1)))
    markers = list(history.markers)
    markers.insert(data.draw(st.integers(0, 4)), marker(data.draw(st.integers(0, 5))))
    broken = replace(history.with_output(0, rows), markers=tuple(markers))
    expected = broken.verified()

    waiting = [list(steps) for steps in broken.steps()]
    shuffled = []
    while any(waiting):
        partition = data.draw(st.sampled_from([p for p, steps in enumerate(waiting) if steps]))
        shuffled.append(waiting[partition].pop(0))
    report = feed(Checker(history.delivery), shuffled).report(history.bounds)

    assert replace(report, findings=()) == replace(expected, findings=())
