"""Room for whole states in the folder of temporary files: looked for before one is fetched."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tandem.state.errors import TemporaryFolderError

RESCALED: Final = 3
"""How many times its size a state takes while Spark divides it again: as it was, as it becomes, and what Spark sorts."""
DIVIDED: Final = 2
"""The same of a lane's: as it was, and as it becomes."""
_REMEDY: Final = "Set TMPDIR to a folder that has room"


def free_bytes(folder: Path) -> int:
    """How much room a folder has."""
    return shutil.disk_usage(folder).free


@contextmanager
def room_for(needed: int) -> Iterator[None]:
    """While the block runs, it writes `needed` bytes into the folder of temporary files.

    Raises `TemporaryFolderError`: that has no room; or a file cannot be written all the same.
    """
    folder = Path(tempfile.gettempdir())
    free = free_bytes(folder)
    if free < needed:
        raise TemporaryFolderError(f"this needs {_size(needed)} in {folder}, which has {_size(free)} free. {_REMEDY}")
    try:
        yield
    except OSError as error:
        raise TemporaryFolderError(
            f"{error}. Temporary files are written into {folder}, which has {_size(free_bytes(folder))} free; this needs "
            f"{_size(needed)}. {_REMEDY}, and may be written to"
        ) from error


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
