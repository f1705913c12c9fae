"""What a snapshot is, and its manifest as bytes: two lines of JSON, of which the first has the hash of the second, so that a
torn or altered one is found."""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePosixPath
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tandem.snapshots.errors import SnapshotManifestError, UnknownManifestVersionError

VERSION: Final = 1
"""Of the manifest's shape; another one is refused."""

_STRICT = ConfigDict(strict=True, extra="forbid")


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or str(PurePosixPath(path)) != path or "\0" in path:
        raise ValueError(f"{path!r} is no path of a file inside a checkpoint")
    return path


def _file_name(name: str) -> str:
    if not name or "/" in name or "\0" in name or name.startswith("."):
        raise ValueError(f"{name!r} cannot be part of a file's name")
    return name


Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, config=_STRICT)
class SnapshotFile:
    """One file of a checkpoint: its path there, BLAKE2b-256 of its content in hex, bytes, and which upload of that
    content is meant (an object's name is never used twice, so that nobody's late deletion can hit it)."""

    path: Annotated[str, AfterValidator(_inside)]
    hash: Hash
    size: Annotated[int, Field(ge=0)]
    upload: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]

    @property
    def object_path(self) -> str:
        """Where the content is, relative to the store's root."""
        return object_path(self.hash, self.upload)


@dataclass(frozen=True, slots=True, config=_STRICT)
class SnapshotHead:
    """What a snapshot is of.

    Attributes
    ----------
    job, incarnation : whose, and by which process.
    epoch, log_offset : the newest epoch in it, and the offset of its cut in the ordering topic.
    config_digest : the job's identity, as in the ordering topic.
    digest : of the epoch's rows; empty if the process that took the snapshot does not know it.
    taken_at_ms : wall clock, ms since 1970.
    state_format : what can read the files.
    """

    job: str
    epoch: Annotated[int, Field(ge=0)]
    log_offset: Annotated[int, Field(ge=0)]
    config_digest: str
    digest: str
    taken_at_ms: Annotated[int, Field(ge=0)]
    state_format: str
    incarnation: Annotated[str, AfterValidator(_file_name)]

    @property
    def name(self) -> str:
        """The manifest's file name; names sort like epochs."""
        return f"{self.epoch:020}-{self.incarnation}.json"


@dataclass(frozen=True, slots=True, config=_STRICT)
class SnapshotManifest(SnapshotHead):
    """A whole snapshot. Written last, so what it names is in the store."""

    files: Annotated[tuple[SnapshotFile, ...], Field(min_length=1)]

    def __post_init__(self) -> None:
        if len({file.path for file in self.files}) != len(self.files):
            raise ValueError("a path is named twice")

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


_MANIFEST: Final = TypeAdapter(SnapshotManifest)


def hash_of(content: bytes) -> str:
    """BLAKE2b-256, hex."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def object_path(content_hash: str, upload: str) -> str:
    """Where an upload of a content is, relative to the store's root."""
    return f"objects/{content_hash[:2]}/{content_hash}-{upload}"


def rocksdb_state_format(spark_version: str) -> str:
    """The `state_format` of checkpoints that this Spark writes with RocksDB and changelogs."""
    return f"spark {spark_version}, rocksdb-changelog"


def encode_manifest(manifest: SnapshotManifest) -> bytes:
    """A manifest as the content of its file."""
    return checked(_MANIFEST.dump_json(manifest))


def checked(body: bytes) -> bytes:
    """The body with the line before it that makes a torn or altered one be found."""
    return json.dumps({"version": VERSION, "hash": hash_of(body)}).encode() + b"\n" + body


_T = TypeVar("_T")


def decode_manifest(content: bytes) -> SnapshotManifest:
    """The manifest in a file.

    Raises `UnknownManifestVersionError`: it is of another version of Tandem; `SnapshotManifestError`: it is torn, was
    altered, or is no manifest.
    """
    return decode_checked(_MANIFEST, content, "a manifest of a snapshot")


def decode_checked(adapter: TypeAdapter[_T], content: bytes, what: str) -> _T:
    """The value whose JSON was `checked`; `what` it should be, for messages. Raises as `decode_manifest`."""
    try:
        return adapter.validate_json(_body_of(content, what))
    except ValidationError as error:
        details = error.errors()[0]
        raise SnapshotManifestError(f"{'.'.join(map(str, details['loc']))}: {details['msg']}") from error


def _body_of(content: bytes, what: str) -> bytes:
    first, _, body = content.partition(b"\n")
    try:
        header = json.loads(first)
    except ValueError as error:
        raise SnapshotManifestError(f"its first line is no JSON, so it is torn or not {what}: {error}") from error
    if not isinstance(header, dict) or "version" not in header:
        raise SnapshotManifestError(f"it is not {what}")
    if header["version"] != VERSION:
        raise UnknownManifestVersionError(f"it has version {header['version']!r}, this Tandem reads {VERSION}")
    if header.keys() != {"version", "hash"}:
        raise SnapshotManifestError(f"its first line has {', '.join(sorted(header))} instead of hash and version")
    if hash_of(body) != header["hash"]:
        raise SnapshotManifestError("its content does not match its hash, so it is torn or was altered")
    return body
