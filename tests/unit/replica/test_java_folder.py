"""The temporary files of a JVM are in a folder of its own, which nobody else can write, and go with its owner."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tandem.process.info import RefusedError
from tandem.replica.folders import Folders
from tandem.replica.java_folder import java_folder, java_folders
from tandem.replica.leftovers import alive

LONGEST_SOCKET = 108


def test_each_incarnation_has_a_folder_of_its_own_whose_path_is_short_enough_for_a_socket(tmp_path: Path) -> None:
    first, second = (java_folder(f"flights.lane-3.replica-0.{one}", tmp_path) for one in ("aa", "bb"))
    assert first != second
    assert first.parent == second.parent == tmp_path / f"tandem-java-{os.getuid()}"
    assert first == java_folder("flights.lane-3.replica-0.aa", tmp_path)
    in_place = java_folder("a" * 200)
    assert len(f"{in_place}/.01234567-0123-0123-0123-0123456789ab.sock") < LONGEST_SOCKET


def test_only_the_user_can_write_it(tmp_path: Path) -> None:
    assert java_folder("one", tmp_path).parent.stat().st_mode & 0o777 == 0o700


def test_one_that_others_could_write_is_refused(tmp_path: Path) -> None:
    parent = java_folder("one", tmp_path).parent
    parent.chmod(0o777)
    with pytest.raises(RefusedError, match="others could have the JVM load a library"):
        java_folder("two", tmp_path)


def test_a_link_to_a_folder_of_somebody_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    (tmp_path / f"tandem-java-{os.getuid()}").symlink_to(tmp_path / "theirs")
    with pytest.raises(RefusedError, match="is not a folder that only this user can write"):
        java_folder("one", tmp_path)


def test_a_folder_of_another_owner_is_refused(tmp_path: Path) -> None:
    parent = java_folder("one", tmp_path).parent
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(parent, 12_345, -1)
    with pytest.raises(RefusedError, match="only this user can write"):
        java_folder("two", tmp_path)


def test_a_successor_of_any_job_removes_what_a_killed_one_left_and_spares_the_living(tmp_path: Path) -> None:
    dead, living, mine = (java_folder(f"{one}.replica-0.1", tmp_path) for one in ("dead", "living", "mine"))
    with alive(dead):
        (dead / "librocksdbjni1.so").write_bytes(b"x" * 100)
        (dead / "artifacts-1").mkdir()
    with alive(living):
        (living / "librocksdbjni2.so").write_bytes(b"x" * 100)
        folders = Folders(tmp_path / "main" / "mine.replica-0.1", tmp_path / "main" / "mine.replica-0.1", mine)
        assert not dead.exists()
        assert [path.name for path in living.iterdir() if path.name != "lock"] == ["librocksdbjni2.so"]
        assert mine.is_dir()
        folders.leave()
        assert not mine.exists()


def test_what_others_can_write_is_no_folder_of_this_user(tmp_path: Path) -> None:
    assert java_folders(tmp_path) is None
    parent = java_folder("one", tmp_path).parent
    assert java_folders(tmp_path) == parent
    parent.chmod(0o777)
    assert java_folders(tmp_path) is None


def test_a_link_is_no_folder_of_this_user(tmp_path: Path) -> None:
    parent = java_folder("one", tmp_path).parent
    parent.rename(tmp_path / "elsewhere")
    parent.symlink_to(tmp_path / "elsewhere")
    assert java_folders(tmp_path) is None
