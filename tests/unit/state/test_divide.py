"""What a divided state has beside the rows of its stores: Spark's last batches, with the times of all that it is made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tandem.checkpoint.folders import Checkpoint, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.state.divide import begin
from tandem.state.errors import DivideError

AFTER = EnginePosition(20, 77)


def checkpoint(folder: Path, epoch: int, watermark_ms: int, version: str = "v1") -> Checkpoint:
    """Of a query with one store, which stands at `epoch`."""
    position = EnginePosition(epoch, epoch * 10)
    times = json.dumps({"batchWatermarkMs": watermark_ms, "batchTimestampMs": 9, "conf": {"partitions": folder.name}})
    marks = {"watermarks": [{"column": "t", "watermarkMs": watermark_ms, "rowMs": 1}], "groups": []}
    contents = {
        "metadata": '{"id":"the query"}',
        "operators": "[]",
        f"offsets/{epoch}": f"{version}\n{times}\n{position.text}\n{position.text}",
        f"offsets/.{epoch}.crc": "of the offsets",
        f"commits/{epoch}": "v1\n" + json.dumps({"nextBatchWatermarkMs": watermark_ms + 1}),
        f"watermarks/{epoch}": json.dumps(marks),
        "state/0/_metadata/metadata": "the operator",
        "state/0/_metadata/.metadata.crc": "of the operator",
        "state/0/_stateSchema/default/0_x": "a schema",
        "state/0/0/_metadata/schema": "another schema",
        f"state/0/0/{epoch + 1}.zip": "rows",
    }
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return Checkpoint(folder, position, epoch)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_it_stands_at_the_new_epoch_with_the_latest_times_and_no_rows(tmp_path: Path) -> None:
    sources = [checkpoint(tmp_path / "a", 3, 5), checkpoint(tmp_path / "b", 9, 4)]

    begin(sources, tmp_path / "new", AFTER, empty=False)

    assert find_newest([tmp_path / "new"], 20) == Checkpoint(tmp_path / "new", AFTER, 20)
    assert files(tmp_path / "new") == {
        "metadata",
        "operators",
        *(f"{log}/{batch}" for log in ("offsets", "commits") for batch in (19, 20)),
        "watermarks/20",
        "state/0/_metadata/metadata",
        "state/0/_stateSchema/default/0_x",
        "state/0/0/_metadata/schema",
    }
    assert (tmp_path / "new" / "offsets" / "20").read_text().splitlines()[2:] == [AFTER.text] * 2
    times, commit = ((tmp_path / "new" / log / "20").read_text().splitlines()[1] for log in ("offsets", "commits"))
    assert json.loads(times) == {"batchWatermarkMs": 5, "batchTimestampMs": 9, "conf": {"partitions": "a"}}
    assert json.loads(commit) == {"nextBatchWatermarkMs": 6}
    assert json.loads((tmp_path / "new" / "watermarks" / "20").read_text())["watermarks"][0]["watermarkMs"] == 5


def test_a_lane_that_has_read_nothing_has_seen_no_time(tmp_path: Path) -> None:
    begin([checkpoint(tmp_path / "a", 3, 5)], tmp_path / "new", AFTER, empty=True)

    assert not (tmp_path / "new" / "watermarks").exists()
    assert json.loads((tmp_path / "new" / "commits" / "20").read_text().splitlines()[1]) == {"nextBatchWatermarkMs": 0}


def test_logs_in_a_form_that_is_not_known_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DivideError, match=r"offsets/3 in a form that is not known here: v2"):
        begin([checkpoint(tmp_path / "a", 3, 5, version="v2")], tmp_path / "new", AFTER, empty=False)
