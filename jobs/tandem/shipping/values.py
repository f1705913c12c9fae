"""What a batch added to a checkpoint, as one record: a line with the hash of all the rest, a line of JSON, the contents."""

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
    """The files of a batch whose last epoch is `epoch`, shipped by the incarnation `shipper`.

    `left_out`: why there are none (a delta by reference); a follower needs a snapshot of a later epoch.

    `batch`: the number of the batch, by which its files are called, and the epoch `after` which it began. None: those of a
    micro-batch, which has one epoch and its number; then the record does not have them, and is what earlier versions write.
    """

    epoch: int
    identity: StateIdentity
    shipper: str
    files: tuple[DeltaFile, ...] = ()
    left_out: str = ""
    batch: tuple[int, int] | None = None

    @property
    def number(self) -> int:
        """Of the batch."""
        return self.epoch if self.batch is None else self.batch[0]

    @property
    def after(self) -> int:
        """The epoch after which the batch began."""
        return self.epoch - 1 if self.batch is None else self.batch[1]

    def continues(self, epoch: int) -> bool:
        """Whether a state of `epoch` becomes one of this delta's epoch by its files.

        A batch's changes are each key's last value. So they may begin earlier than the state: what it has of them already
        is written once more.
        """
        return self.after <= epoch < self.epoch

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
    batch: NonNegativeInt | None = None
    after: int | None = None


def encode_delta(delta: Delta) -> bytes:
    """A delta as the value of a record."""
    head = _Head(
        epoch=delta.epoch,
        shipper=delta.shipper,
        config=delta.identity.config_digest,
        format=delta.identity.state_format,
        left_out=delta.left_out,
        files=[_File(path=file.path, size=len(file.content)) for file in delta.files],
        batch=None if delta.batch is None else delta.number,
        after=None if delta.batch is None else delta.after,
    )
    body = b"".join([head.model_dump_json(exclude_none=True).encode(), b"\n", *(file.content for file in delta.files)])
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
    batch = None if head.batch is None or head.after is None else (head.batch, head.after)
    return Delta(head.epoch, StateIdentity(head.config, head.format), head.shipper, files, head.left_out, batch)


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
