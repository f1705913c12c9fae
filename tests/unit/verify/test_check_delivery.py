"""Delivery at least once may repeat, delivery at most once may give up, and neither may do the other."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest

from tandem.protocol.publication_rules import Delivery
from tandem.verify.check import Checker
from unit.verify.history import ROWS, History, counts, feed, good, marker


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


def late(history: History, epoch: int) -> History:
    """A history in which an owner writes its rows of `epoch` only after another replica has published the next one."""
    rows = history.outputs[0]
    mine = [row for row in rows if row.epoch == epoch]
    return history.with_output(
        0,
        [*(r for r in rows if r.epoch < epoch), *(r for r in rows if r.epoch == epoch + 1), *mine]
        + [r for r in rows if r.epoch > epoch + 1],
    )


@pytest.mark.parametrize("rows_first", [True, False])
def test_at_most_once_rows_that_were_given_up_may_come_late(rows_first: bool) -> None:
    history = late(good(delivery=Delivery.AT_MOST_ONCE), 2)
    given_up = tuple(marker(2, 0, skipped=True) if m.epoch == 2 else m for m in history.markers)
    steps = replace(history, markers=given_up).steps()
    checker = feed(Checker(history.delivery), chain.from_iterable(reversed(steps) if rows_first else steps))

    assert checker.report(history.bounds).good


def test_rows_that_were_not_given_up_may_not_come_late() -> None:
    for delivery in (Delivery.EXACTLY_ONCE, Delivery.AT_MOST_ONCE):
        assert counts(late(good(delivery=delivery), 2).verified()) == (0, 0, 1)


def test_at_most_once_rows_of_an_epoch_keep_their_order_even_if_they_were_given_up() -> None:
    history = good(delivery=Delivery.AT_MOST_ONCE)
    given_up = tuple(marker(2, 0, skipped=True) if m.epoch == 2 else m for m in history.markers)
    turned = [*history.outputs[0][:4], history.outputs[0][5], history.outputs[0][4], *history.outputs[0][6:]]

    assert counts(replace(history.with_output(0, turned), markers=given_up).verified()) == (0, 0, 1)


def test_at_most_once_only_a_marker_tells_that_late_rows_were_not_given_up() -> None:
    history = late(good(delivery=Delivery.AT_MOST_ONCE), 2)
    unread = replace(history, markers=history.markers[:2]).verified()

    assert unread.good


def test_an_epoch_that_was_given_up_is_lost_unless_delivery_is_at_most_once() -> None:
    history = good()
    given_up = tuple(marker(2, 0, skipped=True) if m.epoch == 2 else m for m in history.markers)

    assert replace(history, markers=given_up).verified().lost == 1


def test_at_most_once_duplicates_are_duplicates() -> None:
    history = good(delivery=Delivery.AT_MOST_ONCE)
    rows = history.outputs[0]

    assert counts(history.with_output(0, [*rows, rows[-1]]).verified()) == (0, 1, 0)
