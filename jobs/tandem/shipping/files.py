"""Which files a batch adds to a checkpoint, by their names alone, and reading them.

A batch is an epoch, or under the real-time engine all epochs up to a barrier (`checkpoint.folders`). Batch n writes
`offsets/n`, then into each state store (a folder under `state/`) the changes that lead to version n + 1, with several
watermarks `watermarks/n`, and at last `commits/n` (Spark 4.3, see `snapshots.selection`). Names with a lineage (state store
format 2) are refused: there the changes of one run do not continue the state of another.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from tandem.checkpoint.folders import ALL_LOGS, LOGS, STATE_FILE, VERSIONED, WATERMARKS, committed, position_of
from tandem.checkpoint.position import EnginePosition
from tandem.shipping.errors import DeltaGapError, NotCommittedError, UnknownStateError
from tandem.shipping.values import DeltaFile

CHANGES: Final = (".changelog", ".delta")
"""Of RocksDB with changelogs, and of the state store in files."""

_VERSION: Final = re.compile(r"^\d+$")


def stores_of(paths: Iterable[PurePosixPath]) -> frozenset[PurePosixPath]:
    """The folders of all state stores and tables among a checkpoint's files. Raises `UnknownStateError`."""
    found = set()
    for path in paths:
        if path.parts[0] in VERSIONED and STATE_FILE.match(path.name):
            if not _VERSION.match(path.stem):
                raise UnknownStateError(f"{path}: versions with a lineage (state store format 2) cannot be followed")
            found.add(path.parent)
    return frozenset(found)


def stores_in(checkpoint: Path) -> frozenset[PurePosixPath]:
    """The same of a folder."""
    found: set[PurePosixPath] = set()
    for versioned in VERSIONED:
        for root, _, names in os.walk(checkpoint / versioned):
            folder = PurePosixPath(Path(root).relative_to(checkpoint))
            found |= stores_of(folder / name for name in names)
    return frozenset(found)


def check_files(batch: int, files: Iterable[DeltaFile], stores: frozenset[PurePosixPath]) -> None:
    """Whether these are the files that bring every one of `stores` from the batch before to `batch`, and no others.

    Raises `DeltaGapError`.
    """
    logs, changed = set(), set()
    for file in files:
        path = PurePosixPath(file.path)
        if str(path) in {f"{log}/{batch}" for log in ALL_LOGS}:
            logs.add(path.parts[0])
        elif path.suffix in CHANGES and path.stem == str(batch + 1) and path.parent in stores:
            changed.add(path.parent)
        else:
            raise DeltaGapError(f"{file.path} is no file of batch {batch}")
    if not logs.issuperset(LOGS):
        raise DeltaGapError(f"the logs of batch {batch} are not in it")
    if missing := stores - changed:
        raise DeltaGapError(f"batch {batch}: the changes of {min(missing)} are not in it")


@dataclass(frozen=True, slots=True)
class Batch:
    """A committed batch: it has the epochs after `after` up to that of `position`."""

    number: int
    after: int
    position: EnginePosition


def is_committed(checkpoint: Path, batch: int) -> bool:
    """Whether Spark has ended the batch."""
    return (checkpoint / "commits" / str(batch)).exists()


def batch_at(checkpoint: Path, number: int) -> Batch | None:
    """A committed batch; None if it is not there, or not any more, or if nobody knows where it began."""
    position = position_of(checkpoint, number) if is_committed(checkpoint, number) else None
    if position is None:
        return None
    if position.epoch == number:
        return Batch(number, number - 1, position)  # no batch is without an epoch: so none before has had several
    if number == 0:
        return Batch(number, -1, position)
    before = position_of(checkpoint, number - 1)
    return None if before is None else Batch(number, before.epoch, position)


def next_batch(checkpoint: Path, state: int, published: int, guess: int) -> Batch | None:
    """The committed batch that continues a state of epoch `state`, and is published; `guess`: probably that number.

    If there is none, since this checkpoint began later, the newest after `state`. None: there is nothing to ship yet.
    """
    if published <= state:
        return None
    guessed = batch_at(checkpoint, guess)
    if guessed is not None and guessed.after <= state < guessed.position.epoch <= published:
        return guessed
    newest: Batch | None = None
    for number in reversed(committed(checkpoint)):
        batch = batch_at(checkpoint, number)
        if batch is None or batch.position.epoch <= state:
            break
        if batch.position.epoch <= published:
            if batch.after <= state:
                return batch
            newest = newest or batch
    return newest


def renumbered(file: DeltaFile, number: int, wanted: int) -> DeltaFile:
    """A file of batch `number` as that of batch `wanted`: nothing in it says which batch it is of."""
    path = PurePosixPath(file.path)
    if number == wanted:
        return file
    name = f"{wanted + 1}{path.suffix}" if path.suffix in CHANGES else str(wanted)
    return DeltaFile(str(path.with_name(name)), file.content)


def read_files(checkpoint: Path, batch: int, stores: frozenset[PurePosixPath], most_bytes: int) -> list[DeltaFile]:
    """The files of a committed batch.

    Raises `NotCommittedError`: it is not there yet, or not any more; `DeltaGapError`: it has no such files, or they
    have more than `most_bytes` together: they cannot be shipped.
    """
    try:
        paths = [_changes(checkpoint, store, batch) for store in sorted(stores)]
        paths += [PurePosixPath(log, str(batch)) for log in LOGS]
        if (checkpoint / WATERMARKS / str(batch)).exists():
            paths.append(PurePosixPath(WATERMARKS, str(batch)))
        size = sum((checkpoint / path).stat().st_size for path in paths)
        if size > most_bytes:
            raise DeltaGapError(f"{size} bytes, more than {most_bytes}")
        return [DeltaFile(str(path), (checkpoint / path).read_bytes()) for path in paths]
    except FileNotFoundError as error:
        raise NotCommittedError(f"batch {batch}: {error.filename} is not there") from error


def changes_in(folder: Path, store: PurePosixPath, batch: int) -> PurePosixPath | None:
    """The changes that a batch has made in a store, if they are in `folder`."""
    paths = (store / f"{batch + 1}{suffix}" for suffix in CHANGES)
    return next((path for path in paths if os.path.exists(folder / path)), None)  # noqa: PTH110 - called often


def _changes(checkpoint: Path, store: PurePosixPath, batch: int) -> PurePosixPath:
    if (path := changes_in(checkpoint, store, batch)) is not None:
        return path
    if is_committed(checkpoint, batch):
        raise DeltaGapError(f"{store} has no changes for version {batch + 1}, only a full snapshot or nothing")
    raise NotCommittedError(f"batch {batch}: {store} has no version {batch + 1}")
