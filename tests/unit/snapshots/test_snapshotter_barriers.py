"""Where state is committed behind barriers only, a snapshot is of the newest barrier that is published."""

from __future__ import annotations

from pathlib import Path

from tandem.checkpoint.position import EnginePosition
from tandem.snapshots import SnapshotStore
from unit.snapshots.snapshot_builders import contents, epoch_files, fill
from unit.snapshots.snapshotting import INTERVAL_MS, Clock, Replica, Start, newest, until


def commit(replica: Replica, batch: int, epoch: int) -> None:
    """Its query commits a batch whose last epoch is `epoch`."""
    files = epoch_files(batch)
    text = files[f"offsets/{batch}"].replace(
        b'"epoch":%d,"log":%d' % (batch, 10 * batch), b'"epoch":%d,"log":%d' % (epoch, 10 * epoch)
    )
    fill(replica.checkpoint, files | {f"offsets/{batch}": text})


def test_with_barriers_a_snapshot_is_of_the_newest_one_that_is_published(
    start: Start, root: Path, tmp_path: Path
) -> None:
    replica = start()
    commit(replica, 1, 700)
    commit(replica, 2, 1_400)
    replica.snapshotter.offer(1_399)
    until(lambda: newest(root) == 700, "a snapshot of the first barrier")
    (manifest,) = SnapshotStore(str(root)).list()
    assert (manifest.log_offset, manifest.last_batch) == (7_000, 1)
    assert SnapshotStore(str(root)).newest_usable(2_000, "c", tmp_path / "target") == EnginePosition(700, 7_000)
    assert "state/0/0/2.changelog" in contents(tmp_path / "target")
    assert "state/0/0/3.changelog" not in contents(tmp_path / "target")


def test_before_the_first_barrier_there_is_nothing_to_take_and_nothing_to_warn_about(
    start: Start, root: Path, clock: Clock, warnings: list[str]
) -> None:
    replica = start()
    commit(replica, 0, 700)
    replica.snapshotter.offer(650)
    until(lambda: replica.snapshotter.is_waiting, "it has seen that there is nothing")
    assert (newest(root), warnings) == (-1, [])
    replica.snapshotter.offer(700)
    clock.now_ms += INTERVAL_MS // 10
    replica.snapshotter.offer(701)
    until(lambda: newest(root) == 700, "a snapshot of the first barrier, soon after it")


def test_a_barrier_is_saved_once_however_many_epochs_are_published_since(
    start: Start, root: Path, clock: Clock
) -> None:
    replica = start()
    commit(replica, 1, 700)
    replica.snapshotter.offer(700)
    until(lambda: newest(root) == 700 and replica.snapshotter.is_waiting, "a snapshot of the barrier")
    taken_ms = SnapshotStore(str(root)).list()[0].taken_at_ms
    for epoch in range(701, 710):
        clock.now_ms += INTERVAL_MS
        replica.snapshotter.offer(epoch)
        until(lambda: replica.snapshotter.is_waiting, "it has seen that there is nothing new")
    assert [manifest.taken_at_ms for manifest in SnapshotStore(str(root)).list()] == [taken_ms]

    commit(replica, 2, 1_400)
    replica.snapshotter.offer(1_400)
    clock.now_ms += INTERVAL_MS // 10
    replica.snapshotter.offer(1_401)
    until(lambda: newest(root) == 1_400, "a snapshot of the next barrier, soon after it")
