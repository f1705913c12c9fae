"""The entries of `offsets` as Spark reads them when a query starts: with a position for each scan of its plan.

All scans of a plan stand behind the same epoch, so the lines of an entry are alike, and one is enough to know the others. A
plan with more or fewer scans than the one before goes on from its checkpoint that way.
"""

import re
from pathlib import Path

from tandem.checkpoint.folders import position_in

_HEAD = 2
"""Lines of an entry before the positions: the version, and times and settings."""
_READ = 2
"""Of how many batches Spark reads the entries: the last two."""
_NAME = re.compile(r"\d+")


def fit_scans(checkpoint: Path, scans: int) -> None:
    """Let the entries that Spark will read have the position of `scans` scans. No query runs on the checkpoint.

    Files are replaced, never written into: they may be hard links to those of a running query. Raises `OSError`, and
    `ValueError` if an entry is none of ours.
    """
    found = [path for path in checkpoint.glob("offsets/*") if _NAME.fullmatch(path.name)]
    for path in sorted(found, key=lambda path: int(path.name))[-_READ:]:
        entry = path.read_bytes()
        fitting = fitted(entry, scans)
        if fitting != entry:
            changed = path.with_name(f".{path.name}.fitted")
            changed.write_bytes(fitting)
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # Spark's checksum of what it was
            changed.replace(path)


def fitted(entry: bytes, scans: int) -> bytes:
    """An entry with the position of `scans` scans; as it is if it has them. Raises `ValueError` if it is none of ours."""
    lines = entry.splitlines()
    if len(lines) == _HEAD + scans and len(set(lines[_HEAD:])) == 1:
        return entry
    position = position_in(entry).text.encode()
    return b"\n".join([*lines[:_HEAD], *[position] * scans])
