"""Where a query without state stands is found by those who look for its checkpoint."""

from __future__ import annotations

from pathlib import Path

from tandem.checkpoint.folders import find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.realtime.notes import PositionNotes


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
    notes = PositionNotes(tmp_path, every_s=3_600.0)
    notes.passed(EnginePosition(1, 10))
    assert find_newest([tmp_path], 1_000) is None
