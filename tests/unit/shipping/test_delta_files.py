"""Which files of a checkpoint an epoch added."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from tandem.shipping import DeltaFile, DeltaGapError, UnknownStateError
from tandem.shipping.errors import NotCommittedError
from tandem.shipping.files import check_files, read_files, stores_in
from unit.shipping.builders import STORES, checkpoint_with, with_watermarks, write_epoch

ALL = frozenset(STORES)


def test_an_epoch_is_its_logs_and_the_changes_of_every_store(tmp_path: Path) -> None:
    checkpoint_with(tmp_path, range(4))
    files = read_files(tmp_path, 2, stores_in(tmp_path), 10_000)
    assert [file.path for file in files] == [
        "state/0/0/3.changelog",
        "state/0/1/3.changelog",
        "offsets/2",
        "commits/2",
    ]


def test_a_job_without_state_has_logs_only(tmp_path: Path) -> None:
    checkpoint_with(tmp_path, range(2), stores=())
    assert {file.path for file in read_files(tmp_path, 1, stores_in(tmp_path), 1_000)} == {"offsets/1", "commits/1"}


def test_what_a_job_knows_of_its_watermarks_is_part_of_the_epoch(tmp_path: Path) -> None:
    checkpoint_with(tmp_path, range(3))
    for epoch in range(3):
        with_watermarks(tmp_path, epoch)
    found = read_files(tmp_path, 2, stores_in(tmp_path), 10_000)
    assert DeltaFile("watermarks/2", b"known after 2") in found
    check_files(2, found, ALL)
    with pytest.raises(DeltaGapError, match="watermarks/2"):
        check_files(3, files("offsets/3", "commits/3", "watermarks/2"), ALL)


def test_an_epoch_that_is_not_committed_is_not_read(tmp_path: Path) -> None:
    checkpoint_with(tmp_path, range(3))
    (tmp_path / "commits/2").unlink()
    with pytest.raises(NotCommittedError):
        read_files(tmp_path, 2, ALL, 10_000)


def test_an_epoch_over_the_limit_is_not_read(tmp_path: Path) -> None:
    checkpoint_with(tmp_path, range(3))
    with pytest.raises(DeltaGapError, match="more than 10"):
        read_files(tmp_path, 2, ALL, 10)


def test_a_store_with_only_a_full_snapshot_cannot_be_shipped(tmp_path: Path) -> None:
    checkpoint_with(tmp_path, range(3))
    (tmp_path / "state/0/1/3.changelog").rename(tmp_path / "state/0/1/3.zip")
    with pytest.raises(DeltaGapError, match="only a full snapshot"):
        read_files(tmp_path, 2, ALL, 10_000)


def test_state_with_lineages_is_refused(tmp_path: Path) -> None:
    write_epoch(tmp_path, 0)
    (tmp_path / "state/0/0/2_5a1b.changelog").write_bytes(b"")
    with pytest.raises(UnknownStateError, match="lineage"):
        stores_in(tmp_path)


def files(*paths: str) -> list[DeltaFile]:
    return [DeltaFile(path, b"") for path in paths]


def test_a_complete_epoch_fits() -> None:
    check_files(4, files("offsets/4", "commits/4", "state/0/0/5.changelog", "state/0/1/5.delta"), ALL)


@pytest.mark.parametrize(
    "paths",
    [
        ("offsets/4", "commits/4", "state/0/0/5.changelog"),
        ("offsets/4", "state/0/0/5.changelog", "state/0/1/5.changelog"),
        ("offsets/4", "commits/4", "state/0/0/5.changelog", "state/0/1/4.changelog"),
        ("offsets/3", "commits/4", "state/0/0/5.changelog", "state/0/1/5.changelog"),
        ("offsets/4", "commits/4", "state/0/0/5.changelog", "state/0/1/5.changelog", "state/0/2/5.changelog"),
        ("offsets/4", "commits/4", "state/0/0/5.changelog", "state/0/1/5.changelog", "../evil"),
        ("offsets/4", "commits/4", "state/0/0/5.changelog", "state/0/1/5.zip"),
    ],
)
def test_what_is_missing_or_foreign_does_not_fit(paths: tuple[str, ...]) -> None:
    with pytest.raises(DeltaGapError):
        check_files(4, files(*paths), ALL)


def test_paths_are_relative_to_the_checkpoint() -> None:
    store = frozenset({PurePosixPath("state/0/0/left-keyToNumValues")})
    check_files(0, files("offsets/0", "commits/0", "state/0/0/left-keyToNumValues/1.changelog"), store)
