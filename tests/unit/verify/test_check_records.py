"""A job that makes one row of each record loses none: an input record that is neither a row nor a letter is found."""

from __future__ import annotations

import io

from rich.console import Console

from tandem.kafka.headers import RowId
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Config, Cut, Marker, Offsets, TopicPartition
from tandem.verify.check import Checker, Kept
from tandem.verify.records import RecordCount
from tandem.verify.report import Report, print_report

INPUT, GROWN, OUT, LETTERS = (TopicPartition(*place) for place in (("in", 0), ("in", 1), ("out", 0), ("dead", 0)))
ENDS = [Offsets({INPUT: 15}), Offsets({INPUT: 15}), Offsets({INPUT: 20, GROWN: 2})]
"""Of three epochs, from offset 10 on; the second takes nothing, before the third the topic grows."""


def read(
    rows: tuple[int, int, int] = (5, 0, 7),
    records: range = range(10, 25),
    beginning: int = 0,
    counts: bool | None = True,
    one_row: tuple[bool, bool, bool] = (False, False, False),
    inputs: tuple[str, str, str] = ("", "", ""),
) -> Report:
    """What is found if the epochs have so many rows, the last of them a dead letter, and the input holds `records`.

    `one_row`: which markers say that each record is a row. `inputs`: which records they say that there were.
    """
    checker = Checker(Delivery.EXACTLY_ONCE, Kept(), "dead", counts)
    checker.on_proposal(Config(0, {}, Offsets({INPUT: 10}), "r"), 0)
    for epoch, (ends, count) in enumerate(zip(ENDS, rows, strict=True)):
        checker.on_proposal(Cut(epoch, ends, 1_000 + epoch, 1, "o"), epoch + 1)
        marker = Marker(epoch, 0, "r", "d", count, epoch + 1, skipped=False, inputs=inputs[epoch])
        checker.on_marker(marker, epoch, one_row[epoch])
        for index in range(count):
            checker.on_row(LETTERS if index == count - 1 else OUT, RowId(epoch, index), index)
    counted = checker.records
    if counted is None:
        return checker.report()
    ranges = counted.to_read({INPUT: beginning})
    for tp, (start, end) in ranges.items():
        for offset in range(start, end):
            if tp == GROWN or offset in records:
                counted.on_record(tp, offset)
    return checker.report()


def test_as_many_rows_and_letters_as_records_are_right() -> None:
    report = read()

    assert report.good
    assert (report.input_offsets, report.dead_letters, report.rows) == (12, 2, 12)
    assert "12 input records were counted: each is to be one row or one dead letter (oneRowPerRecord)" in report.notes


def test_epochs_whose_markers_say_so_are_counted_without_a_declaration() -> None:
    report = read(rows=(4, 0, 6), counts=None, one_row=(False, True, True))

    assert report.lost == 1
    assert "epoch 2 took 7 input records, but has 6 rows and dead letters" in str(report.findings)
    assert any("7 input records were counted" in note and "plan" in note for note in report.notes)


def test_without_such_markers_nothing_is_counted_or_read() -> None:
    report = read(rows=(4, 0, 6), counts=None)

    assert report.good
    assert not any("counted" in note for note in report.notes)


def test_a_declaration_that_it_is_not_so_wins() -> None:
    assert read(rows=(4, 0, 6), counts=False, one_row=(True, True, True)).good


def test_inputs_that_cannot_be_read_are_a_note_where_nobody_asked_for_the_count() -> None:
    count = RecordCount(derived=True)
    count.on_marker(0, 3, one_row=True)
    count.give_up("Topic authorization failed")

    assert list(count.findings()) == []
    assert list(count.notes()) == ["the input records were not counted: Topic authorization failed"]


def test_a_record_that_is_neither_a_row_nor_a_letter_is_lost() -> None:
    report = read(rows=(4, 0, 7))

    assert report.lost == 1
    assert report.findings[0].text == "epoch 0 took 5 input records, but has 4 rows and dead letters"


def test_more_rows_than_records_are_found_too() -> None:
    assert (read(rows=(5, 0, 8)).duplicated, read(rows=(5, 1, 7)).duplicated) == (1, 1)


def test_offsets_without_a_record_are_not_missed() -> None:
    """Markers of transactions and what compaction removed."""
    assert read(rows=(3, 0, 7), records=range(12, 25)).good


def test_what_compaction_has_deleted_since_is_counted_by_what_the_markers_say() -> None:
    inputs = ("5:ab", "0:", "7:cd")
    report = read(records=range(13, 25), inputs=inputs)

    assert report.good
    assert any(note.startswith("1 epochs have lost input records since") for note in report.notes)
    assert read(rows=(4, 0, 7), records=range(13, 25), inputs=inputs).lost == 1
    assert read(rows=(6, 0, 7), records=range(13, 25), inputs=inputs).duplicated == 1


def test_a_marker_that_says_too_little_hides_no_record() -> None:
    assert read(rows=(4, 0, 7), inputs=("4:ab", "0:", "7:cd")).lost == 1


def test_what_retention_has_deleted_is_not_counted_and_said() -> None:
    report = read(rows=(4, 0, 7), beginning=12)

    assert report.good
    assert "1 epochs were not counted: retention has deleted some of their input records" in report.notes


def test_any_job_is_shown_what_went_in_and_what_became_dead_letters() -> None:
    out = io.StringIO()

    print_report(Console(file=out, soft_wrap=True), "flights", read())

    assert (
        "  the epochs took 12 offsets of the inputs (records, and the gaps between them); 2 of the rows are dead letters"
        in out.getvalue().splitlines()
    )


def test_jobs_that_filter_or_aggregate_are_not_counted() -> None:
    assert Checker(Delivery.EXACTLY_ONCE).records is None
