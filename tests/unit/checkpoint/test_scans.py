"""Entries of `offsets` get a position for each scan of the plan that is about to start, and only if they have it not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tandem.checkpoint.folders import begin_after, position_in
from tandem.checkpoint.position import EnginePosition
from tandem.checkpoint.scans import fit_scans, fitted

HEAD = b'v1\n{"batchWatermarkMs":5,"conf":{}}'
LATE, EARLY = EnginePosition(7, 70).text.encode(), EnginePosition().text.encode()
OLD = b'{"epoch": 7, "log": 70}'


def entry(*positions: bytes) -> bytes:
    return b"\n".join([HEAD, *positions])


@pytest.mark.parametrize("before", [(LATE,), (LATE, LATE, LATE), (LATE, EARLY), (EARLY, LATE), (OLD, EARLY, OLD)])
def test_an_entry_gets_its_latest_position_as_often_as_there_are_scans(before: tuple[bytes, ...]) -> None:
    assert fitted(entry(*before), 2) == entry(LATE, LATE)


@pytest.mark.parametrize("positions", [(LATE, LATE), (OLD, OLD)])
def test_an_entry_that_fits_is_as_it_was(positions: tuple[bytes, ...]) -> None:
    assert fitted(entry(*positions), 2) == entry(*positions)


def test_a_scan_that_was_left_out_does_not_say_where_the_checkpoint_stands() -> None:
    assert position_in(entry(LATE, EARLY)) == position_in(entry(EARLY, LATE)) == EnginePosition(7, 70)
    assert position_in(entry(LATE, b"-")) == EnginePosition(7, 70)
    with pytest.raises(ValueError, match="says no position"):
        position_in(entry(b"-"))


def test_what_spark_reads_is_fitted_and_files_of_a_running_query_are_not_written_into(tmp_path: Path) -> None:
    ours, running = tmp_path / "ours", tmp_path / "running"
    for batch in (8, 9, 10, 11):
        path = running / "offsets" / str(batch)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry(EnginePosition(batch, 10 * batch).text.encode()))
        (ours / "offsets").mkdir(parents=True, exist_ok=True)
        os.link(path, ours / "offsets" / str(batch))
        (ours / "offsets" / f".{batch}.crc").touch()
    fit_scans(ours, 3)
    positions = {path.name: path.read_bytes().splitlines()[2:] for path in (ours / "offsets").glob("[0-9]*")}
    assert {name: len(lines) for name, lines in positions.items()} == {"8": 1, "9": 1, "10": 3, "11": 3}
    assert json.loads(positions["11"][2]) == {"epoch": 11, "log": 110}
    assert {path.name for path in (ours / "offsets").glob(".*")} == {".8.crc", ".9.crc"}
    assert all(len(path.read_bytes().splitlines()) == 3 for path in (running / "offsets").iterdir())


def test_a_query_that_begins_anywhere_may_have_several_scans(tmp_path: Path) -> None:
    begin_after(tmp_path, EnginePosition(7, 70))
    fit_scans(tmp_path, 2)
    assert (tmp_path / "offsets" / "7").read_bytes().splitlines()[2:] == [LATE, LATE]
    assert (tmp_path / "offsets" / "6").read_bytes().splitlines()[2:] == [EnginePosition(6, 70).text.encode()] * 2


def test_a_query_that_begins_with_nothing_has_no_entries(tmp_path: Path) -> None:
    fit_scans(tmp_path / "checkpoint", 2)
    assert not (tmp_path / "checkpoint").exists()
