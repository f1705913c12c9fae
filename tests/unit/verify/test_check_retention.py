"""What retention deleted is not called lost, and the report says from where on it counts."""

from __future__ import annotations

from dataclasses import replace

from tandem.kafka.headers import RowId
from tandem.verify.check import Kept
from unit.verify.history import OUT, counts, good


def test_rows_that_retention_deleted_are_not_lost() -> None:
    history = good()
    report = history.with_output(0, history.outputs[0][5:]).verified(Kept(cut_off=frozenset({OUT[0]})))

    assert report.good
    assert any("out: rows that are missing only count from epoch 3 on" in note for note in report.notes)


def test_a_row_that_is_missing_after_what_retention_deleted_is_lost() -> None:
    history = good()
    rows = [row for row in history.outputs[0][5:] if row != RowId(4, 0)]

    assert counts(history.with_output(0, rows).verified(Kept(cut_off=frozenset({OUT[0]})))) == (1, 0, 0)


def test_where_retention_deleted_a_whole_partition_nothing_is_called_lost() -> None:
    report = good().with_output(0, []).verified(Kept(cut_off=frozenset({OUT[0]})))

    assert report.good
    assert any("only count from epoch 5 on" in note for note in report.notes)


def test_logs_without_their_beginnings_are_said_to_be_so() -> None:
    history = good()
    report = replace(history, log=history.log[3:], markers=history.markers[2:]).verified(
        Kept(ordering_whole=False, commits_whole=False)
    )

    assert counts(report) == (0, 0, 0)
    assert any("begins with epoch 2" in note for note in report.notes)
    assert any("ordering topic does not begin" in note for note in report.notes)
