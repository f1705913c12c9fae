"""What a change of lanes removes that an earlier try has left, and who must not run meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kazoo.handlers.threading import KazooTimeoutError

from tandem.local import lane_change
from tandem.local.lane_change import check_stopped
from tandem.local.lane_logs import LaneLog, check_published
from tandem.local.lane_states import NewState, keep, newest_snapshot, remove_unused
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import Boundary, LogRead
from tandem.protocol.values import Config, Offsets
from unit.local.test_lane_checks import JOB, begun, written


def test_only_what_earlier_tries_have_made_is_removed(tmp_path: Path) -> None:
    lane = written(tmp_path, JOB + f"  checkpoint: {{directory: {tmp_path / 'checkpoint'}}}\n").lanes[0]
    kept = ("lanes-4-generation-2-epoch-17", "lanes-before-change", "lanes-4", "another")
    for name in (*kept, "lanes-4-generation-1-epoch-3"):
        (lane.checkpoint_directory / "savepoints" / name).mkdir(parents=True)
    remove_unused(lane, kept[0])
    assert {folder.name for folder in lane.checkpoint_directory.glob("savepoints/*")} == set(kept)


@pytest.mark.parametrize("savepoint", ["", "lanes-2-generation-1-epoch-17"])
def test_a_lane_that_has_published_nothing_since_the_last_change_has_the_state_of_then(
    tmp_path: Path, savepoint: str
) -> None:
    lane = written(tmp_path, JOB + f"  snapshots: {{store: {tmp_path / 'snapshots'}}}\n").lanes[0]
    config = Config(1, begun(lane).digest, Offsets(), "me", base=17, savepoint=savepoint, lane=0, lanes=2, moved=True)
    if savepoint:
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / "metadata").write_text("{}")
        made = NewState(lane, tmp_path / "state", Offsets())
        keep(made, savepoint, Boundary(1, 17), config.lineage, 40)
    log = LogRead(Decisions(), config, 17, Offsets(), 41)
    found = newest_snapshot(lane, log)
    assert (found.epoch if found else None) == (17 if savepoint else None)
    for later in (replace(log, published=18), replace(log, config=replace(config, moved=False))):
        with pytest.raises(RefusedError, match="has no snapshot yet"):
            newest_snapshot(lane, later)


@pytest.mark.parametrize("delivery", ["atMostOnce", "atLeastOnce"])
def test_what_is_claimed_and_not_published_may_be_out_where_there_are_no_transactions(
    tmp_path: Path, delivery: str
) -> None:
    lane = written(tmp_path, JOB + f"  delivery: {delivery}\n").lanes[0]
    log = LaneLog(Decisions(), begun(lane), 3, Offsets(), 41, lane=lane)
    check_published(log, [])
    with pytest.raises(RefusedError, match=rf"orders\.lane-0 has claimed epoch 4 .*{delivery} its rows may be out"):
        check_published(log, ["replica-1.2"])


def test_a_zookeeper_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def times_out(*_: object) -> tuple[str, ...]:
        raise KazooTimeoutError("Connection time-out")

    monkeypatch.setattr(lane_change, "replicas_up", times_out)
    job = written(tmp_path, JOB)
    with pytest.raises(
        ConnectionError, match=r"ZooKeeper at zookeeper:2181 does not say whether orders\.lane-0 still runs"
    ):
        check_stopped(job, job.lanes)
