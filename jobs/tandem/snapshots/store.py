"""The snapshot store: contents under their hashes, manifests written last, everything checked when it is read.

objects/<hh>/<hash>-<upload>          a file's content, once however many snapshots it is in
manifests/<epoch>-<incarnation>.json  one whole snapshot
manifests/….json.retired              the mark of one that is about to go
savepoints/…                          snapshots with names (`savepoints`)
incoming/…                            what is being written, where files do not appear at once
"""

import math
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from tandem.checkpoint.position import EnginePosition
from tandem.logs import get_logger
from tandem.snapshots.errors import (
    IncompleteCheckpointError,
    NoSnapshotError,
    SnapshotCancelledError,
    SnapshotCorruptError,
    SnapshotManifestError,
    SnapshotStoreError,
    UnknownManifestVersionError,
)
from tandem.snapshots.garbage import Collected, Retention, newest_first, older_than, to_retire, unnamed
from tandem.snapshots.local import Hasher, LocalFile
from tandem.snapshots.marks import RETIRED, retire
from tandem.snapshots.parallel import for_each
from tandem.snapshots.remote import INCOMING, Remote, RemoteFile
from tandem.snapshots.restoring import Restorer
from tandem.snapshots.usable import named_by_savepoints, restore_first
from tandem.snapshots.values import (
    SnapshotFile,
    SnapshotHead,
    SnapshotManifest,
    decode_manifest,
    encode_manifest,
    object_path,
)

_log = get_logger(__name__)
GRACE_MS: Final = 900_000
"""How long what is named by nothing stays. All processes of a job must agree on it."""

_LOOK_EVERY_MS: Final = 60_000
_WRITERS: Final = 4


