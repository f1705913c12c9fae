"""Where a query without state stands is found by those who look for its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.checkpoint.folders import find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.kept_state import KeptState, check_state
from tandem.engine.realtime.notes import PositionNotes
from tandem.jobapi.errors import JobError


def test_the_newest_note_is_found_and_few_are_kept(tmp_path: Path) -> None:
    notes = PositionNotes(tmp_path, every_s=0.0)
    for epoch in range(10, 60, 10):
        notes.passed(EnginePosition(epoch, 7 * epoch))
    found = find_newest([tmp_path], 1_000)
    assert found is not None
    assert found.position == EnginePosition(50, 350)
    assert len(list((tmp_path / "offsets").iterdir())) == len(list((tmp_path / "commits").iterdir())) == 3


def test_notes_go_on_where_others_ended(tmp_path: Path) -> None:
    PositionNotes(tmp_path, every_s=0.0).passed(EnginePosition(1, 10))
    PositionNotes(tmp_path, every_s=0.0).passed(EnginePosition(2, 20))
    found = find_newest([tmp_path], 1_000)
    assert found is not None
    assert found.position == EnginePosition(2, 20)


def test_not_every_epoch_is_noted(tmp_path: Path) -> None:
    now_s = 100.0
    notes = PositionNotes(tmp_path, every_s=10.0, clock_s=lambda: now_s)
    notes.passed(EnginePosition(1, 10))
    assert find_newest([tmp_path], 1_000) is None
    now_s = 110.0
    notes.passed(EnginePosition(2, 20))
    notes.passed(EnginePosition(3, 30))
    found = find_newest([tmp_path], 1_000)
    assert found is not None
    assert found.position == EnginePosition(2, 20)


def test_what_is_not_noted_yet_is_noted_once_nothing_comes(tmp_path: Path) -> None:
    notes = PositionNotes(tmp_path, every_s=3_600.0)
    notes.rest()
    assert find_newest([tmp_path], 1_000) is None
    notes.passed(EnginePosition(1, 10))
    for _ in range(3):
        notes.rest()
    found = find_newest([tmp_path], 1_000)
    assert found is not None
    assert (found.position, found.batch) == (EnginePosition(1, 10), 0), "it is noted once"


def test_code_that_keeps_state_cannot_go_on_from_a_query_without(tmp_path: Path) -> None:
    PositionNotes(tmp_path, every_s=0.0).passed(EnginePosition(1, 10))
    with pytest.raises(JobError, match="it left none, and the code now keeps some"):
        check_state(tmp_path, [KeptState("aggregation", ("key",))])
