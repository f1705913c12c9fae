"""Whose state `tandem state --live` shows: that of the job's own replicas, and of nothing else in their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.state import NoStateError, live_state
from unit.snapshots.snapshot_builders import checkpoint


def folder(directory: Path, name: str, epoch: int) -> Path:
    checkpoint(directory / name / "checkpoint", epoch)
    return directory / name


def shown(directory: Path, job: str = "orders", without: Path | None = None) -> int:
    with live_state(directory, job, lambda one: one != without) as place:
        return place.epoch


def test_what_is_not_of_the_job_is_passed_over(tmp_path: Path) -> None:
    folder(tmp_path, "orders.replica-0.1a", 3)
    folder(tmp_path, "refunds.replica-0.2b", 9)
    folder(tmp_path, "orders.lane-0.replica-0.3c", 8)
    folder(tmp_path, "orders-2.replica-0.4d", 7)
    folder(tmp_path, "tables", 6)
    (tmp_path / "orders.replica-1.5e").write_text("a file")

    assert shown(tmp_path) == 3
    assert shown(tmp_path, "orders.lane-0") == 8
    with pytest.raises(NoStateError, match="no replica of the job has computed an epoch"):
        shown(tmp_path, "another")


def test_of_several_generations_the_one_that_is_wanted_is_shown(tmp_path: Path) -> None:
    folder(tmp_path, "orders.replica-0.1a", 3)
    of_before = folder(tmp_path, "orders.replica-0.2b", 9)

    assert shown(tmp_path) == 9
    assert shown(tmp_path, without=of_before) == 3
