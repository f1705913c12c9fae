"""Copies of static tables that no generation which may still run needs: removed.

Each incarnation notes the copies that it reads. A copy stays as long as the generation of the job, or an incarnation that
may live, needs it; and for an hour after it was last taken, since one may be taken before that is noted.
"""

import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tandem.logs import get_logger
from tandem.replica.leftovers import is_dead, replica_of, siblings

_log = get_logger(__name__)

_NOTE: Final = "tables"
GRACE_S: Final = 3_600.0


def note_tables(folder: Path, versions: Iterable[str]) -> None:
    """Say which copies the incarnation of `folder` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _NOTE).write_text("\n".join(versions))


def remove_unneeded(copies: Path, folder: Path, needed: Collection[str], now_s: float) -> list[str]:
    """Remove the copies that nobody needs, and name them.

    `copies` : the folder of the job's copies.
    `folder` : of this incarnation; those of others are beside it.
    `needed` : what this one, and the accepted generation, reads.
    `now_s` : Unix , s.
    """
    if not copies.is_dir():
        return []
    kept = set(needed)
    for sibling in siblings(folder):
        if not is_dead(sibling, replica_of(folder)):
            with suppress(OSError):
                kept |= set((sibling / _NOTE).read_text().split("\n"))
    removed = []
    for copy in sorted(copies.iterdir()):
        with suppress(OSError):
            if copy.name not in kept and now_s - copy.stat().st_mtime > GRACE_S:
                shutil.rmtree(copy)
                removed.append(copy.name)
    if removed:
        _log.info("static_tables_removed", versions=removed)
    return removed
