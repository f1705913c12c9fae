"""A snapshot's manifest is read as it was written, or not at all."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from pydantic import ValidationError

from tandem.snapshots import SnapshotFile, SnapshotManifest, SnapshotManifestError, batch_unless
from tandem.snapshots.errors import UnknownManifestVersionError
from tandem.snapshots.values import decode_manifest, encode_manifest, hash_of
from unit.snapshots.snapshot_builders import head

FILE = SnapshotFile("state/0/0/1.changelog", hash_of(b"a"), 1, "0a1b2c3d")
MANIFEST = SnapshotManifest(**asdict(head()), files=(FILE, SnapshotFile("metadata", hash_of(b""), 0, "00000000")))


def rewritten(**changes: Any) -> bytes:
    """The manifest with other fields, and the hash that belongs to them."""
    fields = {key: value for key, value in asdict(MANIFEST).items() if value is not None}
    body = {key: value for key, value in {**fields, **changes}.items() if value is not ...}
    text = json.dumps(body).encode()
    return b'{"version": 1, "hash": "%s"}\n%s' % (hash_of(text).encode(), text)


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert decode_manifest(encode_manifest(MANIFEST)) == MANIFEST
    assert decode_manifest(rewritten()) == MANIFEST


def test_a_snapshot_of_an_epoch_s_own_batch_says_nothing_of_batches() -> None:
    assert b"batch" not in encode_manifest(MANIFEST), "it is what earlier versions write, and read"
    assert MANIFEST.last_batch == MANIFEST.epoch == 7
    assert decode_manifest(encode_manifest(MANIFEST)).last_batch == 7


def test_a_snapshot_of_a_barrier_names_its_batch() -> None:
    barrier = replace(MANIFEST, batch=batch_unless(3, MANIFEST.epoch))
    read = decode_manifest(encode_manifest(barrier))
    assert read == barrier
    assert (read.epoch, read.last_batch) == (7, 3)
    assert batch_unless(7, MANIFEST.epoch) is None


def test_its_name_sorts_like_its_epoch() -> None:
    names = [head(epoch).name for epoch in (9, 10, 100)]

    assert names == sorted(names)
    assert names[0] == "00000000000000000009-j.replica-0.1a.json"


def test_an_object_is_named_after_its_content() -> None:
    assert FILE.object_path == f"objects/{FILE.hash[:2]}/{FILE.hash}-0a1b2c3d"


def test_a_manifest_torn_at_any_byte_is_found() -> None:
    content = encode_manifest(MANIFEST)

    for length in range(len(content)):
        with pytest.raises(SnapshotManifestError):
            decode_manifest(content[:length])


def test_a_manifest_altered_at_any_byte_is_found() -> None:
    content = encode_manifest(MANIFEST)

    for position in range(len(content)):
        altered = bytearray(content)
        altered[position] ^= 1
        with pytest.raises(SnapshotManifestError):
            decode_manifest(bytes(altered))


def test_another_version_is_told_from_a_torn_manifest() -> None:
    with pytest.raises(UnknownManifestVersionError, match="version 2, this Tandem reads 1"):
        decode_manifest(encode_manifest(MANIFEST).replace(b'"version": 1', b'"version": 2'))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"epoch": ...}, "epoch: Field required"),
        ({"epoch": "7"}, "epoch: Input should be a valid integer"),
        ({"epoch": -1}, "epoch: .* greater than or equal to 0"),
        ({"more": 1}, "more: Unexpected keyword argument"),
        ({"files": []}, "files: .* at least 1 item"),
        ({"files": [{**asdict(FILE), "hash": "x"}]}, r"files\.0\.hash: String should match"),
        ({"files": [{**asdict(FILE), "size": -1}]}, r"files\.0\.size"),
        ({"files": [asdict(FILE), asdict(FILE)]}, "a path is named twice"),
        ({"incarnation": "a/b"}, "incarnation: .* cannot be part of a file's name"),
    ],
)
def test_a_manifest_of_another_shape_is_refused_with_the_field(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SnapshotManifestError, match=reason):
        decode_manifest(rewritten(**changes))


@pytest.mark.parametrize(
    "content", [b"null", b"[]", b"7", b'{"version": 1}', b'{"version": 1, "hash": "", "more": 1}', b'\n{"version": 1}']
)
def test_what_is_no_manifest_is_refused(content: bytes) -> None:
    with pytest.raises(SnapshotManifestError):
        decode_manifest(content)


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "", ".", "a//b", "./a", "a/", "a\0b"])
def test_a_path_that_leads_out_of_the_checkpoint_is_refused(path: str) -> None:
    with pytest.raises(ValidationError, match="no path of a file inside a checkpoint"):
        SnapshotFile(path, FILE.hash, 1, FILE.upload)
    with pytest.raises(SnapshotManifestError):
        decode_manifest(rewritten(files=[{**asdict(FILE), "path": path}]))
