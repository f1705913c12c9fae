"""Checkpoints as Spark writes them, a store that fails when it is told to, and time that passes when it is told to."""

from __future__ import annotations

import json
import os
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

from tandem.snapshots import Retention, SnapshotHead

HOUR_MS = 3_600_000
GRACE_MS = HOUR_MS
ONE = Retention(count=1, age_ms=0)
NOW_MS = 1_800_000_000_000
Contents = dict[str, bytes]


def head(
    epoch: int = 7, taken_at_ms: int = NOW_MS, incarnation: str = "j.replica-0.1a", config: str = "c"
) -> SnapshotHead:
    """What a snapshot of these tests is of."""
    return SnapshotHead(
        job="j",
        epoch=epoch,
        log_offset=epoch * 10,
        config_digest=config,
        digest="d",
        taken_at_ms=taken_at_ms,
        state_format="spark 4.3.0, rocksdb-changelog",
        incarnation=incarnation,
    )


def fill(folder: Path, contents: Contents) -> Path:
    """A folder with these files."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def contents(folder: Path) -> Contents:
    """All files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def epoch_files(epoch: int) -> Contents:
    """What an epoch adds to the checkpoint of a job with one state store."""
    offsets = f'v1\n{{"batchWatermarkMs":0}}\n{{"epoch":{epoch},"log":{epoch * 10}}}\n'
    return {
        f"offsets/{epoch}": offsets.encode(),
        f"offsets/.{epoch}.crc": b"sum",
        f"commits/{epoch}": b"v1\n{}",
        f"state/0/0/{epoch + 1}.changelog": f"changes of {epoch}".encode(),
        f"state/0/0/.{epoch + 1}.changelog.crc": b"sum",
    }


def checkpoint(folder: Path, last: int, first: int = 0) -> Path:
    """A checkpoint with the epochs `first` … `last` committed, without a full snapshot of its state."""
    fill(folder, {"metadata": b'{"id":"query"}', "state/0/0/_metadata/schema": b"schema"})
    for epoch in range(first, last + 1):
        fill(folder, epoch_files(epoch))
    return folder


def archive(
    folder: Path, version: int, tables: tuple[str, ...], store: str = "state/0/0", metadata: str | None = None
) -> None:
    """A full snapshot of a state store, whose tables lie beside it."""
    fill(folder, {f"{store}/SSTs/{table}": f"table {table}".encode() for table in tables})
    named = [{"localFileName": table[:6], "dfsSstFileName": table, "sizeBytes": 1} for table in tables]
    text = "v1\n" + json.dumps({"sstFiles": named, "numKeys": -1}) if metadata is None else metadata
    with zipfile.ZipFile(folder / store / f"{version}.zip", "w") as file:
        file.writestr("MANIFEST-000005", "m")
        file.writestr("metadata", text)


def age(folder: Path, ms: int) -> None:
    """Let time pass for a store: all its files were written earlier."""
    for path in folder.rglob("*"):
        if path.is_file():
            stat = path.stat()
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns - ms * 1_000_000))


def wall_ms(after_ms: int = 0) -> int:
    """Now, or so much later, as a store's files have it."""
    return time.time_ns() // 1_000_000 + after_ms


Hook = Callable[[str, str], None]
"""Called with an operation (list, read, write, name, remove) and its path; what it raises, the operation raises."""


def nothing(_operation: str, _path: str) -> None:
    """The store works."""


class Faults:
    """What the stores `faulty://` do before they do what they are asked for."""

    hook: ClassVar[Hook] = staticmethod(nothing)

    @classmethod
    def set(cls, hook: Hook) -> None:
        """From now on, this happens."""
        cls.hook = staticmethod(hook)

    @classmethod
    def hold_contents(cls, most_s: float) -> tuple[threading.Event, threading.Event]:
        """From now on, contents wait before they get their names. The first event says that one does, the second ends it."""
        waits, go_on = threading.Event(), threading.Event()

        def hook(operation: str, path: str) -> None:
            if operation == "name" and "/objects/" in path:
                waits.set()
                assert go_on.wait(most_s)

        cls.set(hook)
        return waits, go_on

    @classmethod
    def heal(cls) -> None:
        """From now on, the store works."""
        cls.set(nothing)


class FaultyFileSystem(LocalFileSystem):
    """A mounted folder that can be away, full or slow."""

    protocol = "faulty"

    def put_file(self, path1: str, path2: str, callback: Any = None, **kwargs: Any) -> None:
        Faults.hook("write", path2)
        super().put_file(path1, path2, callback, **kwargs)

    def pipe_file(self, path: str, value: bytes, **kwargs: Any) -> None:
        Faults.hook("write", path)
        super().pipe_file(path, value, **kwargs)

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        Faults.hook("name", path2)
        super().mv(path1, path2, **kwargs)

    def link(self, src: str, dst: str, **kwargs: Any) -> None:
        Faults.hook("name", dst)
        super().link(src, dst, **kwargs)

    def ls(self, path: str, detail: bool = False, **kwargs: Any) -> Any:
        Faults.hook("list", path)
        return super().ls(path, detail, **kwargs)

    def rm_file(self, path: str) -> None:
        Faults.hook("remove", path)
        super().rm_file(path)

    def rm(self, path: str, recursive: bool = False, maxdepth: Any = None) -> None:
        Faults.hook("remove", path)
        super().rm(path, recursive, maxdepth)

    def _open(self, path: str, mode: str = "rb", block_size: Any = None, **kwargs: Any) -> Any:
        if mode == "rb":
            Faults.hook("read", path)
        return super()._open(path, mode, block_size, **kwargs)


fsspec.register_implementation("faulty", FaultyFileSystem, clobber=True)
