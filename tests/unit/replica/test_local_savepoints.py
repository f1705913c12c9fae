"""Savepoints beside the checkpoints: those of generations that are over go, and nobody else's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest

from tandem.protocol.values import Config, Offsets
from tandem.replica.local_savepoints import changes_name, local_savepoints, remove_superseded
from unit.snapshots.savepoint_builders import INPUTS
from unit.snapshots.snapshot_builders import fill, head

CONFIG = Config(2, "code", Offsets(), "me", base=20, savepoint=changes_name(2, 20), topic_ids=(("in", "a1"),))
"""That of the generation in force. The savepoints of these tests are of job `j`."""


def kept(directory: Path, name: str, lineage: str, job: str = "j") -> Path:
    """A savepoint with the state of a lineage."""
    state = fill(directory / "states" / name, {"metadata": b"m"})
    local_savepoints(directory, name).save(name, replace(head(config=lineage), job=job), state, INPUTS)
    return directory / "savepoints" / name


def left(directory: Path) -> set[str]:
    return {folder.name for folder in (directory / "savepoints").iterdir()}


def of_generation(generation: int) -> str:
    """Its lineage."""
    return replace(CONFIG, generation=generation, savepoint="").lineage


def test_what_earlier_generations_began_with_goes(tmp_path: Path) -> None:
    for generation, epoch in ((1, 9), (1, 10), (2, 19), (2, 20), (3, 30)):
        kept(tmp_path, changes_name(generation, epoch), of_generation(generation - 1))
    kept(tmp_path, "changes-of-mine", of_generation(0))
    kept(tmp_path, "lanes-2-generation-1-epoch-3", of_generation(0))

    remove_superseded(tmp_path, "j", CONFIG)

    assert left(tmp_path) == {"changes-2-20", "changes-3-30", "changes-of-mine", "lanes-2-generation-1-epoch-3"}
    assert local_savepoints(tmp_path, "changes-2-20").get("changes-2-20").snapshot.epoch == 7


@pytest.mark.parametrize("other", ["another job", "other topics", "topics that were not noted", "damaged"])
def test_what_may_be_somebody_elses_stays(tmp_path: Path, other: str) -> None:
    lineage = of_generation(0)
    if other == "other topics":
        lineage = replace(CONFIG, generation=0, topic_ids=(("in", "b2"),)).lineage
    elif other == "topics that were not noted":
        lineage = CONFIG.descent
    folder = kept(tmp_path, "changes-1-9", lineage, job="another" if other == "another job" else "j")
    if other == "damaged":
        (folder / "savepoints" / "changes-1-9.json").write_bytes(b"{")

    remove_superseded(tmp_path, "j", CONFIG)

    assert left(tmp_path) == {"changes-1-9"}


def test_where_nobody_has_noted_the_topics_nothing_goes(tmp_path: Path) -> None:
    config = replace(CONFIG, topic_ids=())
    kept(tmp_path, "changes-1-9", config.lineage)
    remove_superseded(tmp_path, "j", config)
    remove_superseded(tmp_path / "no-such-folder", "j", config)
    assert left(tmp_path) == {"changes-1-9"}


def test_a_removal_that_was_killed_half_way_is_finished_by_the_next(tmp_path: Path) -> None:
    folder = kept(tmp_path, "changes-1-9", of_generation(0))
    rmtree(folder / "objects")
    remove_superseded(tmp_path, "j", CONFIG)
    assert left(tmp_path) == set()
