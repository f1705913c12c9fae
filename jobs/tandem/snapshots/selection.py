"""Which files of a checkpoint a batch needs, and no more: not the history that Spark keeps.

Layout (Spark 4.3, `RocksDBFileManager` and `HDFSBackedStateStoreProvider`): a state store is a folder under `state/`. Its
version v is the state after batch v - 1: either a full snapshot `v.zip` (`v.snapshot`), or the version before it and
`v.changelog` (`v.delta`). A zip does not hold RocksDB's tables; its entry `metadata` names them, and they lie in `SSTs/`
and `logs/` beside it, under names that are used once.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import Final

from tandem.checkpoint.folders import ALL_LOGS, STATE, STATE_FILE, VERSIONED, belongs
from tandem.snapshots.errors import IncompleteCheckpointError

KEPT_LOGS: Final = 3
"""Batches whose entries in `offsets`, `commits` and `watermarks` are kept. Spark reads the last two when it starts."""

_FULL: Final = (".zip", ".snapshot")
_SHARED: Final = {"SSTs": ".sst", "logs": ".log"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Files of a checkpoint, relative to it. `archives` are those among them that name further files (`shared_files`)."""

    files: tuple[PurePosixPath, ...]
    archives: tuple[PurePosixPath, ...]


def select(paths: Iterable[PurePath], batch: int) -> Selection:
    """What is needed to go on after `batch`.

    Raises `IncompleteCheckpointError` if a state store cannot be brought to that batch with these files.
    """
    files: list[PurePosixPath] = []
    stores: defaultdict[PurePosixPath, list[PurePosixPath]] = defaultdict(list)
    shared: defaultdict[PurePosixPath, list[PurePosixPath]] = defaultdict(list)
    for given in paths:
        path = PurePosixPath(given)
        if not belongs(path, batch):
            continue
        if path.parts[0] in ALL_LOGS:
            if int(path.name) > batch - KEPT_LOGS:
                files.append(path)
        elif path.parts[0] in VERSIONED and STATE_FILE.match(path.name):
            stores[path.parent].append(path)
        elif path.parts[0] == STATE and path.suffix == _SHARED.get(path.parent.name):
            shared[path.parent.parent].append(path)
        else:
            files.append(path)
    archives: list[PurePosixPath] = []
    for store, states in stores.items():
        if any("_" in path.name for path in states):
            # Versions have lineages (state store format 2), which only the changelogs tell: all are kept.
            files += states + shared[store]
            continue
        chain = _chain(store, states, batch + 1)
        files += chain
        archives += [path for path in chain if path.suffix == ".zip"]
    return Selection(tuple(sorted(files)), tuple(sorted(archives)))


def shared_files(archive: PurePosixPath, metadata: str) -> tuple[PurePosixPath, ...]:
    """The files that a zip names in its entry `metadata`, relative to the checkpoint.

    Raises `IncompleteCheckpointError` if that entry cannot be understood.
    """
    version, _, text = metadata.partition("\n")
    try:
        if version != "v1":
            raise ValueError(f"version {version!r}")
        content = json.loads(text)
        tables = [f"SSTs/{file['dfsSstFileName']}" for file in content.get("sstFiles") or ()]
        logs = [f"logs/{file['dfsLogFileName']}" for file in content.get("logFiles") or ()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IncompleteCheckpointError(f"{archive}: its metadata cannot be understood: {error}") from error
    return tuple(archive.parent / name for name in tables + logs)


def _chain(store: PurePosixPath, states: Sequence[PurePosixPath], version: int) -> list[PurePosixPath]:
    """The newest full snapshot and the changes after it; version 0 is empty."""
    full = {int(path.stem): path for path in states if path.suffix in _FULL}
    changes = {int(path.stem): path for path in states if path.suffix not in _FULL}
    base = max(full, default=0)
    missing = [number for number in range(base + 1, version + 1) if number not in changes]
    if missing:
        raise IncompleteCheckpointError(
            f"{store}: version {missing[0]} of {version} is missing, the last full is {base}"
        )
    first = [full[base]] if base else []
    return first + [changes[number] for number in range(base + 1, version + 1)]
