"""Several jobs may write one topic: each counts its own epochs, and none takes another's rows for repeats of its own."""

from __future__ import annotations

from tandem.consumer.filter import JobFilters
from tandem.kafka.headers import EPOCH_HEADER, INDEX_HEADER, JOB_HEADER, RowId, job_of, row_id


def test_rows_of_two_jobs_with_the_same_epoch_and_index_are_both_first() -> None:
    filters = JobFilters()
    rows = [
        ("air", RowId(7, 0)),
        ("sea", RowId(2, 0)),
        ("air", RowId(7, 1)),
        ("sea", RowId(2, 1)),
        ("sea", RowId(2, 1)),
    ]

    assert [filters.is_first(job, row) for job, row in rows] == [True, True, True, True, False]


def test_rows_that_name_no_job_are_one_job_of_their_own() -> None:
    filters = JobFilters()

    assert filters.is_first("air", RowId(7, 0))
    assert filters.is_first(None, RowId(0, 0))
    assert not filters.is_first(None, RowId(0, 0))


def test_the_job_is_read_from_the_first_header_of_that_name_which_is_tandems() -> None:
    headers = [(EPOCH_HEADER, b"7"), (INDEX_HEADER, b"1"), (JOB_HEADER, b"air"), (JOB_HEADER, b"of the user")]

    assert job_of(headers) == "air"
    assert row_id(headers) == RowId(7, 1)


def test_a_record_without_the_header_names_no_job() -> None:
    assert job_of([(EPOCH_HEADER, b"7")]) is None
    assert job_of(None) is None
