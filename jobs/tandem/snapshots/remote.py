"""The few operations on a store that snapshots need, the same on every file system that fsspec knows.

A file appears whole or not at all: object stores work like that; elsewhere it is written under another name in `incoming/`
and renamed.
"""

import errno
import glob
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import fsspec

from tandem.snapshots.errors import SnapshotStoreError

INCOMING: Final = "incoming"

_ATOMIC: Final = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"})
_BLOCK_BYTES: Final = 1 << 20
_SMALL_BYTES: Final = 2 * _BLOCK_BYTES
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EXDEV})
_TAKEN: Final = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict", "409"})
_NO_CREATE: Final = frozenset({"NotImplemented", "501"})
_REMEDY: Final = "See that the store can be reached from here, has room, and lets in what spec.snapshots names"
_PACKAGES: Final = {"s3": "tandem-stream[s3]", "s3a": "tandem-stream[s3]"}
_S3_CLIENT: Final = {
    "connect_timeout": 5,
    "read_timeout": 20,
    "retries": {"max_attempts": 2},
    "request_checksum_calculation": "when_required",  # not every S3 knows the newer ones; contents have their hashes
}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """Bytes, and when the file was written: the store's clock, ms since 1970."""

    size: int
    written_at_ms: int


class Remote:
    """A folder of a store. Paths are relative to it and may be nested.

    Everything raises `SnapshotStoreError` if the store cannot be reached, is full or refuses.

    `url` : a path, or a URL that fsspec knows.
    `options` : of the file system, as fsspec's documentation names them.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        protocol = url.partition("://")[0] if "://" in url else "file"
        given = dict(options)
        if protocol in {"s3", "s3a"}:
            given = {"config_kwargs": _S3_CLIENT, **given}
        try:
            self._fs, root = fsspec.core.url_to_fs(url, skip_instance_cache=True, use_listings_cache=False, **given)
        except ImportError as error:
            package = _PACKAGES.get(protocol, f"that fsspec needs for {protocol}")
            raise SnapshotStoreError(f"{url} needs a package: pip install '{package}' ({error})") from error
        except Exception as error:
            raise SnapshotStoreError(f"{url} cannot be used as a store: {error}") from error
        self._url = url
        self._root = str(root).rstrip("/")
        self._atomic = protocol in _ATOMIC

    def put_file(self, source: Path, path: str) -> None:
        """Copy a local file to `path`."""
        with self._reached(f"write {path}"):
            if self._atomic:
                self._fs.put_file(str(source), self._at(path))
            else:
                self._renamed(lambda temporary: self._fs.put_file(str(source), temporary), path)

    def put_bytes(self, content: bytes, path: str) -> None:
        """Write `path`, in place of what is there."""
        with self._reached(f"write {path}"):
            if self._atomic:
                self._fs.pipe_file(self._at(path), content)
            else:
                self._renamed(lambda temporary: self._fs.pipe_file(temporary, content), path)

    def put_new(self, content: bytes, path: str) -> None:
        """Write `path`, if there is nothing.

        Of two at once one wins: in object stores by a condition of the request, in folders by a link. Where a store has
        neither, a file that came in the same moment may be replaced.

        Raises `FileExistsError`: there is something.
        """
        with self._reached(f"write {path}", FileExistsError):
            if not self._atomic:
                self._renamed(lambda temporary: self._fs.pipe_file(temporary, content), path, self._named_first)
            elif not self._created(content, path):
                self._only_if_free(self._at(path))
                self._fs.pipe_file(self._at(path), content)

    def _created(self, content: bytes, path: str) -> bool:
        """Whether an object store has made the file; False: it knows no such condition."""
        try:
            self._fs.pipe_file(self._at(path), content, mode="create")
        except Exception as error:
            code = _code_of(error)
            if code in _NO_CREATE:
                return False
            if not isinstance(error, FileExistsError) and code not in _TAKEN:
                raise
            if not self._has(content, path):
                raise FileExistsError(path) from error
        return True

    def _has(self, content: bytes, path: str) -> bool:
        """Whether a file is what was to be written: a client that repeats a request meets what it has made itself."""
        try:
            return bool(self._fs.async_impl and self._fs.cat_file(self._at(path)) == content)
        except FileNotFoundError:
            return False

    def _named_first(self, temporary: str, final: str) -> None:
        """Give a file its name, unless another has it. Raises `FileExistsError`."""
        try:
            self._fs.link(temporary, final)
        except (AttributeError, NotImplementedError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in _NO_LINKS:
                raise
            self._only_if_free(final)
            self._fs.mv(temporary, final)
        else:
            self._fs.rm_file(temporary)

    def _only_if_free(self, final: str) -> None:
        if self._fs.exists(final):
            raise FileExistsError(final)

    def read(self, path: str) -> bytes:
        """The content of a small file. Raises `FileNotFoundError`."""
        with self._reached(f"read {path}", FileNotFoundError):
            return bytes(self._fs.cat_file(self._at(path)))

    def blocks(self, path: str, size: int) -> Iterator[bytes]:
        """The content of a file of about `size` bytes, in pieces. Raises `FileNotFoundError`."""
        if size <= _SMALL_BYTES:
            yield self.read(path)  # one request
            return
        with self._reached(f"read {path}", FileNotFoundError):
            file = self._fs.open(self._at(path), "rb", block_size=4 * _BLOCK_BYTES)
        try:
            while True:
                with self._reached(f"read {path}", FileNotFoundError):
                    block = file.read(_BLOCK_BYTES)
                if not block:
                    return
                yield block
        finally:
            with suppress(Exception):
                file.close()

    def files(self, folder: str) -> dict[str, RemoteFile]:
        """All files under `folder`, however deep: path (relative to the store) → file. None if there is no such folder."""
        with self._reached(f"list {folder}"):
            self._fs.invalidate_cache()
            # Otherwise fsspec takes a folder that cannot be listed for an empty one.
            strict = {} if self._fs.async_impl else {"on_error": "raise"}
            try:
                found = self._fs.find(self._at(folder), detail=True, **strict)
            except FileNotFoundError:
                return {}
            prefix = len(self._root) + 1
            return {
                str(name)[prefix:]: RemoteFile(int(info["size"] or 0), self._written_at_ms(info))
                for name, info in found.items()
                if info.get("type") == "file"
            }

    def written_at_ms(self, path: str) -> int:
        """When a file was written: see `RemoteFile`."""
        with self._reached(f"look at {path}"):
            self._fs.invalidate_cache()
            return self._written_at_ms(self._fs.info(self._at(path)))

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens if it is gone."""
        with self._reached(f"remove {path}"), suppress(FileNotFoundError):
            self._fs.rm_file(self._at(path))

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all that is in it; nothing happens if there is none. Raises if anything of it stays."""
        with self._reached(f"remove {folder}"), suppress(FileNotFoundError):
            self._fs.invalidate_cache()
            if not self._atomic:
                self._fs.rm(self._at(folder), recursive=True)
            elif files := self._fs.find(self._at(folder)):  # folders are only names there, not every S3 deletes them
                self._fs.rm([glob.escape(file) for file in files])  # of a pattern it would remove whatever fits
        if left := self.files(folder):  # of many at once, s3fs does not tell which were refused
            raise SnapshotStoreError(
                f"cannot remove all of {folder} in {self._url}, {min(left)} is still there; "
                "may these credentials delete?"
            )

    def _renamed(self, write: Any, path: str, named: Any = None) -> None:
        temporary, final = self._at(f"{INCOMING}/{uuid.uuid4().hex}"), self._at(path)
        self._fs.makedirs(temporary.rpartition("/")[0], exist_ok=True)
        self._fs.makedirs(final.rpartition("/")[0], exist_ok=True)
        try:
            write(temporary)
            (named or self._fs.mv)(temporary, final)
        except BaseException:
            with suppress(Exception):
                self._fs.rm_file(temporary)
            raise

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _written_at_ms(self, info: Mapping[str, Any]) -> int:
        known = next(
            (info[key] for key in ("LastModified", "mtime", "last_modified", "created") if info.get(key)), None
        )
        moment = self._fs.modified(info["name"]) if known is None else known
        if isinstance(moment, datetime):
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return int(moment * 1000)

    @contextmanager
    def _reached(self, doing: str, expected: type[Exception] | tuple[()] = ()) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if isinstance(error, expected):
                raise
            said = f"cannot {doing} in {self._url}: {type(error).__name__}: {error}".rstrip(". ")
            raise SnapshotStoreError(f"{said}. {_REMEDY}") from error


def _code_of(error: BaseException) -> str:
    """What S3 calls an error; "" if it is none of S3."""
    response = getattr(error.__cause__, "response", None) or getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, Mapping) else ""
