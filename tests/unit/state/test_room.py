"""A state that has no room in the folder of temporary files is not fetched, and the folder is named."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.cli.main import app
from tandem.local.lane_states import stored_state
from tandem.snapshots import Savepoints, SnapshotManifest, SnapshotStore
from tandem.snapshots.restoring import Restorer
from tandem.state import saved_state
from tandem.state.errors import TemporaryFolderError
from tandem.state.room import room_for
from unit.local.heartbeat_job import heartbeat_job
from unit.local.test_lane_checks import JOB, written
from unit.snapshots.savepoint_builders import INPUTS, saved

Free = Callable[[int], None]


@pytest.fixture
def free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Free:
    """Sets how many bytes are free in the folder of temporary files, which is `temporary`."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return lambda count: monkeypatch.setattr("tandem.state.room.free_bytes", lambda _: count)


def snapshot_in(folder: Path) -> tuple[SnapshotStore, SnapshotManifest]:
    store = SnapshotStore(str(folder / "store"))
    return store, saved(store, folder, more={"state/0/0/1.zip": bytes(5_000_000)})


def test_a_state_without_room_is_not_fetched(tmp_path: Path, free: Free) -> None:
    store, snapshot = snapshot_in(tmp_path)
    free(4_900_000)
    with (
        pytest.raises(
            TemporaryFolderError, match=f"this needs 5.0 MB in {tmp_path}/temporary, which has 4.9 MB free. Set TM"
        ),
        saved_state(store, snapshot),
    ):
        pass
    assert not any((tmp_path / "temporary").iterdir())
    free(snapshot.size)
    with saved_state(store, snapshot) as place:
        assert (place.folder / "state/0/0/1.zip").stat().st_size == 5_000_000
    assert not any((tmp_path / "temporary").iterdir())


def test_a_disk_that_becomes_full_meanwhile_is_named_too(
    tmp_path: Path, free: Free, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "1.zip")

    store, snapshot = snapshot_in(tmp_path)
    free(6_000_000_000)
    monkeypatch.setattr(Restorer, "restore", full)
    with pytest.raises(TemporaryFolderError) as raised, saved_state(store, snapshot):
        pass
    assert "No space left on device: '1.zip'" in str(raised.value)
    assert f"written into {tmp_path}/temporary, which has 6.0 GB free; this needs 5.0 MB. Set TMPDIR" in str(
        raised.value
    )


def test_what_goes_wrong_with_a_state_that_is_there_stays_what_it_is(tmp_path: Path) -> None:
    store, snapshot = snapshot_in(tmp_path)
    with pytest.raises(OSError, match="of the reader"), saved_state(store, snapshot):
        raise OSError("of the reader")
    with pytest.raises(ValueError, match="no file"), room_for(0):
        raise ValueError("no file")


def test_a_savepoint_needs_room_for_three_states_to_be_divided(tmp_path: Path, free: Free) -> None:
    job = heartbeat_job(tmp_path)
    job.path.write_text(job.path.read_text() + f"  snapshots: {{store: {tmp_path / 'snapshots'}}}\n")
    store = SnapshotStore(str(tmp_path / "snapshots" / "flights"))
    Savepoints(store).create("a", saved(store, tmp_path, more={"state/0/0/1.zip": bytes(5_000_000)}), INPUTS)
    free(14_900_000)

    result = CliRunner().invoke(
        app, ["savepoint", "rescale", str(job.path), "a", "--partitions", "4", "--to", "b"], terminal_width=400
    )

    assert result.exit_code == 1
    assert f"no savepoint was made: this needs 15.0 MB in {tmp_path}/temporary, which has 14.9 MB free" in result.output
    assert Savepoints(store).list().names == ("a",)


def test_so_does_the_state_of_a_lane_that_is_to_be_divided(tmp_path: Path, free: Free) -> None:
    lane = written(tmp_path, JOB + f"  snapshots: {{store: {tmp_path / 'snapshots'}}}\n").lanes[0]
    spec = lane.spec.snapshots
    assert spec is not None
    store = SnapshotStore(spec.url(lane.name, lane.base))
    snapshot = saved(store, tmp_path, more={"state/0/0/1.zip": bytes(5_000_000)})
    free(4_900_000)
    with pytest.raises(TemporaryFolderError, match=r"this needs 5\.0 MB"):
        stored_state(lane, snapshot, tmp_path / "temporary" / "0")
