"""A good history gives zero; each anomaly put into it is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verify_history import INPUT, OUT, ROWS, TAKEN, cut, feed, good, marker

from tandem.kafka.headers import RowId
from tandem.protocol import decisions
from tandem.protocol.publication import Delivery
from tandem.protocol.values import Positions
from tandem.verify.check import Checker, Kept
from tandem.verify.inputs import InputBounds
from tandem.verify.report import Anomaly, Report, Unseen


def counts(report: Report) -> tuple[int, int, int]:
    return report.lost, report.duplicated, report.reordered


def texts(report: Report, anomaly: Anomaly) -> list[str]:
    return [finding.text for finding in report.findings if finding.anomaly is anomaly]


@pytest.mark.parametrize("delivery", list(Delivery))
def test_a_good_history_gives_zero(delivery: Delivery) -> None:
    report = good(delivery=delivery).verified()

    assert report.good
    assert counts(report) == (0, 0, 0)
    assert (report.epochs, report.first_epoch, report.last_epoch, report.rows) == (5, 0, 4, 5 * ROWS)
    assert report.unseen == Unseen()
    assert not report.findings


def test_a_job_that_never_ran_gives_zero() -> None:
    report = Checker(Delivery.EXACTLY_ONCE).report(InputBounds(Positions({INPUT: 0}), Positions({INPUT: 7})))

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


@pytest.mark.parametrize(("end", "lost", "duplicated"), [(TAKEN * 3 - 4, 4, 0), (TAKEN * 3 + 6, 0, 6)])
def test_an_epoch_published_from_a_refused_cut_leaves_a_gap_or_an_overlap(end: int, lost: int, duplicated: int) -> None:
    history = good()
    log = (*history.log, cut(2, end))  # repeated, so refused; yet the marker of epoch 2 names it
    markers = tuple(marker(2, log_offset=len(log) - 1) if m.epoch == 2 else m for m in history.markers)

    assert counts(replace(history, log=log, markers=markers).verified()) == (lost, duplicated, 0)


def test_a_published_epoch_that_was_never_cut_is_lost() -> None:
    history = good()

    assert counts(replace(history, log=history.log[:-1]).verified())[0] == 1


def test_a_log_whose_rule_let_a_cut_go_back_overlaps(monkeypatch: pytest.MonkeyPatch) -> None:
    history = good()
    log = (*history.log[:3], cut(2, TAKEN * 2 - 3), *history.log[4:])
    monkeypatch.setattr(decisions, "never_goes_back", lambda _ends, _last: True)

    assert counts(replace(history, log=log).verified()) == (0, 3, 0)


def test_a_log_whose_rule_let_a_cut_forget_an_input_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    history = good()
    log = (*history.log[:-1], replace(cut(4, 0), ends=Positions()))
    monkeypatch.setattr(decisions, "never_goes_back", lambda _ends, _last: True)

    assert "input in/0 is forgotten by the cut of epoch 4" in texts(
        replace(history, log=log).verified(), Anomaly.LOST_WRITE
    )


def test_input_before_the_start_of_the_first_epoch_is_lost() -> None:
    history = good()
    started_late = replace(history.log[0], start=Positions({INPUT: 6}))  # type: ignore[type-var]

    assert counts(replace(history, log=(started_late, *history.log[1:])).verified()) == (6, 0, 0)


def test_a_job_that_starts_with_the_latest_record_loses_nothing_before_it() -> None:
    history = good()
    started_late = replace(history.log[0], start=Positions({INPUT: 6}))  # type: ignore[type-var]
    checker = feed(Checker(Delivery.EXACTLY_ONCE), [("log", started_late, 0), ("log", cut(0, 10), 1)])

    assert checker.report(replace(history.bounds, from_start=frozenset())).good


def test_input_that_was_deleted_before_an_epoch_took_it_is_lost() -> None:
    history = good()
    checker = feed(Checker(Delivery.EXACTLY_ONCE), (step for steps in history.steps() for step in steps))

    assert checker.report(InputBounds(Positions({INPUT: 53}), Positions({INPUT: 60}))).lost == 3


def test_an_input_that_was_made_anew_is_lost() -> None:
    assert counts(replace(good(), input_end=8).verified()) == (8, 0, 0)


def test_what_is_not_published_yet_is_unseen_and_no_anomaly() -> None:
    history = good()
    report = replace(history, markers=history.markers[:3], input_end=TAKEN * 5 + 7).verified()

    assert report.good
    assert report.unseen == Unseen(input_records=7, epochs=2, rows=2 * ROWS)


def test_proposals_that_the_rule_refuses_are_no_anomaly() -> None:
    history = good(4)
    late = (cut(2, TAKEN * 3 + 2), cut(1, TAKEN * 2), cut(9, TAKEN * 9), cut(4, 3))
    log = (*history.log[:4], *late, *history.log[4:])
    markers = (*history.markers[:3], marker(3, log_offset=8))

    assert replace(history, log=log, markers=markers).verified().good


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


def test_rows_that_retention_deleted_are_not_lost() -> None:
    history = good()
    report = history.with_output(0, history.outputs[0][5:]).verified(Kept(cut_off=frozenset({OUT[0]})))

    assert report.good
    assert any("out: rows that are missing only count from epoch 3 on" in note for note in report.notes)


def test_a_row_that_is_missing_after_what_retention_deleted_is_lost() -> None:
    history = good()
    rows = [row for row in history.outputs[0][5:] if row != RowId(4, 0)]

    assert counts(history.with_output(0, rows).verified(Kept(cut_off=frozenset({OUT[0]})))) == (1, 0, 0)


def test_logs_without_their_beginnings_are_said_to_be_so() -> None:
    history = good()
    report = replace(history, log=history.log[3:], markers=history.markers[2:]).verified(
        Kept(ordering_whole=False, commits_whole=False)
    )

    assert counts(report) == (0, 0, 0)
    assert any("begins with epoch 2" in note for note in report.notes)
    assert any("ordering topic does not begin" in note for note in report.notes)


def test_foreign_records_are_noted() -> None:
    checker = Checker(Delivery.EXACTLY_ONCE)
    checker.on_foreign("out")

    assert "1 records of out are not Tandem's: not looked at" in checker.report().notes


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


def test_where_retention_deleted_a_whole_partition_nothing_is_called_lost() -> None:
    report = good().with_output(0, []).verified(Kept(cut_off=frozenset({OUT[0]})))

    assert report.good
    assert any("only count from epoch 5 on" in note for note in report.notes)
