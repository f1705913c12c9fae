"""A new incarnation starts from the newest state that is not after what is published, without copying it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.checkpoint import folders as checkpoint
from tandem.checkpoint.compared import restore
from tandem.checkpoint.position import EnginePosition

NOTHING = EnginePosition()
RETAINED = 6


def log_offset(epoch: int) -> int:
    """Where the cut of an epoch stands in the ordering topic, in these tests."""
    return 100 + epoch


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def offsets(epoch: int) -> str:
    """Spark's offset file: a version, the batch's settings, and the position that the bridge gave it."""
    return f'v1\n{{"batchWatermarkMs":0}}\n{{"epoch":{epoch},"log":{log_offset(epoch)}}}\n'


def make(folder: Path, last: int, uncommitted: int = 0, first: int = 0) -> Path:
    """A checkpoint with the epochs `first` … `last` committed, and `uncommitted` more begun."""
    write(folder / "metadata", '{"id":"query"}')
    for epoch in range(first, last + uncommitted + 1):
        write(folder / "offsets" / str(epoch), offsets(epoch))
        write(folder / "offsets" / f".{epoch}.crc", "sum")
        # State version v is the state after epoch v - 1.
        write(folder / "state" / "0" / "0" / f"{epoch + 1}.changelog", f"state after {epoch}")
        if epoch <= last:
            write(folder / "commits" / str(epoch), "v1\n{}")
    write(folder / "state" / "0" / "0" / f"{first + 1}.zip", f"snapshot after {first}")
    write(folder / "state" / "0" / "0" / "_metadata" / "schema", "schema")
    return folder


def files(folder: Path, under: str) -> set[str]:
    return {path.name for path in (folder / under).iterdir() if path.is_file()}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The checkpoint of the new incarnation."""
    return tmp_path / "new" / "checkpoint"


def test_the_watermarks_of_the_epoch_come_along_and_none_of_later_ones(tmp_path: Path, target: Path) -> None:
    earlier = make(tmp_path / "old", last=4)
    for epoch in range(6):
        write(earlier / "watermarks" / str(epoch), f"known after {epoch}")
    write(earlier / "watermarks" / ".5", "half")
    assert restore([earlier], 3, target).epoch == 3
    assert files(target, "watermarks") == {"0", "1", "2", "3"}


def test_the_first_incarnation_begins_at_the_beginning(tmp_path: Path, target: Path) -> None:
    assert restore([], 5, target) == NOTHING
    assert restore([tmp_path / "absent"], 5, target) == NOTHING
    assert target.is_dir()


def test_the_newest_of_several_checkpoints_is_taken(tmp_path: Path, target: Path) -> None:
    folders = [make(tmp_path / name, last) for name, last in (("a", 3), ("b", 7), ("c", 5))]

    assert restore(folders, 9, target) == EnginePosition(7, log_offset(7))


def test_a_state_that_is_newer_than_what_is_published_is_cut_back(tmp_path: Path, target: Path) -> None:
    folder = make(tmp_path / "a", last=6, uncommitted=1)

    assert restore([folder], 4, target) == EnginePosition(4, log_offset(4))
    assert files(target, "offsets") == files(target, "commits") == {"0", "1", "2", "3", "4"}
    assert files(target, "state/0/0") == {"1.zip", *(f"{version}.changelog" for version in range(1, 6))}
    assert (target / "metadata").read_text() == '{"id":"query"}'
    assert (target / "state" / "0" / "0" / "_metadata" / "schema").exists()


@pytest.mark.parametrize("last_published", [-1, 2])
def test_a_checkpoint_with_nothing_old_enough_is_passed_over(tmp_path: Path, target: Path, last_published: int) -> None:
    folder = make(tmp_path / "a", first=3, last=6)

    assert restore([folder], last_published, target) == NOTHING
    assert not any(target.iterdir())


def test_an_epoch_that_was_begun_but_not_committed_does_not_count(tmp_path: Path, target: Path) -> None:
    assert restore([make(tmp_path / "a", last=2, uncommitted=2)], 9, target) == EnginePosition(2, log_offset(2))


def test_files_are_linked_so_that_a_large_state_costs_nothing(tmp_path: Path, target: Path) -> None:
    folder = make(tmp_path / "a", last=2)
    restore([folder], 2, target)

    for path in (p for p in target.rglob("*") if p.is_file()):
        assert path.stat().st_ino == (folder / path.relative_to(target)).stat().st_ino


