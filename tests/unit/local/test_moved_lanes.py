"""What a change of the number of lanes reads on from, and what its check looks for before any lane stops."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tandem.checkpoint.folders import Checkpoint
from tandem.checkpoint.position import EnginePosition
from tandem.local import lane_change
from tandem.local.lane_change import _Change
from tandem.local.lane_logs import LaneLog
from tandem.orderer.inputs import check_same_inputs
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Offsets, TopicPartition
from tandem.replica.lanes_before import with_lanes
from unit.local.test_lane_checks import JOB, begun, written


class Changing:
    """A job of `before` lanes that is to have `lanes`. `inputs`: topic → number of partitions."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, before: int, lanes: int, inputs: Mapping[str, int]
    ) -> None:
        monkeypatch.setattr(lane_change, "Topics", lambda _: SimpleNamespace(partitions=lambda _: inputs))
        monkeypatch.setattr(lane_change, "ids_of", lambda *_: ())
        job = written(folder, JOB.replace("lanes: 4", f"lanes: {lanes}"))
        self.before = with_lanes(job, before).lanes
        self.change = _Change(job, before, folder, print)

    def logs(self, *ends: Offsets) -> list[LaneLog]:
        """Where each lane has stopped."""
        lanes = zip(self.before, ends, strict=True)
        return [LaneLog(Decisions(), begun(lane), 17, one, 41, lane=lane) for lane, one in lanes]


def test_partitions_that_were_added_while_the_job_was_stopped_belong_to_a_lane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = {"orders": 8, "returns": 4}
    changing = Changing(tmp_path, monkeypatch, 2, 4, inputs)
    ends = [Offsets({TopicPartition("orders", p): 100 + p for p in (lane, lane + 2)}) for lane in range(2)]
    moved = changing.change._moved(changing.logs(*ends), "", Offsets({**ends[0], **ends[1]}))
    for lane, (_, one) in enumerate(moved):
        check_same_inputs(one.start, inputs)
        assert dict(one.start) == {("orders", lane): 100 + lane, ("orders", lane + 4): 0, ("returns", lane): 0}


class Checked:
    """What the check of states does, in order; the states are given, and share a key."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, partitions: int) -> None:
        self.done: list[str] = []
        state = Checkpoint(Path("state"), EnginePosition(17, 40), 17)
        monkeypatch.setattr(lane_change, "newest_snapshot", lambda *_: "snapshot")
        monkeypatch.setattr(lane_change, "state_partitions", lambda _: partitions)
        monkeypatch.setattr(lane_change, "stored_state", lambda *_: state)
        monkeypatch.setattr(lane_change, "state_session", lambda *_: nullcontext("spark"))
        monkeypatch.setattr(lane_change, "partitioners_of", lambda *_: self.done.append("partitioners"))
        monkeypatch.setattr(lane_change, "chosen_keys", self._chosen)

    def _chosen(self, *_: Any, **__: Any) -> None:
        self.done.append("keys")
        raise RefusedError("a key is in the states of two lanes that would become one")


@pytest.mark.parametrize(("before", "lanes", "done"), [(4, 2, ["keys"]), (2, 4, ["partitioners", "keys"])])
def test_a_check_finds_keys_that_lanes_share_also_where_lanes_only_become_one(
    before: int, lanes: int, done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing, checked = Changing(tmp_path, monkeypatch, before, lanes, {"orders": 4}), Checked(monkeypatch, 1)
    with ExitStack() as stack, pytest.raises(RefusedError, match="two lanes"):
        changing.change._check_states(changing.logs(*[Offsets()] * before), stack)
    assert checked.done == done


def test_a_job_that_keeps_no_state_has_no_keys_to_look_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changing, checked = Changing(tmp_path, monkeypatch, 4, 2, {"orders": 4}), Checked(monkeypatch, 0)
    with ExitStack() as stack:
        changing.change._check_states(changing.logs(*[Offsets()] * 4), stack)
    assert checked.done == []
