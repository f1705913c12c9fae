"""An archive whose bytes depend on its content only, so that its digest can be compared."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from pathlib import Path
from typing import Final

_EPOCH_S: Final = 0


def pack(folder: Path, archive: Path) -> str:
    """Write what is in `folder` into `archive`, a .tar.gz; returns its SHA-256."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=_EPOCH_S) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                tar.add(path, path.relative_to(folder).as_posix(), filter=_plain)
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = _EPOCH_S, 0, 0, "", ""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry
