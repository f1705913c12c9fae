"""Snapshots in a real S3: a server that checks signatures, whose objects can be damaged and whose process can be killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from integration.s3_server import S3Server, until
from tandem.checkpoint.position import EnginePosition
from tandem.snapshots import (
    Retention,
    SnapshotCorruptError,
    SnapshotHead,
    SnapshotIdentity,
    SnapshotManifest,
    SnapshotStore,
    SnapshotStoreError,
    Snapshotter,
    SnapshotterSettings,
    remove_all,
)
from tandem.snapshots.store_clock import store_ms

pytestmark = pytest.mark.integration

FILES = {"metadata": b"m", "state/0/0/1.zip": os.urandom(7_000_000), "offsets/7": b"seven", "commits/7": b""}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server for all tests of this file."""
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def s3(running: S3Server) -> Iterator[S3Server]:
    """The server without any snapshots."""
    yield running
    for path in sorted((running.folder / "bucket").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()


def fill(folder: Path, contents: dict[str, bytes]) -> Path:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def save(store: SnapshotStore, epoch: int, folder: Path) -> SnapshotManifest:
    head = SnapshotHead(
        job="j",
        epoch=epoch,
        log_offset=epoch * 10,
        config_digest="c",
        digest="",
        taken_at_ms=time.time_ns() // 1_000_000,
        state_format="",
        incarnation="j.replica-0.1a",
    )
    return store.save(head, folder)


def test_a_snapshot_comes_back_from_s3_on_another_machine(s3: S3Server, tmp_path: Path) -> None:
    saved = save(s3.store(), 7, fill(tmp_path / "checkpoint", FILES))

    assert s3.store().list() == (saved,)
    assert s3.store().newest_usable(9, "c", tmp_path / "target") == EnginePosition(7, 70)
    assert contents(tmp_path / "target") == FILES


def test_only_what_is_new_is_sent_to_s3(s3: S3Server, tmp_path: Path) -> None:
    reader = s3.store()
    save(s3.store(), 7, fill(tmp_path / "checkpoint", FILES))
    before = s3.objects()
    assert [manifest.epoch for manifest in reader.list()] == [7]

    save(s3.store(), 8, fill(tmp_path / "checkpoint", {"offsets/8": b"eight"}))

    assert len(before) == len(FILES)
    assert len(s3.objects()) == len(FILES) + 1
    assert [manifest.epoch for manifest in reader.list()] == [8, 7]


def test_a_damaged_object_in_s3_is_found_and_fallen_back_from(s3: S3Server, tmp_path: Path) -> None:
    save(s3.store(), 7, fill(tmp_path / "checkpoint", FILES))
    newest = save(s3.store(), 8, fill(tmp_path / "checkpoint", {"offsets/8": b"eight"}))
    (own,) = (f"bucket/snapshots/j/{file.object_path}" for file in newest.files if file.path == "offsets/8")
    bucket = fsspec.filesystem("s3", skip_instance_cache=True, **s3.options())

    for damage, reason in ((b"EIGHT", "altered"), (b"eigh", "has 4 bytes instead of 5")):
        bucket.pipe_file(own, damage)
        with pytest.raises(SnapshotCorruptError, match=f"offsets/8: .*{reason}"):
            s3.store().restore(newest, tmp_path / "target")
    bucket.rm_file(own)
    with pytest.raises(SnapshotCorruptError, match=r"offsets/8: .* is missing from the store"):
        s3.store().restore(newest, tmp_path / "target")

    assert s3.store().newest_usable(9, "c", tmp_path / "target") == EnginePosition(7, 70)
    assert contents(tmp_path / "target") == FILES


def test_garbage_goes_from_s3(s3: S3Server, tmp_path: Path) -> None:
    save(s3.store(), 7, fill(tmp_path / "seven", {"offsets/7": b"seven", "metadata": b"m"}))
    kept = save(s3.store(), 8, fill(tmp_path / "eight", {"offsets/8": b"eight", "metadata": b"m"}))
    in_an_hour = time.time_ns() // 1_000_000 + 3_600_000

    first = s3.store().collect_garbage(Retention(count=1, age_ms=0), in_an_hour - 3_599_000)
    assert (first.retired, first.removed) == (1, 0)
    second = s3.store().collect_garbage(Retention(count=1, age_ms=0), in_an_hour)
    assert (second.retired, second.removed, second.removed_bytes) == (0, 1, 5)

    assert s3.store().list() == (kept,)
    assert s3.store().newest_usable(9, "c", tmp_path / "target") == EnginePosition(8, 80)


def test_s3_says_what_time_it_is(s3: S3Server) -> None:
    before = time.time_ns() // 1_000_000_000 * 1_000
    assert before <= store_ms(s3.store().remote) <= time.time_ns() // 1_000_000
    assert s3.store().remote.files("incoming") == {}


def test_nothing_of_a_job_that_is_gone_stays_in_s3_and_all_of_another(s3: S3Server, tmp_path: Path) -> None:
    other = SnapshotStore("s3://bucket/snapshots/j2", s3.options())
    saved = save(other, 7, fill(tmp_path / "checkpoint", FILES))
    save(s3.store(), 7, tmp_path / "checkpoint")
    assert len(s3.objects()) == len(FILES)

    assert remove_all(s3.store()) == len(FILES) + 1
    assert (s3.objects(), s3.store().list()) == ([], ())
    assert other.newest_usable(9, "c", tmp_path / "target") == EnginePosition(7, 70)
    assert other.list() == (saved,)
    assert remove_all(s3.store()) == 0


def test_a_bucket_that_is_absent_and_credentials_that_are_wrong_are_told(s3: S3Server, tmp_path: Path) -> None:
    folder = fill(tmp_path / "checkpoint", {"metadata": b"m"})

    with pytest.raises(SnapshotStoreError, match=r"s3://absent/j: .*bucket"):
        save(SnapshotStore("s3://absent/j", s3.options()), 7, folder)
    with pytest.raises(SnapshotStoreError, match="cannot list manifests in s3://bucket/j"):
        save(SnapshotStore("s3://bucket/j", s3.options("wrong")), 7, folder)
    with pytest.raises(SnapshotStoreError, match="cannot list manifests in s3://bucket/j"):
        SnapshotStore("s3://bucket/j", s3.options("wrong")).list()


@pytest.mark.parametrize("away", ["killed", pytest.param("paused", marks=pytest.mark.thorough)])
def test_an_s3_that_is_away_stops_nothing_and_is_used_again_when_it_is_back(
    s3: S3Server, tmp_path: Path, away: str
) -> None:
    store = s3.store()
    save(store, 7, fill(tmp_path / "saved", FILES))
    s3.stop() if away == "killed" else s3.signal(signal.SIGSTOP)
    checkpoint = fill(tmp_path / "job" / "checkpoint", {"metadata": b"m"})
    identity = SnapshotIdentity("j", "j.replica-1.2b", "c", "")
    snapshotter = Snapshotter(s3.store(), identity, checkpoint, SnapshotterSettings(interval_ms=200))
    snapshotter.start()

    def publish(epoch: int) -> None:
        position = b'v1\n{}\n{"epoch":%d,"log":%d}' % (epoch, epoch * 10)
        fill(checkpoint, {f"offsets/{epoch}": position, f"commits/{epoch}": b"v1\n{}"})
        began = time.monotonic()
        snapshotter.offer(epoch)
        assert time.monotonic() - began < 10.0, "it waited for the store"

    publish(8)
    with pytest.raises(SnapshotStoreError, match="cannot list manifests in s3://bucket/snapshots/j"):
        store.newest_usable(9, "c", tmp_path / "target")
    assert not (tmp_path / "target").exists()
    publish(9)
    s3.start() if away == "killed" else s3.signal(signal.SIGCONT)

    publish(10)

    def taken() -> bool:
        snapshotter.offer(10)
        newest = s3.store().newest()
        return newest is not None and newest.epoch == 10

    until(taken, "a snapshot when S3 is back")
    snapshotter.stop()
    assert s3.store().newest_usable(10, "c", tmp_path / "target") == EnginePosition(10, 100)
