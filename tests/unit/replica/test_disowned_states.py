"""Nobody goes on from the state of a replica that has diverged: in a restart it would be taken for a right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.supervised import write_manifest
from tandem.checkpoint.folders import begin_after, committed
from tandem.checkpoint.position import EnginePosition
from tandem.manifest import load
from tandem.protocol.values import Config, Positions
from tandem.replica import states as module
from tandem.replica.states import States

HERE = Config(0, "c0ffee", Positions(), "a")


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


@pytest.fixture
def diverged(tmp_path: Path) -> States:
    """Stands at epoch 3; another one at epoch 1."""
    begin_after(states(tmp_path, "orders.replica-1.bbbb").checkpoint, EnginePosition(1, 10))
    made = states(tmp_path, "orders.replica-0.aaaa")
    begin_after(made.checkpoint, EnginePosition(3, 30))
    return made


def test_a_replica_goes_on_from_an_older_state_of_one_that_agrees(tmp_path: Path, diverged: States) -> None:
    diverged.disown()
    assert states(tmp_path, "orders.replica-0.cccc").restore(3, Nothing()) == EnginePosition(1, 10)


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
