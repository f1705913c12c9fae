"""Which epochs in a table are of an earlier run of the job."""

from __future__ import annotations

import pytest

from tandem.replica.earlier_runs import earlier_run, is_of_other_run, written_by


@pytest.mark.parametrize(
    ("newest", "last", "is_other", "why"),
    [
        (-1, -1, True, ""),
        (0, -1, False, ""),
        (0, -1, True, "has epochs up to 0 of an earlier run, and the job begins again with epoch 0"),
        (1, -1, False, "has epochs up to 1 of an earlier run, and the job begins again with epoch 0"),
        (11, 10, False, ""),
        (11, 10, True, "has epochs up to 11 of an earlier run, and epoch 10 is the last one"),
        (50, 10, False, "has epochs up to 50 of an earlier run, and epoch 10 is the last one"),
        (10, 10, True, ""),
    ],
)
def test_only_epochs_that_are_still_to_come_are_refused(newest: int, last: int, is_other: bool, why: str) -> None:
    said = earlier_run(newest, lambda: last, lambda: is_other)
    assert said.startswith(why) if why else not said


def test_another_run_is_one_that_has_said_so_of_this_epoch() -> None:
    assert is_of_other_run(written_by("one", 5), 5, "two")
    assert not is_of_other_run(written_by("one", 5), 5, "one")
    assert not is_of_other_run(written_by("one", 4), 5, "two"), "an older Tandem has written epoch 5"
    assert not is_of_other_run(written_by("", 5), 5, "two")
    assert not is_of_other_run(written_by("one", 5), 5, "")
    assert not is_of_other_run(None, 5, "two")
