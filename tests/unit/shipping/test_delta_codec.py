"""Deltas as records: what was shipped is read, and nothing else."""

from __future__ import annotations

import json

import pytest

from tandem.shipping import Delta, DeltaError, DeltaFile
from tandem.shipping.values import decode_delta, encode_delta, epoch_and_shipper
from tandem.snapshots.values import hash_of
from unit.shipping.builders import IDENTITY

FILES = (
    DeltaFile("commits/7", b"v1\n{}"),
    DeltaFile("state/0/0/8.changelog", b"\x00\n\xff"),
    DeltaFile("offsets/7", b""),
)
DELTA = Delta(7, IDENTITY, "j.replica-0.1a", FILES)


def test_a_delta_comes_back_as_it_was() -> None:
    assert decode_delta(encode_delta(DELTA)) == DELTA
    assert DELTA.size == 8


def test_a_delta_by_reference_says_why_it_has_no_files() -> None:
    delta = Delta(7, IDENTITY, "a", left_out="9 bytes, more than 8")
    assert decode_delta(encode_delta(delta)) == delta


def test_a_micro_batch_s_delta_is_what_earlier_versions_write() -> None:
    head = json.loads(encode_delta(DELTA).split(b"\n")[1])
    assert set(head) == {"epoch", "shipper", "config", "format", "left_out", "files"}
    assert (DELTA.number, DELTA.after) == (7, 6)
    assert [DELTA.continues(epoch) for epoch in (5, 6, 7)] == [False, True, False]


def test_a_barrier_s_delta_names_its_batch_and_where_that_began() -> None:
    delta = Delta(700, IDENTITY, "a", FILES, batch=(7, 350))
    assert decode_delta(encode_delta(delta)) == delta
    assert (delta.number, delta.after) == (7, 350)
    assert [delta.continues(epoch) for epoch in (349, 350, 699, 700)] == [False, True, True, False]
    first = Delta(700, IDENTITY, "a", FILES, batch=(0, -1))
    assert decode_delta(encode_delta(first)) == first


def test_epoch_and_shipper_are_known_without_the_files() -> None:
    assert epoch_and_shipper(encode_delta(DELTA)) == (7, "j.replica-0.1a")


@pytest.mark.parametrize("place", range(len(encode_delta(DELTA))))
def test_an_altered_byte_is_found(place: int) -> None:
    value = bytearray(encode_delta(DELTA))
    value[place] ^= 1
    with pytest.raises(DeltaError):
        decode_delta(bytes(value))


@pytest.mark.parametrize("length", [0, 1, 60, len(encode_delta(DELTA)) - 1])
def test_a_torn_record_is_found(length: int) -> None:
    with pytest.raises(DeltaError):
        decode_delta(encode_delta(DELTA)[:length])


@pytest.mark.parametrize("value", [None, b"", b"{}", b"[]\n", b'{"version":2,"hash":""}\n{}\n', b"\x80\x04."])
def test_other_records_are_refused(value: bytes | None) -> None:
    with pytest.raises(DeltaError):
        decode_delta(value)


def test_sizes_that_do_not_fit_the_contents_are_refused() -> None:
    _, body = encode_delta(DELTA).split(b"\n", 1)
    longer = body + b"more"
    value = json.dumps({"version": 1, "hash": hash_of(longer)}).encode() + b"\n" + longer
    with pytest.raises(DeltaError, match="12 bytes of files instead of 8"):
        decode_delta(value)
