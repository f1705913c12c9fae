"""A snapshot holds what its epoch needs, all of it, and none of the history."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.snapshots import local
from tandem.snapshots.errors import IncompleteCheckpointError
from tandem.snapshots.local import Hasher, pin
from tandem.snapshots.selection import select, shared_files
from unit.snapshots.snapshot_builders import archive, checkpoint, contents, epoch_files, fill

METADATA = {"metadata", "state/0/0/_metadata/schema"}


def logs(*epochs: int) -> set[str]:
    return {f"{folder}/{epoch}" for folder in ("offsets", "commits") for epoch in epochs}


def changes(first: int, last: int, suffix: str = "changelog", store: str = "state/0/0") -> set[str]:
    return {f"{store}/{version}.{suffix}" for version in range(first, last + 1)}


def selected(folder: Path, epoch: int) -> set[str]:
    return {str(path) for path in select([Path(name) for name in contents(folder)], epoch).files}


def test_without_a_full_snapshot_all_changes_of_the_state_are_needed(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, last=9)

    assert selected(folder, 7) == METADATA | logs(5, 6, 7) | changes(1, 8)


def test_only_changes_after_the_newest_full_snapshot_are_needed(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, last=9)
    for version in (2, 6, 10):
        archive(folder, version, (f"00000{version}-a.sst",))

    assert selected(folder, 7) == METADATA | logs(5, 6, 7) | {"state/0/0/6.zip"} | changes(7, 8)
    assert selected(folder, 5) == METADATA | logs(3, 4, 5) | {"state/0/0/6.zip"}
    assert selected(folder, 0) == METADATA | logs(0) | changes(1, 1)


def test_state_that_is_not_in_rocksdb_follows_the_same_rule(tmp_path: Path) -> None:
    folder = fill(tmp_path, {**dict.fromkeys(changes(1, 9, "delta"), b""), "state/0/0/4.snapshot": b""})

    assert selected(folder, 6) == {"state/0/0/4.snapshot"} | changes(5, 7, "delta")


def test_each_state_store_has_its_own_full_snapshot(tmp_path: Path) -> None:
    stores = "state/1/0/left", "state/1/0/right"
    folder = fill(tmp_path, {path: b"" for store in stores for path in changes(1, 5, store=store)})
    archive(folder, 4, (), store="state/1/0/right")

    of_left, of_right = changes(1, 5, store=stores[0]), changes(5, 5, store=stores[1]) | {f"{stores[1]}/4.zip"}
    assert selected(folder, 4) == of_left | of_right


def test_state_whose_versions_have_lineages_is_taken_whole(tmp_path: Path) -> None:
    versions = ("1_aa.changelog", "2_aa.changelog", "2_bb.changelog", "2_aa.zip", "SSTs/1-a.sst")
    names = {f"state/0/0/{name}" for name in versions}
    folder = fill(tmp_path, dict.fromkeys(names | {"state/0/0/3_aa.changelog"}, b""))

    assert selected(folder, 1) == names


@pytest.mark.parametrize(("missing", "version"), [("8.changelog", 8), ("7.changelog", 7)])
def test_a_state_with_a_gap_is_no_state(tmp_path: Path, missing: str, version: int) -> None:
    folder = checkpoint(tmp_path, last=9)
    archive(folder, 6, ())
    (folder / "state/0/0" / missing).unlink()

    reason = f"state/0/0: version {version} of 8 is missing, the last full is 6"
    with pytest.raises(IncompleteCheckpointError, match=reason):
        selected(folder, 7)


def test_an_archive_names_its_tables_and_logs() -> None:
    text = 'v1\n{"sstFiles":[{"dfsSstFileName":"1-a.sst"}],"logFiles":[{"dfsLogFileName":"2-b.log"}]}'
    place = PurePosixPath("state/0/0/6.zip")

    assert [str(path) for path in shared_files(place, text)] == ["state/0/0/SSTs/1-a.sst", "state/0/0/logs/2-b.log"]
    assert shared_files(place, 'v1\n{"sstFiles":[],"logFiles":null}') == ()


@pytest.mark.parametrize("text", ["", "v2\n{}", "v1\n", "v1\n[]", 'v1\n{"sstFiles":[{}]}', 'v1\n{"sstFiles":["a"]}'])
def test_an_archive_that_says_something_else_is_not_taken(text: str) -> None:
    with pytest.raises(IncompleteCheckpointError, match=r"6\.zip: its metadata cannot be understood"):
        shared_files(PurePosixPath("state/0/0/6.zip"), text)


def test_the_newest_committed_epoch_is_linked_with_the_tables_of_its_archive_only(tmp_path: Path) -> None:
    folder, staging = checkpoint(tmp_path / "c", last=7), tmp_path / "s"
    archive(folder, 3, ("000001-a.sst", "000002-a.sst"))
    archive(folder, 6, ("000002-a.sst", "000003-a.sst"))
    (folder / "commits" / "7").unlink()

    assert pin(folder, 9, staging) == EnginePosition(6, 60)
    tables = {"state/0/0/SSTs/000002-a.sst", "state/0/0/SSTs/000003-a.sst"}
    assert contents(staging).keys() == METADATA | logs(4, 5, 6) | {"state/0/0/6.zip"} | changes(7, 7) | tables


def test_what_is_linked_stays_when_its_owner_cleans_up(tmp_path: Path) -> None:
    folder, staging = checkpoint(tmp_path / "c", last=2), tmp_path / "s"
    pin(folder, 2, staging)
    for path in folder.rglob("*.changelog"):
        path.unlink()

    assert contents(staging)["state/0/0/2.changelog"] == b"changes of 1"


@pytest.mark.parametrize("last", [-1, 4])
def test_an_epoch_that_is_not_committed_cannot_be_linked(tmp_path: Path, last: int) -> None:
    with pytest.raises(IncompleteCheckpointError, match=f"no epoch up to {last} is committed"):
        pin(checkpoint(tmp_path / "c", first=5, last=6), last, tmp_path / "s")


def test_a_table_that_is_cleaned_up_meanwhile_is_noticed(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "c", last=2)
    archive(folder, 3, ("000001-a.sst",))
    (folder / "state/0/0/SSTs/000001-a.sst").unlink()

    with pytest.raises(IncompleteCheckpointError, match=r"000001-a\.sst was removed while epoch 2 was linked"):
        pin(folder, 2, tmp_path / "s")


def test_an_archive_that_is_torn_is_noticed(tmp_path: Path) -> None:
    folder = fill(checkpoint(tmp_path / "c", last=2), {"state/0/0/3.zip": b"PK"})

    with pytest.raises(IncompleteCheckpointError, match=r"3\.zip cannot be read"):
        pin(folder, 2, tmp_path / "s")


def test_a_file_is_hashed_once_however_often_it_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = checkpoint(tmp_path / "c", last=2)
    pin(folder, 2, tmp_path / "one")
    hasher = Hasher()
    first = hasher.hash_all(tmp_path / "one")
    fill(folder, epoch_files(3))
    pin(folder, 3, tmp_path / "two")
    read: list[str] = []
    hash_ = local._hash
    monkeypatch.setattr(local, "_hash", lambda path: (read.append(path.name), hash_(path))[1])
    second = hasher.hash_all(tmp_path / "two")

    assert sorted(read) == ["3", "3", "4.changelog"]
    assert {f.path: f.hash for f in first}.items() - {f.path: f.hash for f in second}.items() == {
        (f.path, f.hash) for f in first if f.path in logs(0)
    }
