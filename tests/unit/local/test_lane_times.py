"""Lanes that become one have seen about the same times, or nothing is left that could be late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tandem.checkpoint.folders import Checkpoint
from tandem.checkpoint.position import EnginePosition
from tandem.local.lane_states import States
from tandem.local.lane_times import MOST_APART_MS, check_times, unread
from tandem.process.info import RefusedError
from tandem.protocol.values import Offsets, TopicPartition

NOW_MS = 1_800_000_000_000


def states(folder: Path, times: dict[int, int], lanes: int, before: int) -> States:
    """Of lanes `before` with these watermarks; the others have published nothing."""
    return States({lane: seen(folder / str(lane), time) for lane, time in times.items()}, lanes, before)


def seen(folder: Path, watermark_ms: int) -> Checkpoint:
    (folder / "commits").mkdir(parents=True)
    (folder / "commits" / "7").write_text("v1\n" + json.dumps({"nextBatchWatermarkMs": watermark_ms}))
    return Checkpoint(folder, EnginePosition(7, 40), 7)


def test_records_to_read_are_those_behind_the_position() -> None:
    one, two, other = (TopicPartition("orders", number) for number in range(3))
    assert unread(Offsets({one: 7, two: 9}), Offsets({one: 9, two: 4, other: 5})) == 2


@pytest.mark.parametrize(
    ("lanes", "before", "said"),
    [
        (1, 2, "lane 1 is 2 minutes behind lane 0, .* has 5 records to read. Lane 0 goes on"),
        (2, 4, "lane 3 has seen no time yet, unlike lane 1, .* has 5 records"),
        (3, 2, "lane 1 is 2 minutes behind lane 0"),
    ],
)
def test_what_a_lane_has_not_read_yet_would_be_late(tmp_path: Path, lanes: int, before: int, said: str) -> None:
    times = {0: NOW_MS, 1: NOW_MS - 2 * MOST_APART_MS, 2: NOW_MS}
    found = states(tmp_path, {lane: time for lane, time in times.items() if lane < before}, lanes, before)
    check_times(found, {})
    check_times(found, {0: 5, 2: 5})
    with pytest.raises(RefusedError, match=said):
        check_times(found, {1: 5} if before == 2 else {3: 5})


def test_lanes_that_are_not_merged_or_not_far_apart_are_let_through(tmp_path: Path) -> None:
    far = {0: NOW_MS, 1: NOW_MS - 2 * MOST_APART_MS}
    check_times(states(tmp_path / "divided", far, 4, 2), {0: 5, 1: 5})
    check_times(states(tmp_path / "near", {0: NOW_MS, 1: NOW_MS - MOST_APART_MS}, 1, 2), {0: 5, 1: 5})
    check_times(states(tmp_path / "timeless", {0: 0, 1: 0}, 1, 2), {0: 5, 1: 5})
    check_times(States({}, 1, 2), {0: 5, 1: 5})


def test_of_several_watermarks_nobody_knows_whose_records_are_left(tmp_path: Path) -> None:
    found = states(tmp_path, {0: NOW_MS, 1: NOW_MS - 2 * MOST_APART_MS}, 1, 2)
    note = found.exact[0].folder / "watermarks" / "7"
    note.parent.mkdir()
    note.write_text("{}")
    check_times(found, {1: 5})
