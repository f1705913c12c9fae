"""Copies of static tables in a job's snapshot store, for a replica on a machine that has none.

tables/<version>/…     the files of a copy
tables/<version>.json  what is in it, with hashes: written last, so a copy without it is not whole
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tandem.logs import get_logger
from tandem.snapshots.errors import SnapshotStoreError
from tandem.snapshots.remote import Remote, RemoteFile

_log = get_logger(__name__)

TABLES: Final = "tables"
GRACE_MS: Final = 3_600_000
"""So long a copy stays that no generation needs: somebody may be about to write, or to read it."""


class StoredTables:
    """Safe for several replicas at once: a copy of a version is the same from each of them."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._kept: set[str] = set()

    def keep(self, copies: Path, versions: Collection[str]) -> list[str]:
        """Write those copies that the store has not got; returns them. A version without a copy is passed over.

        `copies` : the folder on this machine; a copy is called by its version. Raises `SnapshotStoreError`.
        """
        here = [version for version in sorted({*versions} - self._kept) if (copies / version).is_dir()]
        there = self._whole() if here else {}
        sent = []
        for version in here:
            if version not in there:
                files = {}
                for path in sorted(path for path in (copies / version).rglob("*") if path.is_file()):
                    name = path.relative_to(copies / version).as_posix()
                    self._remote.put_file(path, f"{TABLES}/{version}/{name}")
                    files[name] = _hash_of(path)
                self._remote.put_bytes(json.dumps({"files": files}).encode(), f"{TABLES}/{version}.json")
                sent.append(version)
            self._kept.add(version)
        if sent:
            _log.info("static_tables_stored", versions=sent)
        return sent

    def fetch(self, copies: Path, versions: Collection[str]) -> list[str]:
        """Bring those copies that this machine has not got; returns them. One that is not whole is passed over.

        Raises `SnapshotStoreError`.
        """
        wanted = [version for version in sorted(versions) if not (copies / version).is_dir()]
        there = self._whole() if wanted else {}
        fetched = [version for version in wanted if version in there and self._fetch(copies, version)]
        if fetched:
            _log.info("static_tables_fetched", versions=fetched)
        return fetched

    def remove(self, needed: Collection[str], now_ms: int) -> list[str]:
        """Remove copies that no generation needs, and that are older than `GRACE_MS`; returns them.

        `now_ms` : wall clock, as the store's. Raises `SnapshotStoreError`.
        """
        newest: dict[str, int] = {}
        files = self._remote.files(TABLES)
        for path, file in files.items():
            newest[_version(path)] = max(newest.get(_version(path), 0), file.written_at_ms)
        old = sorted(version for version, at in newest.items() if version not in needed and at < now_ms - GRACE_MS)
        for version in old:
            self._remote.remove(f"{TABLES}/{version}.json")  # from now on nobody finds it
            for path in files:
                if _version(path) == version:
                    self._remote.remove(path)
            self._kept.discard(version)
        return old

    def _whole(self) -> Mapping[str, RemoteFile]:
        files = self._remote.files(TABLES).items()
        return {_version(path): file for path, file in files if path == f"{TABLES}/{_version(path)}.json"}

    def _fetch(self, copies: Path, version: str) -> bool:
        temporary = copies / f".{uuid.uuid4().hex}"
        try:
            entry: Any = json.loads(self._remote.read(f"{TABLES}/{version}.json"))
            for name, expected in entry["files"].items():
                target = temporary / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    out.writelines(self._blocks(f"{TABLES}/{version}/{name}"))
                if _hash_of(target) != expected:
                    raise SnapshotStoreError(f"{name} is damaged")
            if not (copies / version).is_dir():
                temporary.rename(copies / version)
        except (FileNotFoundError, ValueError, KeyError, AttributeError, SnapshotStoreError) as error:
            _log.warning("static_table_not_fetched", version=version, reason=str(error))
            return False
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return True

    def _blocks(self, path: str) -> Iterator[bytes]:
        size = self._remote.files(path).get(path)
        return self._remote.blocks(path, 0 if size is None else size.size)


def _version(path: str) -> str:
    """Of a file in the folder `TABLES`."""
    return path.split("/")[1].removesuffix(".json")


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
