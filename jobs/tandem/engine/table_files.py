"""The files of a static table: listed and hashed, and copied where that costs little."""

import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tandem.logs import get_logger

_log = get_logger(__name__)

MOST_BYTES: Final = 128 * 2**20
"""Of a table that is copied. The copies are beside the checkpoints, which are in memory as a rule."""
_TRIES: Final = 5
_PACKAGES: Final = {
    "s3a": "hadoop-aws",
    "gs": "hadoop-gcp",
    "abfs": "hadoop-azure",
    "abfss": "hadoop-azure",
    "wasbs": "hadoop-azure",
    "oss": "hadoop-aliyun",
}
"""Scheme → Hadoop's package with its file system."""
_DELTA_COMMIT: Final = re.compile(r"(\d{20})\.(?:json|checkpoint(?:\..*)?\.parquet)")


class FilesError(Exception):
    """A static table's files cannot be kept."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a table: its place below `root`, the `number`-th of the paths that were read."""

    number: int
    root: str
    place: str
    path: str
    size: int
    modified_ms: int

    @property
    def name(self) -> str:
        """Where a copy of it is, below the table's."""
        return "/".join(filter(None, (str(self.number), self.root, self.place)))


class TableFiles:
    """Lists by Hadoop's file systems, so it finds what Spark finds.

    `folder` : of the copies, shared by the replicas of a job on this machine; None: tables are read where they are.
    """

    def __init__(self, session: SparkSession, folder: Path | None, most_bytes: int = MOST_BYTES) -> None:
        self._session = session
        self.folder = folder
        self._most_bytes = most_bytes
        self._known: dict[tuple[str, ...], tuple[str, list[str]]] = {}

    def kept(self, paths: Sequence[str], agreed: str | None) -> tuple[str, list[str]]:
        """The version of a table, and what Spark is to read: a copy with the version `agreed` on, if there is one.

        Raises `FilesError`.
        """
        key = tuple(paths)
        if key not in self._known:
            self._known[key] = self._agreed_copy(agreed) or self._read_now(paths)
        return self._known[key]

    def _agreed_copy(self, agreed: str | None) -> tuple[str, list[str]] | None:
        if agreed is None or self.folder is None or not (copy := self.folder / agreed).is_dir():
            return None
        os.utime(copy)  # it is taken now: see `replica.table_copies`
        return agreed, _roots(copy)

    def _read_now(self, paths: Sequence[str]) -> tuple[str, list[str]]:
        for _ in range(_TRIES):
            files = self._listed(paths)
            if not files:
                return "", list(paths)  # Spark says why
            size = sum(file.size for file in files)
            if self.folder is None or size > self._most_bytes:
                version = self._in_place(files)
                if self.folder is not None:
                    _log.warning(
                        "static_table_not_copied",
                        table=", ".join(paths),
                        bytes=size,
                        effect="a replica that restarts after its files have changed is refused",
                    )
                found = version, list(paths)
            else:
                found = self._copied(files)
            if self._listed(paths) == files:
                return found
        raise FilesError("its files change while they are read. Write it elsewhere, and move it when it is whole")

    def _in_place(self, files: Sequence[_File]) -> str:
        """Local files by what they hold, others by name, size and time: what a store keeps does not change in place."""
        parts = []
        for file in files:
            local = _local(file.path)
            parts.append((file.name, f"{file.size} {file.modified_ms}" if local is None else _hash_of(local)))
        return _version(parts)

    def _copied(self, files: Sequence[_File]) -> tuple[str, list[str]]:
        assert self.folder is not None  # noqa: S101
        temporary = self.folder / f".{uuid.uuid4().hex}"
        try:
            parts = []
            for file in files:
                target = temporary / file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                self._copy(file, target)
                parts.append((file.name, _hash_of(target)))
            version = _version(parts)
            copy = self.folder / version
            if copy.is_dir():
                os.utime(copy)
            if not copy.is_dir():
                try:
                    temporary.rename(copy)
                except OSError:
                    if not copy.is_dir():  # another replica may have made it meanwhile
                        raise
            return version, _roots(copy)
        except OSError as error:
            raise FilesError(f"it cannot be copied to {self.folder}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _copy(self, file: _File, target: Path) -> None:
        local = _local(file.path)
        if local is not None:
            shutil.copy2(local, target)
            return
        jvm: Any = self._session._jvm
        source = jvm.org.apache.hadoop.fs.Path(file.path)
        with _asking(file.path, jvm):
            self._file_system(source).copyToLocalFile(
                False, source, jvm.org.apache.hadoop.fs.Path(f"file:{target}"), True
            )

    def _listed(self, paths: Sequence[str]) -> list[_File]:
        jvm: Any = self._session._jvm
        found: list[_File] = []
        number = 0
        for text in paths:
            path = jvm.org.apache.hadoop.fs.Path(text)
            with _asking(text, jvm):
                system = self._file_system(path)
                matches = system.globStatus(path) or []
                for status in sorted(matches, key=lambda one: one.getPath().toString()):
                    found += sorted(_below(system, status, number), key=lambda file: file.place)
                    number += 1
        return found

    def _file_system(self, path: Any) -> Any:
        return path.getFileSystem(self._session._jsparkSession.sessionState().newHadoopConf())


def newest_delta_version(path: str, session: SparkSession) -> int:
    """The version of a table of Delta that is the newest now. Raises `FilesError`."""
    jvm: Any = session._jvm
    log = jvm.org.apache.hadoop.fs.Path(path, "_delta_log")
    with _asking(path, jvm):
        system = log.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        names = [status.getPath().getName() for status in system.listStatus(log)]
    versions = [int(match[1]) for name in names if (match := _DELTA_COMMIT.fullmatch(name))]
    if not versions:
        raise FilesError("there is no table of Delta")
    return max(versions)


def _below(system: Any, status: Any, number: int) -> Iterator[_File]:
    """The files that Spark would read: none whose name, or a folder's of it, begins with `_` or `.`."""
    root = status.getPath()
    if status.isFile():
        yield _File(number, root.getName(), "", root.toString(), status.getLen(), status.getModificationTime())
        return
    files = system.listFiles(root, True)
    while files.hasNext():
        file = files.next()
        path = file.getPath().toString()
        place = path.removeprefix(root.toString()).lstrip("/")
        if not any(_is_hidden(part) for part in place.split("/")):
            yield _File(number, root.getName(), place, path, file.getLen(), file.getModificationTime())


def _is_hidden(name: str) -> bool:
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def _local(path: str) -> Path | None:
    return Path(path.removeprefix("file:")) if path.startswith("file:") else None


def _roots(copy: Path) -> list[str]:
    """What stands for the paths that were read, in their order."""
    numbered = sorted(copy.iterdir(), key=lambda folder: int(folder.name))
    return [f"file:{next(folder.iterdir())}" for folder in numbered]


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(parts: Sequence[tuple[str, str]]) -> str:
    listing = "\n".join(f"{name}\t{content}" for name, content in parts)
    return hashlib.sha256(listing.encode()).hexdigest()[:16]


@contextmanager
def _asking(path: str, jvm: Any) -> Iterator[None]:
    """Errors of a file system become `FilesError`s."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        said = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error).partition("\n")[0]
        if "ClassNotFoundException" in said or "No FileSystem for scheme" in said:
            said = f"{said}. {without_file_system(path, str(jvm.org.apache.hadoop.util.VersionInfo.getVersion()))}"
        raise FilesError(f"{path} cannot be read: {said}") from error


def without_file_system(path: str, hadoop: str) -> str:
    """What to do where Spark's Hadoop of that version has no file system for `path`.

    >>> without_file_system("s3://lake/rates", "3.5.0")
    'Hadoop calls this file system s3a: write s3a://lake/rates'
    """
    scheme, _, rest = path.partition("://")
    if scheme in ("s3", "s3n"):
        return f"Hadoop calls this file system s3a: write s3a://{rest}"
    if scheme not in _PACKAGES:
        return "Copy the table to a file system that Spark knows, or put the one for it into spark.jars.packages"
    return (
        f'Add its package to spec.spark.conf, as spark.jars.packages: "org.apache.hadoop:{_PACKAGES[scheme]}:{hadoop}", and '
        f"what it needs to log in: variables of the replicas' environment, or settings spark.hadoop.fs.{scheme}.*"
    )
