"""Copies of static tables in the snapshot store: whole or not found, fetched where there is none, removed when unneeded."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tandem.snapshots import SnapshotStore, StoredTables, remove_all
from tandem.snapshots.tables import GRACE_MS


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(str(tmp_path / "store"))


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Of two tables, one of which is of two folders."""
    folder = tmp_path / "here"
    for name in ("one/0/rates/part-0.parquet", "one/0/rates/day=1/part-0.parquet", "two/0/a.csv", "two/1/b.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def held(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_machine_without_copies_gets_them_as_they_were(store: SnapshotStore, copies: Path, tmp_path: Path) -> None:
    assert StoredTables(store.remote).keep(copies, ["one", "two", "versionAsOf 3", "read in place"]) == ["one", "two"]

    elsewhere = tmp_path / "there"
    assert StoredTables(store.remote).fetch(elsewhere, ["one", "two", "versionAsOf 3"]) == ["one", "two"]
    assert held(elsewhere) == held(copies)


def test_what_is_there_is_neither_sent_nor_fetched_again(store: SnapshotStore, copies: Path) -> None:
    StoredTables(store.remote).keep(copies, ["one"])

    assert StoredTables(store.remote).keep(copies, ["one"]) == []
    assert StoredTables(store.remote).fetch(copies, ["one"]) == []


@pytest.mark.parametrize("damage", ["cut", "gone", "not whole yet"])
def test_a_copy_that_is_damaged_or_not_whole_is_passed_over(
    store: SnapshotStore, copies: Path, tmp_path: Path, damage: str
) -> None:
    StoredTables(store.remote).keep(copies, ["one"])
    file, told = tmp_path / "store/tables/one/0/rates/part-0.parquet", tmp_path / "store/tables/one.json"
    match damage:
        case "cut":
            file.write_text("one")
        case "gone":
            file.unlink()
        case _:
            told.unlink()

    elsewhere = tmp_path / "there"
    assert StoredTables(store.remote).fetch(elsewhere, ["one"]) == []
    assert held(elsewhere) == {}


def test_what_no_generation_needs_goes_after_a_while(store: SnapshotStore, copies: Path, tmp_path: Path) -> None:
    stored, now_ms = StoredTables(store.remote), int(time.time() * 1000)
    stored.keep(copies, ["one", "two"])

    assert stored.remove(["one"], now_ms + GRACE_MS // 2) == []
    assert stored.remove(["one"], now_ms + GRACE_MS + 60_000) == ["two"]
    assert {path.name for path in (tmp_path / "store/tables").iterdir() if path.is_file()} == {"one.json"}
    assert stored.keep(copies, ["two"]) == ["two"], "it is needed again"


def test_nothing_of_a_job_that_is_gone_stays(store: SnapshotStore, copies: Path, tmp_path: Path) -> None:
    StoredTables(store.remote).keep(copies, ["one"])

    assert remove_all(store) == 3
    assert held(tmp_path / "store") == {}
