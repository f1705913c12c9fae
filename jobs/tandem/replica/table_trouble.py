"""What hinders an epoch from being written to files: it waits for what may pass."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tandem.replica.table_errors import TableUnreachableError

_FOR_GOOD: Final = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EINVAL)
_LONGEST: Final = 400


@contextmanager
def writing(sink: str, kind: str, path: str) -> Iterator[None]:
    """Errors of a file system that may pass, as `TableUnreachableError`: rights, too, which a login's late renewal takes."""
    what = f"the {kind} table {path} of sink {sink} cannot be written"
    try:
        yield
    except PermissionError as error:
        raise TableUnreachableError(
            f"{what}: {_said(error)}. Give the account that the replica runs as the right to create and replace files "
            "there; it is tried again"
        ) from error
    except OSError as error:
        if error.errno in _FOR_GOOD:
            raise
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise TableUnreachableError(
                f"{what}: no space is left there{_free(path)}. Make room in the table's file system; it is tried again"
            ) from error
        raise TableUnreachableError(f"{what}: {_said(error)}. It is tried again") from error


def _free(path: str) -> str:
    try:
        return f" ({shutil.disk_usage(path).free / 2**20:,.1f} MiB are free)"
    except OSError:
        return ""


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST].rstrip(". ")
