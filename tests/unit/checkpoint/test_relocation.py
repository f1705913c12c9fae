"""A copied checkpoint names its own files, not those that it was copied from."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tandem.checkpoint.relocation import relocate

SCHEMA = "_stateSchema/default/0_e3e669bf"


def metadata(paths: list[str]) -> str:
    """Of a `transformWithState`, as Spark writes it."""
    store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 1, "stateSchemaFilePaths": paths}
    return "v2\n" + json.dumps({"operatorInfo": {"operatorId": 2}, "stateStoreInfo": [store]})


def written(checkpoint: Path, operator: int = 2) -> Path:
    path = checkpoint / "state" / str(operator) / "_metadata" / "v2" / "0"
    path.parent.mkdir(parents=True)
    path.write_text(metadata([f"file:/dev/shm/old/state/{operator}/{SCHEMA}"]))
    return path


def paths_in(path: Path) -> list[str]:
    version, _, text = path.read_text().partition("\n")
    assert version == "v2"
    return [p for store in json.loads(text)["stateStoreInfo"] for p in store["stateSchemaFilePaths"]]


def test_paths_point_into_the_copy(tmp_path: Path) -> None:
    path = written(tmp_path / "copy")
    relocate(tmp_path / "copy")

    assert paths_in(path) == [f"file:{tmp_path}/copy/state/2/{SCHEMA}"]


def test_paths_point_to_where_the_copy_will_be(tmp_path: Path) -> None:
    path = written(tmp_path / "staging")
    relocate(tmp_path / "staging", tmp_path / "home")

    assert paths_in(path) == [f"file:{tmp_path}/home/state/2/{SCHEMA}"]


def test_the_original_that_shares_the_file_is_not_changed(tmp_path: Path) -> None:
    path = written(tmp_path / "copy")
    original = tmp_path / "original"
    os.link(path, original)
    before = original.read_text()
    relocate(tmp_path / "copy")

    assert original.read_text() == before
    assert path.read_text() != before
    assert [file.name for file in path.parent.iterdir()] == ["0"]


def test_what_names_no_files_stays_as_it_is(tmp_path: Path) -> None:
    count = tmp_path / "state" / "0" / "_metadata" / "metadata"
    count.parent.mkdir(parents=True)
    count.write_text('v1\n{"stateStoreInfo":[]}')
    path = written(tmp_path)
    relocate(tmp_path)
    inode = path.stat().st_ino
    relocate(tmp_path)

    assert count.read_text() == 'v1\n{"stateStoreInfo":[]}'
    assert path.stat().st_ino == inode
