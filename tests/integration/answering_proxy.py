"""Stands between clients and a broker, and for a while answers like one that has just started, and does not know a topic."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_FETCH, _METADATA, _FIND_COORDINATOR = 1, 3, 10
_UNKNOWN_TOPIC_OR_PARTITION, _NOT_LEADER = 3, 6
_ID_BYTES = 16
_PARTITIONS_BYTES = 1 + 26
"""Of one partition with one replica, in the newer versions of the answer."""
_LOCALHOST = "127.0.0.1"


class AnsweringProxy:
    """Passes all on, but names itself as the broker.

    Parameters
    ----------
    bootstrap : `host:port` of a cluster of one broker.
    topic : the one that may be hidden, of one partition.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._broker = (host, int(port))
        self._listener = socket.create_server((_LOCALHOST, 0))
        self._port: int = self._listener.getsockname()[1]
        self.bootstrap = f"{_LOCALHOST}:{self._port}"
        self._name = bytes([len(topic) + 1]) + topic.encode()  # Kafka's compact string
        self._id = b""
        self._hides = False
        self.answers_without = 0
        """How many answers have named the hidden topic as unknown."""
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    @contextmanager
    def hiding(self) -> Iterator[None]:
        """While the block runs, the broker does not lead the topic, and does not know it."""
        self._hides = True
        try:
            yield
        finally:
            self._hides = False

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(self._broker)
                asked: dict[int, int] = {}
                self._pass_on(client, broker, lambda frame, asked=asked: _request(frame, asked))
                self._pass_on(broker, client, lambda frame, asked=asked: self._answer(frame, asked))

    def _pass_on(self, source: socket.socket, target: socket.socket, change: Callable[[bytes], bytes]) -> None:
        def run() -> None:
            with suppress(OSError), source, target, source.makefile("rb") as frames:
                while len(size := frames.read(4)) == 4:
                    frame = change(frames.read(struct.unpack(">i", size)[0]))
                    target.sendall(struct.pack(">i", len(frame)) + frame)

        threading.Thread(target=run, name="proxy", daemon=True).start()

    def _answer(self, frame: bytes, asked: dict[int, int]) -> bytes:
        kind = asked.pop(struct.unpack_from(">i", frame)[0], None)
        if kind == _FETCH:
            return self._fetched(frame)
        if kind is not None:
            frame = frame.replace(struct.pack(">i", self._broker[1]), struct.pack(">i", self._port))
        return self._metadata(frame) if kind == _METADATA else frame

    def _metadata(self, frame: bytes) -> bytes:
        before, name, after = frame.partition(self._name)
        if not name:
            return frame
        self._id = after[:_ID_BYTES]
        if not self._hides:
            return frame
        self.answers_without += 1
        error = struct.pack(">h", _UNKNOWN_TOPIC_OR_PARTITION)
        rest = after[_ID_BYTES + 1 + _PARTITIONS_BYTES :]
        return before[:-2] + error + name + bytes(_ID_BYTES) + after[_ID_BYTES : _ID_BYTES + 1] + b"\x01" + rest

    def _fetched(self, frame: bytes) -> bytes:
        if not self._hides or self._id not in frame:
            return frame
        before, topic, after = frame.partition(self._id)
        # The number of its partitions, the partition, and its error.
        return before + topic + after[:5] + struct.pack(">h", _NOT_LEADER) + after[7:]


def _request(frame: bytes, asked: dict[int, int]) -> bytes:
    kind, _, number = struct.unpack_from(">hhi", frame)
    if kind in (_FETCH, _METADATA, _FIND_COORDINATOR):
        asked[number] = kind
    return frame
