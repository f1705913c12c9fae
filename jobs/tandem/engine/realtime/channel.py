"""The channel between Python and a feed in the JVM: epochs go, rows come, both as Arrow record batches with a short header.

It is a Unix socket, with a thread in the JVM that always reads, so that neither end waits for the other to read first.

Why so, measured on two busy cores at 25 records of 200 bytes an epoch: the way to the JVM, through an identity plan and
back takes 0.25 ms, of which Arrow's coding in Python is 0.01. One call through py4j takes 0.5 ms, and the micro-batch bridge
needs three of them for an epoch; its files in memory cost 0.03 ms. So the calls had to go, and what carries the bytes
hardly counts: shared memory would still need a socket to wake the other end. Arrow is what both ends read and write already.
Kafka's own client in the JVM would save a way of 0.1 ms, and have the dead letters, the order and the questions of an
epoch written once more in Java.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

import pyarrow as pa

from tandem.checkpoint.position import EnginePosition
from tandem.jobapi.errors import JobError

_OFFER: Final = struct.Struct("<iqqqi")
"""Bytes of the batch, epoch, its offset in the ordering log, its time (Unix, ms), and its `Ends`."""
_ROWS: Final = struct.Struct("<iqiii")
"""Bytes of the batch, epoch (or `_SCHEMA`, or `_LATE`), part, parts of the epoch, rows."""
_SCHEMA: Final = -1
_LATE: Final = -2
"""So many rows of a batch came too late for a watermark."""
_BUFFER_BYTES: Final = 2**20
_WAIT_S: Final = 0.2
_SOCKET: Final = "feed"
_MOST_BYTES: Final = 106 if sys.platform == "linux" else 102
"""Of a socket's path: Java takes one byte less than the platform does."""
_SHORT: Final = (Path("/dev/shm"), Path("/tmp"))  # noqa: S108 - a private folder is made in it
"""Where a folder is made if `TMPDIR` is long."""


class Ends(IntEnum):
    """Whether Spark's batch ends behind what is offered."""

    GOES_ON = 0
    BARRIER = 1
    BARRIER_ALONE = 2
    """It does, and it is no epoch: it has the position of the last one, and no records."""


class ChannelClosedError(Exception):
    """The JVM's end is closed."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one task of an epoch that has `parts` tasks; None: it has no rows."""

    epoch: int
    part: int
    parts: int
    rows: pa.RecordBatch | None


def _short_folder() -> Path:
    """A new private folder in which the socket's path is short enough: of `TMPDIR`, or else of memory or of `/tmp`.

    Raises `JobError`: there is none.
    """
    for place in (Path(tempfile.gettempdir()), *_SHORT):
        try:
            folder = Path(tempfile.mkdtemp(prefix="tandem-", dir=place))
        except OSError:
            continue
        if len(os.fsencode(folder / _SOCKET)) <= _MOST_BYTES:
            return folder
        folder.rmdir()
    raise JobError(
        f"a socket's path may have {_MOST_BYTES} bytes, and one in the temporary folder {tempfile.gettempdir()} is longer, "
        f"or cannot be made; nor can one in {' or '.join(map(str, _SHORT))}. Set the environment variable TMPDIR to a "
        "folder with a shorter path"
    )


class Channel:
    """Not thread-safe, but for `close`.

    `connect` : is given the socket's path, and connects the JVM to it.
    """

    def __init__(self, connect: Callable[[str], None]) -> None:
        folder = _short_folder()
        try:
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(folder / _SOCKET))
                listening.listen(1)
                listening.settimeout(_WAIT_S)
                connect(str(folder / _SOCKET))
                self._socket, _ = listening.accept()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self._socket.settimeout(_WAIT_S)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self._schema: pa.Schema | None = None
        self._bytes = bytearray(_ROWS.size)
        self._have = 0
        self._header: tuple[int, ...] | None = None
        self._late_rows = 0

    def offer(
        self, position: EnginePosition, batch: pa.RecordBatch, time_ms: int, ends: Ends, check: Callable[[], None]
    ) -> None:
        """Send an epoch. `check`: called several times a second while the JVM does not read. Raises `ChannelClosedError`."""
        content = batch.serialize()
        header = _OFFER.pack(content.size, position.epoch, position.log_offset, time_ms, ends)
        left = memoryview(b"".join((header, memoryview(content))))
        try:
            while left:
                try:
                    left = left[self._socket.send(left) :]
                except TimeoutError:
                    check()
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def take(self) -> Part | None:
        """The next part of an epoch; None if none is whole within 200 ms. Raises `ChannelClosedError`."""
        while True:
            if not self._fill():
                return None
            if self._header is None:
                self._header = _ROWS.unpack(self._bytes)
                self._expect(self._header[0])
                continue
            (size, epoch, part, parts, count), content = self._header, self._bytes
            self._header = None
            self._expect(_ROWS.size)
            if epoch == _LATE:
                self._late_rows += count
                continue
            if epoch == _SCHEMA:
                self._schema = pa.ipc.read_schema(pa.py_buffer(content))
                continue
            rows = pa.ipc.read_record_batch(pa.py_buffer(content), self._schema) if size else None
            return Part(epoch, part, parts, rows)

    def late_rows(self) -> int:
        """How many rows came too late for a watermark, as far as was said since this was asked last."""
        count, self._late_rows = self._late_rows, 0
        return count

    def close(self) -> None:
        """Let the JVM's end know, too."""
        self._socket.close()

    def _expect(self, size: int) -> None:
        self._bytes, self._have = bytearray(size), 0

    def _fill(self) -> bool:
        """Whether what is expected is there."""
        view = memoryview(self._bytes)
        while self._have < len(view):
            try:
                count = self._socket.recv_into(view[self._have :])
            except TimeoutError:
                return False
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if not count:
                raise ChannelClosedError("the JVM has closed the channel")
            self._have += count
        return True
