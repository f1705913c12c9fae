"""What was written to a disk of this machine stays through a loss of power. Stores and HDFS see to that themselves."""

import errno
import os
from typing import Any, Final

from fsspec.implementations.local import LocalFileSystem

_CANNOT: Final = (errno.EINVAL, errno.ENOTSUP)
"""What a mounted file system says that knows no sync of a folder."""


def sync_file(files: Any, file: Any) -> None:
    """Wait until the open file's content is on the disk. `files`: of fsspec, that it is in. Raises `OSError`."""
    if isinstance(files, LocalFileSystem):
        file.flush()
        os.fsync(file.fileno())


def sync_folder(files: Any, folder: str) -> None:
    """Wait until the names in the folder are on the disk, as after a file was moved into it. Raises `OSError`."""
    if not isinstance(files, LocalFileSystem):
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    finally:
        os.close(opened)
