"""What an epoch added to a checkpoint, as one record: a line with the hash of all the rest, a line of JSON, the contents."""

import json
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from tandem.shipping.errors import DeltaError
from tandem.snapshots.values import hash_of

VERSION: Final = 1
"""Of a record's shape; another one is refused."""


@dataclass(frozen=True, slots=True)
class StateIdentity:
    """Whose state it is and who can read it: the job's identity, and the format of the files."""

    config_digest: str
    state_format: str


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A file: its path in the checkpoint, and its content."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Delta:
    """The files of `epoch`, shipped by the incarnation `shipper`.

    `left_out`: why there are none (a delta by reference); whoever follows needs a snapshot of a later epoch.
    """

    epoch: int
    identity: StateIdentity
    shipper: str
    files: tuple[DeltaFile, ...] = ()
    left_out: str = ""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(file.content) for file in self.files)


class _File(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    path: str
    size: NonNegativeInt


class _Head(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    epoch: NonNegativeInt
    shipper: str
    config: str
    format: str
    left_out: str
    files: list[_File]


def encode_delta(delta: Delta) -> bytes:
    """A delta as the value of a record."""
    head = _Head(
        epoch=delta.epoch,
        shipper=delta.shipper,
        config=delta.identity.config_digest,
        format=delta.identity.state_format,
        left_out=delta.left_out,
        files=[_File(path=file.path, size=len(file.content)) for file in delta.files],
    )
    body = b"".join([head.model_dump_json().encode(), b"\n", *(file.content for file in delta.files)])
    return json.dumps({"version": VERSION, "hash": hash_of(body)}).encode() + b"\n" + body


def decode_delta(value: bytes | None) -> Delta:
    """The delta in a record, checked by its hash. Raises `DeltaError`."""
    head, body, contents = _parts(value)
    if hash_of(body) != _declared_hash(value):
        raise DeltaError("its content does not match its hash: it is torn or was altered")
    if len(contents) != sum(file.size for file in head.files):
        raise DeltaError(f"it has {len(contents)} bytes of files instead of {sum(f.size for f in head.files)}")
    bounds = pairwise(accumulate((file.size for file in head.files), initial=0))
    files = tuple(
        DeltaFile(file.path, contents[start:end]) for file, (start, end) in zip(head.files, bounds, strict=True)
    )
    return Delta(head.epoch, StateIdentity(head.config, head.format), head.shipper, files, head.left_out)


def epoch_and_shipper(value: bytes | None) -> tuple[int, str]:
    """What a record is about, without a look at the files. Raises `DeltaError`."""
    head, _, _ = _parts(value)
    return head.epoch, head.shipper


def _parts(value: bytes | None) -> tuple[_Head, bytes, bytes]:
    _declared_hash(value)
    body = (value or b"").partition(b"\n")[2]
    line, _, contents = body.partition(b"\n")
    try:
        return _Head.model_validate_json(line), body, contents
    except ValidationError as error:
        details = error.errors()[0]
        raise DeltaError(f"{'.'.join(map(str, details['loc']))}: {details['msg']}") from error


def _declared_hash(value: bytes | None) -> str:
    first = (value or b"")[:512].partition(b"\n")[0]
    try:
        line = json.loads(first)
    except ValueError as error:
        raise DeltaError(f"its first line is no JSON: {error}") from error
    if not isinstance(line, dict) or "version" not in line:
        raise DeltaError("it is no delta of a checkpoint")
    if line["version"] != VERSION:
        raise DeltaError(f"it has version {line['version']!r}, this Tandem reads {VERSION}")
    return str(line.get("hash", ""))