def test_on_another_file_system_files_are_copied(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)

    assert restore([make(tmp_path / "a", last=2)], 2, target) == EnginePosition(2, log_offset(2))
    assert (target / "state" / "0" / "0" / "3.changelog").read_text() == "state after 2"


def at_each_try(monkeypatch: pytest.MonkeyPatch, happens: Callable[[int], None]) -> list[int]:
    """Let something happen when the first file of each try is linked; the list of tries grows. Spark retains 6 epochs."""
    link = os.link
    tries: list[int] = []

    def linked(source: Path, destination: Path) -> None:
        if source.name == "metadata":
            tries.append(len(tries))
            happens(tries[-1])
        link(source, destination)

    monkeypatch.setattr(os, "link", linked)
    monkeypatch.setattr(checkpoint, "RETAINED_BATCHES", RETAINED)
    return tries


def test_old_versions_that_its_owner_cleans_up_meanwhile_are_not_missed(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "a", last=6)
    tries = at_each_try(monkeypatch, lambda _: (folder / "offsets" / "0").unlink())

    assert restore([folder], 9, target) == EnginePosition(6, log_offset(6))
    assert tries == [0]
    assert files(target, "offsets") == {"1", "2", "3", "4", "5", "6"}


def test_if_the_epoch_itself_is_cleaned_up_meanwhile_the_now_newest_is_taken(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "a", last=6)

    def move_on(tried: int) -> None:
        if not tried:
            make(folder, first=7, last=6 + 2 * RETAINED)

    tries = at_each_try(monkeypatch, move_on)

    newest = 6 + 2 * RETAINED
    assert restore([folder], 10_000, target) == EnginePosition(newest, log_offset(newest))
    assert tries == [0, 1]


def test_if_its_owner_takes_the_newest_away_the_next_one_is_taken(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newest = make(tmp_path / "a", last=3), make(tmp_path / "b", last=6)
    link = os.link

    def take_away_first(source: Path, destination: Path) -> None:
        shutil.rmtree(newest, ignore_errors=True)
        link(source, destination)

    monkeypatch.setattr(os, "link", take_away_first)

    assert restore([older, newest], 9, target) == EnginePosition(3, log_offset(3))
    assert files(target, "offsets") == {"0", "1", "2", "3"}


def test_half_a_copy_of_a_folder_that_is_being_removed_is_no_state(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newest = make(tmp_path / "a", last=3), make(tmp_path / "b", last=6)
    link = os.link

    def removes_when_the_commit_is_linked(source: Path, destination: Path) -> None:
        link(source, destination)
        if source == newest / "commits" / "6":
            shutil.rmtree(newest)

    monkeypatch.setattr(os, "link", removes_when_the_commit_is_linked)

    assert restore([older, newest], 9, target) == EnginePosition(3, log_offset(3))
    assert files(target, "commits") == {"0", "1", "2", "3"}


@pytest.mark.parametrize("name", ["commits", "offsets"])
def test_a_file_where_a_folder_of_a_checkpoint_should_be_is_no_state(tmp_path: Path, target: Path, name: str) -> None:
    folder = make(tmp_path / "a", last=3)
    shutil.rmtree(folder / name)
    (folder / name).write_text("")
    assert restore([folder], 9, target) == NOTHING


def test_a_checkpoint_that_never_holds_still_is_given_up_in_the_end(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "a", last=0)
    ahead = 2 * RETAINED

    def moves_on(tried: int) -> None:
        make(folder, first=tried * ahead + 1, last=(tried + 1) * ahead)

    tries = at_each_try(monkeypatch, moves_on)

    assert restore([folder], 10_000, target, tries=3) == NOTHING
    assert tries == [0, 1, 2]
    assert not any(target.iterdir())


@pytest.mark.parametrize("content", ["", "v1\n{", "v1\n{}\n-", 'v1\n{}\n{"epoch":6}', "v1\n{}\n[6]", "v1\n{}\nnull"])
def test_a_checkpoint_with_a_torn_offset_file_is_passed_over(tmp_path: Path, target: Path, content: str) -> None:
    whole, torn = make(tmp_path / "a", last=3), make(tmp_path / "b", last=6)
    (torn / "offsets" / "6").write_text(content)

    assert restore([whole, torn], 9, target) == EnginePosition(3, log_offset(3))


def test_its_own_folder_is_no_source(target: Path) -> None:
    make(target, last=3)

    assert restore([target], 9, target) == NOTHING
