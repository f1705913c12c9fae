"""Copies of static tables go when no generation that may still run needs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tandem.replica.leftovers import alive
from tandem.replica.table_copies import GRACE_S, note_tables, remove_unneeded

NOW_S = 1_800_000_000.0


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Four copies, three of them old, and one half made by a process that was killed."""
    folder = tmp_path / "static-tables" / "job"
    for name, age_s in {"mine": 1e6, "theirs": 1e6, "nobodys": 1e6, "young": GRACE_S - 1, ".half": 1e6}.items():
        (folder / name / "0").mkdir(parents=True)
        os.utime(folder / name, (NOW_S - age_s, NOW_S - age_s))
    return folder


def test_what_nobody_reads_goes(copies: Path, tmp_path: Path) -> None:
    with alive(tmp_path / "job.replica-0.a"), alive(tmp_path / "job.replica-1.b"):
        note_tables(tmp_path / "job.replica-1.b", ["theirs", "versionAsOf 3"])
        removed = remove_unneeded(copies, tmp_path / "job.replica-0.a", {"mine"}, NOW_S)

    assert removed == [".half", "nobodys"]
    assert {copy.name for copy in copies.iterdir()} == {"mine", "theirs", "young"}


def test_what_only_the_dead_have_read_goes_too(copies: Path, tmp_path: Path) -> None:
    with alive(tmp_path / "job.replica-1.b"):
        note_tables(tmp_path / "job.replica-1.b", ["theirs"])
    with alive(tmp_path / "job.replica-0.a"):
        assert remove_unneeded(copies, tmp_path / "job.replica-0.a", {"mine"}, NOW_S) == [".half", "nobodys", "theirs"]


def test_one_of_which_it_is_not_known_whether_it_lives_keeps_its_copy(copies: Path, tmp_path: Path) -> None:
    note_tables(tmp_path / "job.replica-1.b", ["theirs"])
    with alive(tmp_path / "job.replica-0.a"):
        assert "theirs" not in remove_unneeded(copies, tmp_path / "job.replica-0.a", {"mine"}, NOW_S)


def test_a_job_without_copies_has_nothing_to_remove(tmp_path: Path) -> None:
    assert remove_unneeded(tmp_path / "nowhere", tmp_path / "job.replica-0.a", (), NOW_S) == []
