"""Checkpoints whose batches have several epochs: the position is what Spark logged, and files go by the batch's number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tandem.checkpoint.compared import restore
from tandem.checkpoint.folders import begin_after, copy_up_to, find_newest, position_in, take_back
from tandem.checkpoint.position import EnginePosition

BARRIERS = (700, 1_400, 2_050)
"""The last epochs of the batches 0, 1 and 2."""


def make(folder: Path, barriers: tuple[int, ...] = BARRIERS, first: int = 0) -> Path:
    """A checkpoint with these batches, numbered from `first` on; what is in each file says which batch it is of."""
    for batch, epoch in enumerate(barriers, first):
        for name, content in (
            (f"offsets/{batch}", f'v1\n{{"batchWatermarkMs":0}}\n{{"epoch":{epoch},"log":{2 * epoch}}}'),
            (f"commits/{batch}", "v1\n{}"),
            (f"watermarks/{batch}", f"of {batch}"),
            (f"state/0/0/{batch + 1}.changelog", f"of {batch}"),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return folder


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("last_published", "batch"), [(700, 0), (1_399, 0), (1_400, 1), (2_049, 1), (9_999, 2)])
def test_the_newest_state_is_the_last_barrier_that_is_published(
    tmp_path: Path, last_published: int, batch: int
) -> None:
    found = find_newest([make(tmp_path)], last_published)
    assert found is not None
    assert (found.batch, found.position) == (batch, EnginePosition(BARRIERS[batch], 2 * BARRIERS[batch]))


def test_before_the_first_barrier_is_published_there_is_no_state(tmp_path: Path) -> None:
    assert find_newest([make(tmp_path)], 699) is None, "batch 0 is not epoch 0"


def test_of_replicas_with_barriers_of_their_own_the_newest_epoch_counts_and_not_the_number(tmp_path: Path) -> None:
    many, few = make(tmp_path / "a", (10, 20, 30, 40)), make(tmp_path / "b", (55,))
    found = find_newest([many, few], 100)
    assert found is not None
    assert (found.folder, found.batch) == (few, 0)


def test_what_is_restored_are_the_files_of_the_batches_up_to_it(tmp_path: Path) -> None:
    target = tmp_path / "target"
    assert restore([make(tmp_path / "a")], 1_500, target) == EnginePosition(1_400, 2_800)
    assert names(target) == {
        *(f"{log}/{batch}" for log in ("offsets", "commits", "watermarks") for batch in (0, 1)),
        "state/0/0/1.changelog",
        "state/0/0/2.changelog",
    }


def test_a_batch_that_is_gone_is_not_copied_although_an_epoch_of_that_number_would_be_retained(tmp_path: Path) -> None:
    found = find_newest([make(tmp_path / "a")], 1_500)
    assert found is not None
    make(tmp_path / "a", tuple(range(2_100, 2_100 + 150)), first=3)
    with pytest.raises(FileNotFoundError, match="batch 1 is not retained"):
        copy_up_to(found, tmp_path / "target")


def test_a_query_that_failed_goes_back_to_the_barrier_before_and_says_where_that_is(tmp_path: Path) -> None:
    folder = make(tmp_path / "a")
    assert take_back(folder, 1_999) == EnginePosition(1_400, 2_800)
    assert "offsets/2" not in names(folder)
    assert "state/0/0/3.changelog" not in names(folder)
    assert "state/0/0/2.changelog" in names(folder)


def test_without_a_barrier_before_it_begins_with_nothing(tmp_path: Path) -> None:
    folder = make(tmp_path / "a")
    assert take_back(folder, 699) == EnginePosition()
    assert not folder.exists()


def test_a_batch_s_length_is_the_distance_from_the_one_before(tmp_path: Path) -> None:
    folder = make(tmp_path / "a")
    found = [find_newest([folder], epoch) for epoch in BARRIERS]
    assert [one.epochs for one in found if one is not None] == [701, 700, 650]


def test_a_batch_whose_predecessor_is_not_there_any_more_counts_as_one_epoch(tmp_path: Path) -> None:
    folder = make(tmp_path / "a")
    (folder / "offsets" / "1").unlink()
    found = find_newest([folder], BARRIERS[2])
    assert found is not None
    assert found.epochs == 1


def test_a_stateless_query_s_last_batch_has_its_epoch_s_number(tmp_path: Path) -> None:
    begin_after(tmp_path, EnginePosition(9_000, 18_000))
    found = find_newest([tmp_path], 9_000)
    assert found is not None
    assert (found.batch, found.position) == (9_000, EnginePosition(9_000, 18_000))


@pytest.mark.parametrize("entry", [b"", b"v1\n{}", b"v1\n{}\n-", b'{"epoch":1}', b"null", json.dumps([1]).encode()])
def test_what_is_no_position_is_one_clear_error(entry: bytes) -> None:
    with pytest.raises(ValueError, match="says no position"):
        position_in(entry)
