"""What the dead leave behind is removed, their states are kept, and the living are left alone."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tandem.replica.leftovers import alive, is_locked, remove_of_the_dead, remove_predecessors

HOLD = (
    "import sys, time; from pathlib import Path; from tandem.replica.leftovers import alive\n"
    "with alive(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
)


def incarnation(folder: Path, name: str, epochs: int) -> Path:
    """A folder as a replica leaves it that was killed while it computed an epoch."""
    made = folder / name
    with alive(made):
        (made / "lineage").write_text("c0ffee")
        (made / "epoch.arrow").write_bytes(b"x" * 1_000)
        (made / "scratch" / "blocks").mkdir(parents=True)
        (made / "scratch" / "blocks" / "one").write_bytes(b"x" * 500)
        for log in ("commits", "offsets"):
            (made / "checkpoint" / log).mkdir(parents=True)
            for epoch in range(epochs):
                (made / "checkpoint" / log / str(epoch)).write_text("v1")
    return made


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """This incarnation's folder."""
    folder = tmp_path / "flights.replica-0.new"
    folder.mkdir()
    return folder


def test_what_is_of_the_moment_goes_and_the_state_stays(tmp_path: Path, mine: Path) -> None:
    dead = incarnation(tmp_path, "flights.replica-1.dead", epochs=2)

    assert remove_of_the_dead(mine) == 1_500

    assert names(dead) == ["checkpoint", "lineage", "lock"]
    assert names(dead / "checkpoint" / "commits") == ["0", "1"]


def test_one_that_computed_nothing_goes_whole(tmp_path: Path, mine: Path) -> None:
    incarnation(tmp_path, "flights.replica-1.dead", epochs=0)
    remove_of_the_dead(mine)
    assert names(tmp_path) == [mine.name]


def test_nothing_of_a_living_one_is_touched_until_it_is_killed(tmp_path: Path, mine: Path) -> None:
    other = incarnation(tmp_path, "flights.replica-0.old", epochs=1)
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(other)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert is_locked(other)
        assert remove_of_the_dead(mine) == 0
        remove_predecessors(mine)
        assert "epoch.arrow" in names(other)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)

    assert remove_of_the_dead(mine) == 1_500
    remove_predecessors(mine)
    assert names(tmp_path) == [mine.name]


def test_folders_of_others_are_not_ours_to_remove(tmp_path: Path, mine: Path) -> None:
    """One without a lock may be of an earlier version that runs, or none at all; one locked elsewhere may live there."""
    unlocked = incarnation(tmp_path, "flights.replica-1.older", epochs=0)
    (unlocked / "lock").unlink()
    elsewhere = incarnation(tmp_path, "flights.replica-2.elsewhere", epochs=0)
    (elsewhere / "lock").write_text("another kernel")
    (tmp_path / "notes").mkdir()

    assert remove_of_the_dead(mine) == 0
    assert names(tmp_path) == sorted([mine.name, unlocked.name, elsewhere.name, "notes"])


def test_an_earlier_incarnation_of_the_same_replica_is_dead_even_without_a_lock(tmp_path: Path, mine: Path) -> None:
    older = incarnation(tmp_path, "flights.replica-0.older", epochs=1)
    (older / "lock").unlink()
    assert remove_of_the_dead(mine) == 1_500
    assert names(older) == ["checkpoint", "lineage"]


def test_one_that_begins_while_another_looks_is_locked_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "flights.replica-0.aa"
    folder.mkdir()
    looking = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_EX)
    is_closed = threading.Event()
    threading.Timer(0.1, lambda: (os.close(looking), is_closed.set())).start()
    with alive(folder):
        assert is_closed.wait(5)
        assert is_locked(folder)