class SnapshotStore:
    """The snapshots of one job. Safe for several processes at once, collectors included.

    `url` : the job's own folder: a path, or a URL that fsspec knows; or the operations on such a folder.
    `options` : of the file system, as fsspec's documentation names them.
    `grace_ms` : see `GRACE_MS`; a snapshot must be saved within half of it.
    `clock_ms` : any monotonic clock, ms.
    """

    def __init__(
        self,
        url: str | Remote,
        options: Mapping[str, Any] | None = None,
        grace_ms: int = GRACE_MS,
        clock_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self.remote = Remote(url, options or {}) if isinstance(url, str) else url
        self._grace_ms = grace_ms
        self._clock_ms = clock_ms
        self._hasher = Hasher()
        self._known: dict[str, dict[str, SnapshotFile]] = {}  # manifest → hash → file
        self._mine: dict[str, tuple[str, float]] = {}  # hash → upload, when it began
        self._there: dict[str, int] = {}  # object → bytes
        self._looked_ms = -math.inf
        self._foreign: set[str] = set()  # among the savepoints
        self._restorer = Restorer(self.remote)

    def save(
        self,
        head: SnapshotHead,
        folder: Path,
        stopped: Callable[[], bool] = lambda: False,
        named_in: Callable[[SnapshotManifest], tuple[str, bytes]] = lambda it: (
            f"manifests/{it.name}",
            encode_manifest(it),
        ),
    ) -> SnapshotManifest:
        """Save all files of `folder` as one snapshot; contents that are in the store already are not sent again.

        Until the manifest is there, which is written last, nobody sees anything of it. `named_in` gives the path and content
        of the file that is written instead of one in `manifests`, unless it is there: then `FileExistsError` is raised.

        Raises `SnapshotStoreError`: the store is away, full, or too slow. What was sent is used by the next call;
        `SnapshotCancelledError`: `stopped` became true.
        """
        files = self._hasher.hash_all(folder)
        if not files:
            raise IncompleteCheckpointError(f"{folder} is empty")
        began = self._clock_ms()
        uploads = self._reliable({file.hash for file in files}, began)
        missing = {file.hash: file for file in files if file.hash not in uploads}

        def upload(file: LocalFile) -> None:
            if stopped():
                raise SnapshotCancelledError(f"epoch {head.epoch} was not saved: the process stops")
            name, at = uuid.uuid4().hex[:8], self._clock_ms()
            self.remote.put_file(folder / file.path, object_path(file.hash, name))
            self._mine[file.hash], self._there[object_path(file.hash, name)] = (name, at), file.size
            uploads[file.hash] = name

        for_each(upload, missing.values(), _WRITERS)
        manifest = SnapshotManifest(
            **asdict(head), files=tuple(SnapshotFile(f.path, f.hash, f.size, uploads[f.hash]) for f in files)
        )
        self._write_last(*named_in(manifest), began)
        _log.info(
            "snapshot_saved",
            epoch=head.epoch,
            files=len(files),
            bytes=manifest.size,
            sent_files=len(missing),
            sent_bytes=sum(file.size for file in missing.values()),
            ms=round(self._clock_ms() - began),
        )
        return manifest

    def keep(self, manifest: SnapshotManifest, path: str, content: Callable[[], bytes], savepoint: str = "") -> None:
        """Write the file `path`, which names what a snapshot names, so that this stays even if the snapshot goes.

        `content` : called right before it is written. `savepoint`: the path of the savepoint that the snapshot is of; "": it
        is among the snapshots.

        Raises `NoSnapshotError` if the snapshot is about to go, `SnapshotCorruptError` if a file of it is missing,
        `FileExistsError` if there is a file `path`, `SnapshotStoreError`.
        """
        began = self._clock_ms()
        folder = savepoint.rpartition("/")[0]
        if not (savepoint in self.remote.files(folder) if savepoint else self._is_there(manifest)):
            raise NoSnapshotError(f"{savepoint or f'snapshot {manifest.name}'} was collected meanwhile")
        there = self.remote.files("objects")
        for file in manifest.files:
            if file.object_path not in there or there[file.object_path].size != file.size:
                raise SnapshotCorruptError(file.path, f"{file.object_path} is missing from the store, or was cut off")
        self._write_last(path, content(), began)

    def _write_last(self, path: str, content: bytes, began: float) -> None:
        """Write a file that names objects which were looked for at `began`: in half the grace period they may go.

        Raises `FileExistsError`: it has a name that somebody chose, and another has it.
        """
        limit = f"saving took longer than {self._grace_ms / 2000:.0f} s"
        late = SnapshotStoreError(f"{limit}: the store is too slow for so much state. Use a faster one, or lanes")
        if self._clock_ms() - began >= self._grace_ms / 2:
            raise late
        put = self.remote.put_bytes if path.startswith("manifests/") else self.remote.put_new
        put(content, path)
        if self._clock_ms() - began >= self._grace_ms / 2:
            self.remote.remove(path)
            raise late

    def list(self) -> tuple[SnapshotManifest, ...]:
        """All snapshots, newest first; manifests that cannot be read are logged and left out."""
        return tuple(newest_first(self._valid()))

    def newest(self, lineages: Collection[str] | None = None) -> SnapshotManifest | None:
        """The newest snapshot, of any replica; None if there is none. `lineages`: only of these, see `Config.lineages`."""
        return next((one for one in self._valid() if lineages is None or one.config_digest in lineages), None)

    def oldest(self) -> SnapshotManifest | None:
        """The oldest snapshot that anyone may restore, of any replica; None if there is none."""
        paths, marks = self._manifests()
        found = (self._read(path) for path in sorted(paths.keys() - marks.keys()))
        return next((manifest for manifest in found if manifest is not None), None)

    def restore(self, manifest: SnapshotManifest, target: Path, have: Path | None = None) -> None:
        """Bring a snapshot to the folder `target`. See `restoring.Restorer.restore`."""
        self._restorer.restore(manifest.files, target, have)

    def newest_usable(
        self,
        last_published: int,
        config_digest: str | Collection[str],
        target: Path,
        newer_than: int = -1,
        have: Path | None = None,
        wanted: Callable[[SnapshotManifest], bool] = lambda _: True,
    ) -> EnginePosition | None:
        """Restore the newest snapshot of this very job that is not after `last_published`; returns where it stands.

        It must be after the epoch `newer_than`, for those who have a state already (`have`: see `restore`), and be `wanted`.
        Snapshots that turn out damaged are logged and passed over, and so are a few that cannot be read. None if there is
        none; then `target` is untouched. Raises `SnapshotStoreError` if the store is away.

        `config_digest` : the job's identity, or several that are as good.
        """
        identities = (config_digest,) if isinstance(config_digest, str) else config_digest

        def fits(manifest: SnapshotManifest) -> bool:
            if not newer_than < manifest.epoch <= last_published:
                return False
            if manifest.config_digest not in identities:
                _log.info("snapshot_of_another_config", snapshot=manifest.name)
                return False
            return wanted(manifest)

        restore = partial(self.restore, target=target, have=have)
        found = restore_first(lambda: filter(fits, self._valid()), restore, self._is_there)
        return None if found is None else EnginePosition(found.epoch, found.log_offset)

    def collect_garbage(self, retention: Retention, now_ms: int, taken_ms: int | None = None) -> Collected:
        """Retire snapshots beyond `retention`, then remove what nothing has named for the grace period.

        `now_ms`: the store's wall clock, see `StoreClock`. `taken_ms`: that of replicas. Raises `SnapshotStoreError`.
        """
        paths, marks = self._manifests()
        expired = older_than(marks, self._grace_ms, now_ms)
        try:
            read = {path: self._read(path, collecting=True) for path in paths if path not in expired}
            # After the marks: who keeps a snapshot of which these are old has written its savepoint before.
            savepoints, deleted = named_by_savepoints(self.remote, self._grace_ms, now_ms, self._foreign)
        except SnapshotManifestError as error:
            _log.warning("garbage_left", reason=f"{error}; what its snapshot names is not known")
            return Collected()
        objects = self.remote.files("objects") | self.remote.files(INCOMING)
        named_by = {path: manifest for path, manifest in read.items() if manifest is not None}
        garbage = unnamed(older_than(objects, self._grace_ms, now_ms), [*named_by.values(), *savepoints])
        torn = [path for path in older_than(paths, self._grace_ms, now_ms) if path in read and read[path] is None]
        kept = newest_first(m for path, m in named_by.items() if path not in marks)
        leaving = to_retire(kept, retention, taken_ms or now_ms)
        refused = retire(self.remote, leaving)  # a full store takes no mark before something has gone
        # Marks go last: without its mark, a manifest whose objects are gone would be found again.
        for_each(self.remote.remove, [path for path in expired if path in paths], _WRITERS)
        for_each(self.remote.remove, [*garbage, *torn, *deleted], _WRITERS)
        for_each(self.remote.remove, [path + RETIRED for path in expired], _WRITERS)
        if refused:
            raise refused
        return Collected(len(leaving), len(garbage), sum(objects[path].size for path in garbage))

    def _reliable(self, wanted: set[str], now: float) -> dict[str, str]:
        """Those contents that are in the store, whole, and will stay until a manifest is written: hash → upload.

        Objects are looked for once a minute: what is there stays there, unless somebody else damages the store.
        """
        paths, marks = self._manifests()
        self._known = {path: files for path, files in self._known.items() if path in paths and path not in marks}
        for path in sorted(paths.keys() - marks.keys() - self._known.keys()):
            if (manifest := self._read(path)) is not None:
                self._known[path] = {file.hash: file for file in manifest.files}
        if now - self._looked_ms > _LOOK_EVERY_MS:
            self._there = {path: object_.size for path, object_ in self.remote.files("objects").items()}
            self._looked_ms = now
        self._mine = {hash_: mine for hash_, mine in self._mine.items() if now - mine[1] < self._grace_ms / 2}
        reliable = {
            hash_: mine[0]
            for hash_, mine in self._mine.items()
            if hash_ in wanted and object_path(hash_, mine[0]) in self._there
        }
        for path in sorted(self._known, reverse=True):
            for hash_ in wanted - reliable.keys():
                file = self._known[path].get(hash_)
                if file is not None and self._there.get(file.object_path) == file.size:
                    reliable[hash_] = file.upload
        return reliable

    def _manifests(self) -> tuple[dict[str, RemoteFile], dict[str, RemoteFile]]:
        """All manifests, and the marks of those that are retired, both by the manifests' paths."""
        files = self.remote.files("manifests")
        marks = {path.removesuffix(RETIRED): file for path, file in files.items() if path.endswith(RETIRED)}
        return {path: file for path, file in files.items() if not path.endswith(RETIRED)}, marks

    def _is_there(self, manifest: SnapshotManifest) -> bool:
        paths, marks = self._manifests()
        return f"manifests/{manifest.name}" in paths.keys() - marks.keys()

    def _valid(self) -> Iterator[SnapshotManifest]:
        """Manifests that are not retired and can be read, newest first, one by one."""
        paths, marks = self._manifests()
        for path in sorted(paths.keys() - marks.keys(), reverse=True):
            if (manifest := self._read(path)) is not None:
                yield manifest

    def _read(self, path: str, collecting: bool = False) -> SnapshotManifest | None:
        try:
            manifest = decode_manifest(self.remote.read(path))
            if manifest.name != path.rpartition("/")[2]:
                raise SnapshotManifestError(f"it is that of {manifest.name}")
        except FileNotFoundError as error:
            if collecting:
                # Newer snapshots, which were not there to be found, may name what it named.
                raise SnapshotManifestError(f"{path} was collected by somebody else meanwhile") from error
            return None
        except SnapshotManifestError as error:
            if collecting and isinstance(error, UnknownManifestVersionError):
                raise
            _log.warning("snapshot_manifest_invalid", manifest=path, reason=str(error))
            return None
        return manifest
