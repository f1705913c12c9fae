"""Lanes that have published nothing since their number changed go on from what was made for them then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.local.lane_logs import LaneLog
from tandem.local.lane_states import NewState, exact_state, keep, remove_unused
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import Boundary
from tandem.protocol.values import Config, Offsets
from unit.local.test_lane_checks import JOB, begun, written
from unit.snapshots.snapshot_builders import checkpoint

NAME = "lanes-4-generation-1-epoch-17"


def log_of(folder: Path, savepoint: str, has_store: bool) -> LaneLog:
    """That of a lane whose job has not run since the change."""
    places = f"  checkpoint: {{directory: {folder / 'checkpoint'}}}\n"
    places += f"  snapshots: {{store: {folder / 'snapshots'}}}\n" if has_store else ""
    lane = written(folder, JOB + places).lanes[1]
    config = Config(1, begun(lane).digest, Offsets(), "me", base=17, savepoint=savepoint, lane=1, lanes=4, moved=True)
    return LaneLog(Decisions(), config, 17, Offsets(), 41, lane=lane)


def made(log: LaneLog, folder: Path) -> None:
    state = NewState(log.lane, checkpoint(folder / "made", last=17), Offsets())
    keep(state, log.config.savepoint, Boundary(1, 17), log.config.lineage, 40)


@pytest.mark.parametrize("has_store", [True, False])
def test_a_second_change_goes_on_from_what_the_first_has_made(has_store: bool, tmp_path: Path) -> None:
    log = log_of(tmp_path, NAME, has_store)
    made(log, tmp_path)
    found = exact_state(log, tmp_path / "before")
    assert found is not None
    assert (found.folder, found.position.epoch) == (tmp_path / "before", 17)
    remove_unused(log.lane, log.config.savepoint)
    assert exact_state(log, tmp_path / "again") is not None, "it may be tried again"


def test_a_second_change_of_a_job_without_state_needs_none(tmp_path: Path) -> None:
    assert exact_state(log_of(tmp_path, "", has_store=True), tmp_path / "before") is None


@pytest.mark.parametrize("has_store", [True, False])
def test_what_the_first_change_has_made_and_is_elsewhere_is_named(has_store: bool, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=rf"orders\.lane-1 has published nothing .*savepoint {NAME}, is not on this"):
        exact_state(log_of(tmp_path, NAME, has_store), tmp_path / "before")


def test_what_was_made_is_not_the_state_of_a_lane_that_has_gone_on(tmp_path: Path) -> None:
    log = log_of(tmp_path, NAME, has_store=True)
    made(log, tmp_path)
    for later in (replace(log, published=18), replace(log, config=replace(log.config, moved=False))):
        with pytest.raises(RefusedError, match="is that of no epoch"):
            exact_state(later, tmp_path / "before")
