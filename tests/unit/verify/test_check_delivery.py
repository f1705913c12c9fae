"""Delivery at least once may repeat, delivery at most once may give up, and neither may do the other."""

from __future__ import annotations

from dataclasses import replace

from verify_history import ROWS, counts, good, marker

from tandem.protocol.publication import Delivery


def test_at_least_once_repeats_are_dropped_by_the_consumer_helper_and_counted_apart() -> None:
    history = good(delivery=Delivery.AT_LEAST_ONCE)
    rows = history.outputs[0]
    repeated = [*rows[:4], rows[2], rows[0], *rows[4:], *rows[6:8]]
    report = replace(history.with_output(0, repeated), markers=(*history.markers, marker(1))).verified()

    assert report.good
    assert (report.dropped, report.rows) == (4, 5 * ROWS)
    assert any("1 markers were repeated" in note for note in report.notes)


def test_at_least_once_rows_that_the_helper_would_drop_unseen_are_lost() -> None:
    history = good(delivery=Delivery.AT_LEAST_ONCE)
    rows = history.outputs[0]

    assert counts(history.with_output(0, [*rows[1:4], rows[0], *rows[4:]]).verified()) == (1, 0, 0)


def test_at_most_once_epochs_that_were_given_up_are_told_apart() -> None:
    history = good(delivery=Delivery.AT_MOST_ONCE)
    given_up = tuple(marker(2, 0, skipped=True) if m.epoch == 2 else m for m in history.markers)
    partly_out = history.with_output(1, [row for row in history.outputs[1] if row.epoch != 2])
    report = replace(partly_out, markers=given_up).verified()

    assert report.good
    assert (report.skipped, report.rows) == (1, 4 * ROWS + 2)


def test_an_epoch_that_was_given_up_is_lost_unless_delivery_is_at_most_once() -> None:
    history = good()
    given_up = tuple(marker(2, 0, skipped=True) if m.epoch == 2 else m for m in history.markers)

    assert replace(history, markers=given_up).verified().lost == 1


def test_at_most_once_duplicates_are_duplicates() -> None:
    history = good(delivery=Delivery.AT_MOST_ONCE)
    rows = history.outputs[0]

    assert counts(history.with_output(0, [*rows, rows[-1]]).verified()) == (0, 1, 0)
