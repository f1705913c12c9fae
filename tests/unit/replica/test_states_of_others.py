"""Nobody goes on from a state that nobody knows to be right: after a restart a wrong one would be taken for a right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.supervised import write_manifest
from tandem.checkpoint.compared import NOTE, newest_compared
from tandem.checkpoint.folders import begin_after, committed
from tandem.checkpoint.position import EnginePosition
from tandem.manifest import load
from tandem.protocol.values import Config, Offsets
from tandem.replica import states as module
from tandem.replica.states import States
from tandem.shipping import Wanted

HERE = Config(0, "c0ffee", Offsets(), "a")


class Nothing:
    """That was followed."""

    followed = -1
    epochs_a_batch = 1

    def hand_over(self, target: Path) -> EnginePosition | None:  # noqa: ARG002
        return None


def states(folder: Path, incarnation: str) -> States:
    made = States(load(write_manifest(folder, "orders")), incarnation, folder / incarnation)
    made.belong_to(HERE)
    return made


def standing_at(folder: Path, incarnation: str, epoch: int) -> States:
    """Of an incarnation that has computed an epoch, and has not read its marker."""
    made = states(folder, incarnation)
    begin_after(made.checkpoint, EnginePosition(epoch, 10 * epoch))
    return made


@pytest.fixture
def older(tmp_path: Path) -> States:
    """Stands at epoch 1, which is published."""
    made = standing_at(tmp_path, "orders.replica-1.bbbb", 1)
    made.compared(1)
    return made


@pytest.fixture
def diverged(tmp_path: Path, older: States) -> States:  # noqa: ARG001
    """Stands at epoch 3, of which it does not know yet that it differs; another one at epoch 1."""
    made = standing_at(tmp_path, "orders.replica-0.aaaa", 3)
    made.compared(3)
    return made


def test_a_state_does_not_count_before_its_owner_has_compared_it(tmp_path: Path, older: States) -> None:  # noqa: ARG001
    """Published by another one, and computed by it otherwise, as it will find out; or it is paused, and never does."""
    ahead = standing_at(tmp_path, "orders.replica-0.aaaa", 3)
    mine = states(tmp_path, "orders.replica-0.cccc")
    assert mine.restore(3, Nothing()) == EnginePosition(1, 10)
    assert mine.oldest(3) == EnginePosition(1, 10)
    based = mine.bases().newest(Wanted(-1, 3), tmp_path / "followed")
    assert based is not None
    assert based.position == EnginePosition(1, 10)

    ahead.compared(3)
    assert states(tmp_path, "orders.replica-0.dddd").restore(3, Nothing()) == EnginePosition(3, 30)


def test_of_a_state_that_is_ahead_the_part_counts_that_was_compared(tmp_path: Path) -> None:
    standing_at(tmp_path, "orders.replica-0.aaaa", 3).compared(2)
    mine = states(tmp_path, "orders.replica-0.cccc")
    assert mine.restore(3, Nothing()).epoch == 2
    assert committed(mine.checkpoint) == [2]


def test_a_folder_of_a_tandem_that_noted_nothing_counts_as_it_did(tmp_path: Path) -> None:
    standing_at(tmp_path, "orders.replica-0.aaaa", 3)
    (tmp_path / "orders.replica-0.aaaa" / NOTE).unlink()
    assert states(tmp_path, "orders.replica-0.cccc").restore(3, Nothing()) == EnginePosition(3, 30)


def test_a_note_that_is_cut_off_is_none_at_all(tmp_path: Path) -> None:
    standing_at(tmp_path, "orders.replica-0.aaaa", 3)
    (tmp_path / "orders.replica-0.aaaa" / NOTE).write_bytes(b"3")
    assert states(tmp_path, "orders.replica-0.cccc").restore(3, Nothing()).epoch == -1


def test_a_replica_goes_on_from_an_older_state_of_one_that_agrees(tmp_path: Path, diverged: States) -> None:
    diverged.disown()
    assert states(tmp_path, "orders.replica-0.cccc").restore(3, Nothing()) == EnginePosition(1, 10)
    assert newest_compared([diverged.checkpoint], 3) is None, "`tandem state` would show it"


def test_a_state_that_is_disowned_while_it_is_copied_is_not_taken(
    tmp_path: Path, diverged: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disowned_meanwhile(checkpoints: list[Path], last_published: int, target: Path) -> EnginePosition:
        found = copy(checkpoints, last_published, target)
        diverged.disown()
        return found

    copy = module.restore
    monkeypatch.setattr(module, "restore", disowned_meanwhile)
    mine = states(tmp_path, "orders.replica-0.cccc")

    assert mine.restore(3, Nothing()) == EnginePosition(1, 10)
    assert committed(mine.checkpoint) == [0, 1], "nothing is left of the other one"


def test_a_state_is_disowned_though_its_note_cannot_be_written(tmp_path: Path, diverged: States) -> None:
    other = states(tmp_path, "orders.replica-2.cccc")
    assert [folder.name for folder in other.relatives()].count("orders.replica-0.aaaa") == 1
    diverged.close()
    diverged.disown()
    assert "orders.replica-0.aaaa" not in [folder.name for folder in other.relatives()]
