"""What two processes have computed otherwise is reported by its first row, with what the cause may be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tandem.replica.rows import EpochRows
from tandem.testing.agreement import assert_replicas_agree, difference
from tandem.testing.apart import Report


def rows(epoch: int, *values: str, partition: int | None = None) -> EpochRows:
    columns: dict[str, Any] = {"sink": ["out"] * len(values), "key": pa.nulls(len(values), pa.binary())}
    columns |= {"value": pa.array([value.encode() for value in values], pa.binary())}
    if partition is not None:
        columns["partition"] = pa.array([partition] * len(values), pa.int32())
    return EpochRows.of(epoch, pa.table(columns), True)


def report(*epochs: EpochRows, **more: Any) -> Report:
    return Report(tuple(epochs), **more)


def test_equal_rows_are_no_difference_even_of_other_plans() -> None:
    assert difference(report(rows(0, "a"), facts={"x": "1"}), report(rows(0, "a"), facts={"x": "2"}), 1) == ""


def test_the_first_row_that_differs_is_shown_on_both_sides() -> None:
    said = difference(report(rows(0, "a"), rows(1, "b", "c")), report(rows(0, "a"), rows(1, "b", "d")), 7)

    assert said.startswith("epoch 1 has other rows in a process with PYTHONHASHSEED=7")
    assert "row 1 is out key=b'' value=b'c', there out key=b'' value=b'd'." in said


def test_a_missing_row_and_another_partition_are_differences() -> None:
    assert "row 1 is out key=b'' value=b'b', there no row" in difference(
        report(rows(0, "a", "b")), report(rows(0, "a")), 1
    )
    assert "value=b\"a {'partition': 2}\"" in difference(
        report(rows(0, "a", partition=1)), report(rows(0, "a", partition=2)), 1
    )


def test_the_cause_is_what_the_plans_differ_in_or_else_the_functions() -> None:
    constant, function = {"the constant (job.py:3)": "a"}, {"the function f (job.py:4)": "x"}

    of_plan = difference(
        report(rows(0, "a"), facts=constant), report(rows(0, "b"), facts={"the constant (job.py:3)": "b"}), 1
    )
    of_function = difference(report(rows(0, "a"), facts=function), report(rows(0, "b"), facts=function), 1)

    assert "The plan is another one there: the constant (job.py:3): a, elsewhere b" in of_plan
    assert "likely cause: the function f (job.py:4)" in of_function
    assert of_function.endswith("hash(), which PYTHONHASHSEED changes")


def test_other_cuts_may_order_rows_otherwise_but_neither_change_nor_lose_one() -> None:
    one = report(rows(0, "b"), rows(1, "a"))

    def cut_otherwise(*values: str) -> str:
        return difference(one, report(rows(0, "b"), rows(1, "a"), others=(rows(0, *values),)), 1)

    assert cut_otherwise("a", "b") == ""
    assert cut_otherwise("a", "c").startswith("the rows depend on where epochs end")
    assert "there no row" in cut_otherwise("a")


def test_a_job_that_only_one_process_can_run_is_a_difference() -> None:
    assert "the job runs, but not in a process" in difference(report(), report(refused="no module m"), 1)


def test_one_seed_compares_nothing() -> None:
    with pytest.raises(ValueError, match="give two different ones at least"):
        assert_replicas_agree("job.yaml", {}, hash_seeds=(1, 1))
