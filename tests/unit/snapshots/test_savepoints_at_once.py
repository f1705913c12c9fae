"""Two that take one name in the same moment: one of them gets it, on every kind of store."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from tandem.snapshots import SavepointExistsError, Savepoints, SnapshotStore, SnapshotStoreError
from tandem.snapshots.remote import Remote
from unit.snapshots.savepoint_builders import INPUTS, saved
from unit.snapshots.snapshot_builders import NOW_MS, Faults, fill, head


@pytest.mark.parametrize("way", ["create", "save", "copy"])
def test_a_name_that_is_taken_right_before_it_is_written_stays_that_of_the_first(
    root: Path, tmp_path: Path, faults: type[Faults], store: SnapshotStore, way: str
) -> None:
    snapshot, other = saved(store, tmp_path, 7), saved(store, tmp_path, 8)
    known = Savepoints(store).create("known", snapshot, INPUTS)

    def hook(happens: str, path: str) -> None:
        if happens == "name" and path.endswith("/savepoints/a.json"):
            faults.heal()
            Savepoints(store).create("a", other, INPUTS)

    faults.set(hook)
    mine = Savepoints(SnapshotStore(f"faulty://{root}"), lambda: NOW_MS)
    with pytest.raises(SavepointExistsError, match="somebody else has just made a savepoint a: choose another name"):
        {
            "create": lambda: mine.create("a", snapshot, INPUTS),
            "save": lambda: mine.save("a", head(9), fill(tmp_path / "9", {"metadata": b"m"}), INPUTS),
            "copy": lambda: mine.copy("a", known),
        }[way]()
    assert Savepoints(store).get("a").snapshot == other
    assert not [*(root / "incoming").iterdir()], "what was not used is removed"


@pytest.mark.parametrize("error", [OSError(errno.EPERM, "no links here"), NotImplementedError()])
def test_a_folder_without_links_is_a_store_as_well(
    root: Path, tmp_path: Path, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.link", refuse)
    made = Savepoints(store).create("a", saved(store, tmp_path), INPUTS)
    assert Savepoints(store).get("a") == made
    remote = Remote(str(root), {})
    with pytest.raises(FileExistsError):
        remote.put_new(b"other", "savepoints/a.json")
    assert Savepoints(store).get("a") == made


class _FromS3(Exception):  # noqa: N818
    """As the client has it."""

    def __init__(self, code: str) -> None:
        self.response = {"Error": {"Code": code}}


class _ObjectStore(MemoryFileSystem):
    """An object store that answers a request on a condition with an error of S3."""

    async_impl = True
    store: ClassVar[dict[str, Any]] = {}
    code = ""
    has_written = False

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        if mode == "overwrite" or self.has_written:
            super().pipe_file(path, value)
        if mode == "create":
            raise OSError(errno.EINVAL, self.code) from _FromS3(self.code)


@pytest.fixture
def objects() -> _ObjectStore:
    _ObjectStore.store.clear()
    return _ObjectStore(skip_instance_cache=True)


@pytest.fixture
def remote(objects: _ObjectStore) -> Remote:
    remote = Remote("memory://bucket/j", {})
    remote._fs = objects
    return remote


def test_an_object_store_writes_only_what_is_not_there() -> None:
    remote = Remote("memory://bucket/at-once", {})
    remote.put_new(b"first", "savepoints/a.json")
    with pytest.raises(FileExistsError):
        remote.put_new(b"second", "savepoints/a.json")
    assert remote.read("savepoints/a.json") == b"first"


@pytest.mark.parametrize("code", ["PreconditionFailed", "ConditionalRequestConflict"])
def test_the_words_of_every_s3_for_a_name_that_is_taken_are_understood(
    objects: _ObjectStore, remote: Remote, code: str
) -> None:
    remote.put_bytes(b"first", "savepoints/a.json")
    objects.code = code
    with pytest.raises(FileExistsError):
        remote.put_new(b"second", "savepoints/a.json")
    assert remote.read("savepoints/a.json") == b"first"


def test_a_request_that_was_sent_twice_finds_what_it_has_made_itself(objects: _ObjectStore, remote: Remote) -> None:
    objects.code, objects.has_written = "PreconditionFailed", True
    remote.put_new(b"mine", "savepoints/a.json")
    assert remote.read("savepoints/a.json") == b"mine"


def test_an_s3_that_knows_no_condition_is_a_store_as_well(objects: _ObjectStore, remote: Remote) -> None:
    objects.code = "NotImplemented"
    remote.put_new(b"mine", "savepoints/a.json")
    with pytest.raises(FileExistsError):
        remote.put_new(b"other", "savepoints/a.json")
    assert remote.read("savepoints/a.json") == b"mine"


def test_a_store_that_refuses_is_no_name_that_is_taken(objects: _ObjectStore, remote: Remote) -> None:
    objects.code = "AccessDenied"
    with pytest.raises(SnapshotStoreError, match=r"cannot write savepoints/a\.json in memory://bucket/j"):
        remote.put_new(b"mine", "savepoints/a.json")
