"""Whether a savepoint fits the inputs and the parallelism that a job has now, said in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.snapshots import (
    Savepoints,
    SnapshotStore,
    differences,
    layout,
    misfits,
)
from unit.snapshots.savepoint_builders import INPUTS, SOURCES, saved
from unit.snapshots.snapshot_builders import NOW_MS, fill, head

PARTITIONS = {"flights": 2, "weather": 1, "wind": 1}


def test_equal_layouts_do_not_differ() -> None:
    assert differences(INPUTS.sources, layout(reversed(SOURCES), PARTITIONS)) == ()


@pytest.mark.parametrize(
    ("sources", "partitions", "expected"),
    [
        (SOURCES, PARTITIONS | {"flights": 3}, ["topic flights of source flights has 3 partitions, it had 2"]),
        (
            (("flights", ("departures",)), SOURCES[1]),
            PARTITIONS | {"departures": 1},
            [
                "source flights reads topic departures, which it did not",
                "source flights does not read topic flights any more",
            ],
        ),
        (
            SOURCES[:1],
            PARTITIONS,
            ["source weather is gone (it read weather with 1 partitions, wind with 1 partitions)"],
        ),
        (
            (*SOURCES, ("tides", ("tides",))),
            PARTITIONS | {"tides": 4},
            ["source tides is new (it reads tides with 4 partitions)"],
        ),
    ],
)
def test_another_layout_of_the_inputs_is_told_in_words(
    sources: tuple[tuple[str, tuple[str, ...]], ...], partitions: dict[str, int], expected: list[str]
) -> None:
    assert list(differences(INPUTS.sources, layout(sources, partitions))) == expected


def test_state_in_another_number_of_partitions_does_not_fit(store: SnapshotStore, tmp_path: Path) -> None:
    savepoints = Savepoints(store, lambda: NOW_MS)
    two = savepoints.create("two", saved(store, tmp_path), INPUTS)
    none = savepoints.save("none", head(5), fill(tmp_path / "folder", {"metadata": b"m"}), INPUTS)
    sources = layout(SOURCES, PARTITIONS)

    assert misfits(two, sources, 2) == ()
    assert misfits(none, sources, 2) == ()
    (problem,) = misfits(two, sources, 4)
    assert "its state has 2 partitions, but spec.spark.parallelism is 4" in problem
    assert "tandem savepoint rescale MANIFEST two --partitions 4" in problem
    assert len(misfits(two, layout(SOURCES[:1], PARTITIONS), 4)) == 2
