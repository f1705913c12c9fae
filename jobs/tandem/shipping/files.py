"""Which files an epoch adds to a checkpoint, by their names alone, and reading them.

Epoch n writes `offsets/n`, then into each state store (a folder under `state/`) the changes that lead to version n + 1, with
several watermarks `watermarks/n`, and at last `commits/n` (Spark 4.3, see `snapshots.selection`). Names with a lineage
(state store format 2) are refused: there the changes of one run do not continue the state of another.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from tandem.checkpoint.folders import ALL_LOGS, LOGS, STATE_FILE, WATERMARKS
from tandem.shipping.errors import DeltaGapError, NotCommittedError, UnknownStateError
from tandem.shipping.values import DeltaFile

CHANGES: Final = (".changelog", ".delta")
"""Of RocksDB with changelogs, and of the state store in files."""

_VERSION: Final = re.compile(r"^\d+$")


def stores_of(paths: Iterable[PurePosixPath]) -> frozenset[PurePosixPath]:
    """The folders of all state stores among a checkpoint's files. Raises `UnknownStateError`."""
    found = set()
    for path in paths:
        if path.parts[0] == "state" and STATE_FILE.match(path.name):
            if not _VERSION.match(path.stem):
                raise UnknownStateError(f"{path}: versions with a lineage (state store format 2) cannot be followed")
            found.add(path.parent)
    return frozenset(found)


def stores_in(checkpoint: Path) -> frozenset[PurePosixPath]:
    """The same of a folder."""
    found: set[PurePosixPath] = set()
    for root, _, names in os.walk(checkpoint / "state"):
        folder = PurePosixPath(Path(root).relative_to(checkpoint))
        found |= stores_of(folder / name for name in names)
    return frozenset(found)


def check_files(epoch: int, files: Iterable[DeltaFile], stores: frozenset[PurePosixPath]) -> None:
    """Whether these are the files that bring every one of `stores` from the epoch before to `epoch`, and no others.

    Raises `DeltaGapError`.
    """
    logs, changed = set(), set()
    for file in files:
        path = PurePosixPath(file.path)
        if str(path) in {f"{log}/{epoch}" for log in ALL_LOGS}:
            logs.add(path.parts[0])
        elif path.suffix in CHANGES and path.stem == str(epoch + 1) and path.parent in stores:
            changed.add(path.parent)
        else:
            raise DeltaGapError(f"{file.path} is no file of epoch {epoch}")
    if not logs.issuperset(LOGS):
        raise DeltaGapError(f"the logs of epoch {epoch} are not in it")
    if missing := stores - changed:
        raise DeltaGapError(f"epoch {epoch}: the changes of {min(missing)} are not in it")


def is_committed(checkpoint: Path, epoch: int) -> bool:
    """Whether Spark has ended the epoch."""
    return (checkpoint / "commits" / str(epoch)).exists()


def read_files(checkpoint: Path, epoch: int, stores: frozenset[PurePosixPath], most_bytes: int) -> list[DeltaFile]:
    """The files of a committed epoch.

    Raises `NotCommittedError`: it is not there yet, or not any more; `DeltaGapError`: it has no such files, or they
    have more than `most_bytes` together: they cannot be shipped.
    """
    try:
        paths = [_changes(checkpoint, store, epoch) for store in sorted(stores)]
        paths += [PurePosixPath(log, str(epoch)) for log in LOGS]
        if (checkpoint / WATERMARKS / str(epoch)).exists():
            paths.append(PurePosixPath(WATERMARKS, str(epoch)))
        size = sum((checkpoint / path).stat().st_size for path in paths)
        if size > most_bytes:
            raise DeltaGapError(f"{size} bytes, more than {most_bytes}")
        return [DeltaFile(str(path), (checkpoint / path).read_bytes()) for path in paths]
    except FileNotFoundError as error:
        raise NotCommittedError(f"epoch {epoch}: {error.filename} is not there") from error


def _changes(checkpoint: Path, store: PurePosixPath, epoch: int) -> PurePosixPath:
    for suffix in CHANGES:
        path = store / f"{epoch + 1}{suffix}"
        if (checkpoint / path).exists():
            return path
    if is_committed(checkpoint, epoch):
        raise DeltaGapError(f"{store} has no changes for version {epoch + 1}, only a full snapshot or nothing")
    raise NotCommittedError(f"epoch {epoch}: {store} has no version {epoch + 1}")
