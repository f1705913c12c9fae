"""Checkpoints as Spark lays them out, with contents that only say what they are."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tandem.shipping.bases import Wanted
from tandem.shipping.files import read_files, stores_in
from tandem.shipping.state import FollowedState
from tandem.shipping.values import Delta, StateIdentity
from tandem.snapshots.local import pin

IDENTITY = StateIdentity("config", "format")
STORES = (PurePosixPath("state/0/0"), PurePosixPath("state/0/1"))


def offsets(epoch: int) -> bytes:
    """Spark's entry of an epoch whose cut is at ten times its number."""
    return f'v1\n{{"batchWatermarkMs":0}}\n{{"epoch":{epoch},"log":{epoch * 10}}}'.encode()


def write_epoch(checkpoint: Path, epoch: int, stores: Iterable[PurePosixPath] = STORES, by: str = "a") -> None:
    """What an epoch adds to a checkpoint, its commit last."""
    for path, content in [
        (PurePosixPath("metadata"), b'{"id":"x"}'),
        (PurePosixPath(f"offsets/{epoch}"), offsets(epoch)),
        *((store / f"{epoch + 1}.changelog", f"{store} {epoch} {by}".encode()) for store in stores),
        (PurePosixPath(f"commits/{epoch}"), b"v1"),
    ]:
        (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / path).write_bytes(content)


def with_watermarks(checkpoint: Path, epoch: int) -> None:
    """What the epoch of a job with several watermarks adds, before its commit."""
    (checkpoint / "watermarks").mkdir(exist_ok=True)
    (checkpoint / "watermarks" / str(epoch)).write_text(f"known after {epoch}")


def checkpoint_with(folder: Path, epochs: Iterable[int], stores: Iterable[PurePosixPath] = STORES) -> Path:
    """A checkpoint with these epochs."""
    for epoch in epochs:
        write_epoch(folder, epoch, stores)
    return folder


def delta_of(checkpoint: Path, epoch: int, shipper: str = "a") -> Delta:
    """The delta of an epoch of a checkpoint."""
    return Delta(epoch, IDENTITY, shipper, tuple(read_files(checkpoint, epoch, stores_in(checkpoint), 1_000_000)))


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def empty_archive() -> bytes:
    """A full snapshot of a state store without tables."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("metadata", "v1\n{}")
    return content.getvalue()


class FolderBases:
    """Bases of a test: copies of a checkpoint at an epoch that the test names."""

    def __init__(self) -> None:
        self.offered: list[tuple[Path, int]] = []
        self.asked = 0

    def offer(self, checkpoint: Path, epoch: int) -> None:
        self.offered.append((checkpoint, epoch))

    def newest(self, wanted: Wanted, folder: Path) -> FollowedState | None:
        self.asked += 1
        usable = [(epoch, path) for path, epoch in self.offered if wanted.newer_than < epoch <= wanted.last_published]
        if not usable:
            return None
        epoch, path = max(usable)
        return state_at(path, epoch, folder)


def state_at(checkpoint: Path, epoch: int, folder: Path) -> FollowedState:
    """A followed state whose base is the checkpoint up to an epoch."""
    return FollowedState(pin(checkpoint, epoch, folder))
