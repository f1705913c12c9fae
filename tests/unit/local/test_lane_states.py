"""What a change of lanes removes that an earlier try has left, and who must not run meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from kazoo.handlers.threading import KazooTimeoutError

from tandem.local import lane_change
from tandem.local.lane_change import check_stopped
from tandem.local.lane_states import remove_unused
from unit.local.test_lane_checks import JOB, written


def test_only_what_earlier_tries_have_made_is_removed(tmp_path: Path) -> None:
    lane = written(tmp_path, JOB + f"  checkpoint: {{directory: {tmp_path / 'checkpoint'}}}\n").lanes[0]
    kept = ("lanes-4-generation-2-epoch-17", "lanes-before-change", "lanes-4", "another")
    for name in (*kept, "lanes-4-generation-1-epoch-3"):
        (lane.checkpoint_directory / "savepoints" / name).mkdir(parents=True)
    remove_unused(lane, kept[0])
    assert {folder.name for folder in lane.checkpoint_directory.glob("savepoints/*")} == set(kept)


def test_a_zookeeper_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def times_out(*_: object) -> tuple[str, ...]:
        raise KazooTimeoutError("Connection time-out")

    monkeypatch.setattr(lane_change, "replicas_up", times_out)
    job = written(tmp_path, JOB)
    with pytest.raises(
        ConnectionError, match=r"ZooKeeper at zookeeper:2181 does not say whether orders\.lane-0 still runs"
    ):
        check_stopped(job, job.lanes)
