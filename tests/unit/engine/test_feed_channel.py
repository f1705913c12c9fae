"""The channel to a feed: frames that come in pieces, in any order of their tasks, and an end that is told."""

from __future__ import annotations

import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.engine.realtime import channel
from tandem.engine.realtime.channel import Channel, ChannelClosedError, Ends
from tandem.jobapi.errors import JobError

SCHEMA = pa.schema([("value", pa.binary())])


def batch(*values: bytes) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, pa.binary())], schema=SCHEMA)


def frame(epoch: int, part: int, parts: int, content: bytes, rows: int = 0) -> bytes:
    return struct.pack("<iqiii", len(content), epoch, part, parts, rows) + content


def rows(epoch: int, part: int, parts: int, *values: bytes) -> bytes:
    return frame(epoch, part, parts, batch(*values).serialize().to_pybytes(), len(values))


class BothEnds:
    """A channel, and the other end of its socket."""

    def __init__(self) -> None:
        self.other = socket.socket(socket.AF_UNIX)
        self.channel = Channel(self._connect)
        self.other.settimeout(5)

    def _connect(self, path: str) -> None:
        self.path = path
        self.other.connect(path)


@pytest.fixture
def ends() -> Iterator[BothEnds]:
    made = BothEnds()
    yield made
    made.channel.close()
    made.other.close()


def test_no_file_is_left_of_the_socket(ends: BothEnds) -> None:
    assert not Path(ends.path).parent.exists()


@pytest.fixture
def long_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / ("x" * 85)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_temporary_folder_may_have_a_long_path(long_folder: Path) -> None:
    made = BothEnds()

    assert len(made.path) < 100
    assert not Path(made.path).parent.exists()
    assert not list(long_folder.iterdir())
    made.channel.close()
    made.other.close()


@pytest.mark.usefixtures("long_folder")
def test_where_only_long_paths_can_be_had_the_error_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "_SHORT", (tmp_path / "missing",))

    with pytest.raises(JobError, match=r"may have \d+ bytes, .* Set the environment variable TMPDIR"):
        BothEnds()


def test_a_frame_that_comes_in_pieces_is_waited_for(ends: BothEnds) -> None:
    sent = frame(-1, 0, 1, SCHEMA.serialize().to_pybytes()) + rows(7, 0, 1, b"a", b"b")
    for place in range(0, len(sent) - 1, 97):
        ends.other.sendall(sent[place : min(place + 97, len(sent) - 1)])
    assert ends.channel.take() is None
    ends.other.sendall(sent[-1:])
    part = ends.channel.take()
    assert part is not None
    assert (part.epoch, part.part, part.parts) == (7, 0, 1)
    assert part.rows == batch(b"a", b"b")


def test_a_part_without_rows_has_no_batch(ends: BothEnds) -> None:
    ends.other.sendall(frame(3, 1, 2, b""))
    part = ends.channel.take()
    assert part is not None
    assert part.rows is None


@pytest.mark.parametrize(("kind", "number"), [(Ends.GOES_ON, 0), (Ends.BARRIER, 1), (Ends.BARRIER_ALONE, 2)])
def test_an_offer_is_a_header_and_a_batch(ends: BothEnds, kind: Ends, number: int) -> None:
    ends.channel.offer(EnginePosition(5, 50), batch(b"x"), 1_234, kind, lambda: None)
    header = ends.other.recv(32, socket.MSG_WAITALL)
    size, *rest = struct.unpack("<iqqqi", header)
    assert rest == [5, 50, 1_234, number]
    content = ends.other.recv(size, socket.MSG_WAITALL)
    assert pa.ipc.read_record_batch(pa.py_buffer(content), SCHEMA) == batch(b"x")


def test_late_rows_are_added_up_until_they_are_asked_for(ends: BothEnds) -> None:
    late = [frame(-2, 0, 0, b"", count) for count in (3, 4)]
    ends.other.sendall(frame(3, 0, 1, b"") + late[0] + late[1] + frame(4, 0, 1, b""))
    parts, counts = [], []
    for _ in range(2):
        parts.append(ends.channel.take())
        counts.append(ends.channel.late_rows())
    assert [part.epoch for part in parts if part is not None] == [3, 4]
    assert counts == [0, 7]
    assert ends.channel.late_rows() == 0


def test_an_offer_that_nobody_reads_can_be_given_up(ends: BothEnds) -> None:
    class GivenUpError(Exception):
        pass

    def check() -> None:
        raise GivenUpError

    for epoch in range(2):
        with pytest.raises(GivenUpError):
            ends.channel.offer(EnginePosition(epoch, 0), batch(bytes(50_000_000)), 0, Ends.GOES_ON, check)


def test_the_end_of_the_other_side_is_told(ends: BothEnds) -> None:
    ends.other.close()
    with pytest.raises(ChannelClosedError):
        ends.channel.take()
