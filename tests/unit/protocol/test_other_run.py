"""A job that is about to go on with changes waits while it evidently runs elsewhere, and only then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.protocol.other_run import QUIET_S, Standing, other_run

OWNER = "x.replica-0.aa"
START = Standing(7, OWNER, 3)


def test_a_job_that_has_just_stopped_is_not_waited_for() -> None:
    assert other_run(START, START, 0.0, 0.0) == ""


def test_what_is_published_after_the_start_shows_that_it_runs_until_it_is_quiet() -> None:
    now = Standing(9, OWNER, 1_004)

    assert other_run(START, now, QUIET_S - 1, 0.0) == f"{OWNER} has published epoch 1,004 since this process began"
    assert other_run(START, now, QUIET_S, 0.0) == ""


@pytest.mark.parametrize(("due", "due_s"), [(None, 99.0), (4, QUIET_S - 1)])
def test_who_is_registered_and_owes_nothing_or_nothing_for_long_runs(due: int | None, due_s: float) -> None:
    """An epoch may take longer than this process took to start."""
    start = replace(START, registered=("replica-0", "replica-1"), due=due)

    assert other_run(start, start, 99.0, due_s) == "ZooKeeper knows replica-0, replica-1 of it"


def test_who_is_stuck_with_one_epoch_for_long_is_not_waited_for() -> None:
    """The job has stopped by itself: its changes are accepted because of that epoch."""
    start = replace(START, due=4, registered=("replica-0",))

    assert other_run(start, start, 0.0, QUIET_S) == ""
