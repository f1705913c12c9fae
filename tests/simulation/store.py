"""The server of the snapshot store: files that appear whole, unless they tear; damage; and times when it is away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simulation.invariants import InvariantError
from tandem.snapshots import SnapshotFile, SnapshotManifest, SnapshotStoreError
from tandem.snapshots.remote import Remote, RemoteFile
from tandem.snapshots.values import decode_manifest, encode_manifest, hash_of

if TYPE_CHECKING:
    from simulation.tasks import Task
    from simulation.world import World

_BEGINNING_MS = 1_000_000
RETIRED = ".retired"
_CLOCKS_DIFFER_MS = 6.0


@dataclass(slots=True)
class Stored:
    """A file; `whole` is False once it is torn or damaged."""

    content: bytes
    written_at: float
    whole: bool = True


class StoreServer:
    """The store of one job, and what must hold in it after every step. Times are simulated ms."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.files: dict[str, Stored] = {}
        self.down_until = 0.0
        self._manifests: dict[str, SnapshotManifest] = {}  # those that were saved, or appeared in time
        self._retired: dict[str, float] = {}  # when
        self._lasting: set[str] = set()
        self.readers: dict[str, str] = {}  # who is restoring something → the object that it read last

    def wall_ms(self) -> int:
        """The store's clock, ms since 1970."""
        return _BEGINNING_MS + int(self._world.timeline.now)

    # What it is asked ------------------------------------------------------------------------------------------------

    def put(self, path: str, content: bytes, in_time: bool, died: bool) -> None:
        """Write a file. It may tear: if who writes it dies, or if the store itself goes away."""
        tears = self._world.rng.random() < self._world.redundancy.tears
        if (died or self._is_away) and tears:
            self._world.reached("torn upload")
            if path.endswith(RETIRED):
                self._retired.setdefault(path.removesuffix(RETIRED), self._world.timeline.now)  # it has no content
            self.files[path] = Stored(content[: len(content) // 2], self._world.timeline.now, whole=False)
        self.check_there()
        if died and tears:
            return
        self.files[path] = Stored(content, self._world.timeline.now)
        if path.endswith(RETIRED):
            self._retired.setdefault(path.removesuffix(RETIRED), self._world.timeline.now)
        elif path.startswith("manifests/") and in_time:
            manifest = decode_manifest(content)
            self._check_whole(manifest, "appeared")
            self._manifests[path] = manifest

    def read(self, path: str) -> bytes:
        """The content of a file."""
        self.check_there()
        file = self.files.get(path)
        if file is None:
            raise FileNotFoundError(path)
        if not file.whole:
            self._world.reached(f"damaged {path.partition('/')[0]} met")
        return file.content

    def list(self, folder: str) -> dict[str, RemoteFile]:
        """The files of a folder."""
        self.check_there()
        return {
            path: RemoteFile(len(file.content), _BEGINNING_MS + int(file.written_at))
            for path, file in self.files.items()
            if path.startswith(f"{folder}/")
        }

    def remove(self, path: str, by: str) -> None:
        """Remove a file: nothing that a snapshot needs that anyone may still restore."""
        self.check_there()
        if path in self.files:
            for manifest in self.restorable():
                if path in {file.object_path for file in manifest.files}:
                    raise InvariantError(f"{path} is removed, which snapshot {manifest.name} needs")
            if self._is_being_restored(path):
                self._world.reached("garbage collection raced a reader")
            self._world.reached("garbage removed")
            del self.files[path]
            manifest = self._manifests.get(path)
            kept = manifest is not None and path in self._retired and manifest.name in self._lasting
            if manifest is not None and manifest.incarnation == by and not kept:
                del self._manifests[path]  # withdrawn by its writer, who took too long

    @property
    def _is_away(self) -> bool:
        return self._world.timeline.now < self.down_until

    def check_there(self) -> None:
        """Raises `SnapshotStoreError` while the store is away."""
        if self._is_away:
            self._world.reached("store was away")
            raise SnapshotStoreError("the store is away")

    def put_stranger(self, epoch: int) -> None:
        """Save a snapshot of another job that once had the same name."""
        content = b"%016x" % (epoch + 1)
        file = SnapshotFile(f"{epoch}.zip", hash_of(content), len(content), "0" * 8)
        manifest = SnapshotManifest(
            self._world.job, epoch, 0, "0ther", "", self.wall_ms(), "simulated", "stranger", (file,)
        )
        self.files[file.object_path] = Stored(content, 0.0)
        self.files[f"manifests/{manifest.name}"] = Stored(encode_manifest(manifest), 0.0)

    # What happens to it ----------------------------------------------------------------------------------------------

    def damage(self) -> None:
        """Truncate or alter some file."""
        paths = [path for path in sorted(self.files) if self.files[path].content and path.startswith(("obj", "man"))]
        if not paths:
            return
        rng = self._world.rng
        path = rng.choice([path for path in paths if path.startswith("man")] or paths if rng.random() < 0.5 else paths)
        file = self.files[path]
        if rng.random() < 0.3:
            file.content = file.content[: rng.randrange(len(file.content))]
        else:
            digits = [match.start() for match in re.finditer(rb"\d", file.content)]
            telling = [match.end() - 1 for match in re.finditer(rb'"log_offset":\d', file.content)]
            at = rng.choice(telling if telling and rng.random() < 0.5 else digits or [0])
            other = b"%d" % ((file.content[at] - 48 + rng.randint(1, 9)) % 10)
            file.content = file.content[:at] + other + file.content[at + 1 :]
        file.whole = False
        self._manifests.pop(path, None)
        self._world.reached("damaged")

    # What must hold --------------------------------------------------------------------------------------------------

    def on_saved(self, manifest: SnapshotManifest) -> None:
        """A snapshot was saved: everything that it names is there."""
        self._check_whole(manifest, "was saved")
        path = f"manifests/{manifest.name}"
        if path in self.files and self.files[path].whole:
            self._manifests[path] = manifest
        self._lasting.add(manifest.name)
        self._world.reached("snapshot saved")

    def _check_whole(self, manifest: SnapshotManifest, how: str) -> None:
        missing = [file.path for file in manifest.files if file.object_path not in self.files]
        if missing:
            raise InvariantError(f"snapshot {manifest.name} {how} without {', '.join(missing)}")

    def restorable(self) -> Sequence[SnapshotManifest]:
        """Whole snapshots that are not retired, or since shortly, so that somebody may be reading them."""
        since = self._world.timeline.now - self._world.redundancy.grace_ms + _CLOCKS_DIFFER_MS
        return [
            manifest
            for path, manifest in self._manifests.items()
            if (path not in self.files or self.files[path].whole) and self._retired.get(path, since + 1) > since
        ]

    def lasting(self) -> Sequence[SnapshotManifest]:
        """Restorable snapshots whose writers know that they are saved: others may still be withdrawn, as too slow."""
        return [manifest for manifest in self.restorable() if manifest.name in self._lasting]

    def _is_being_restored(self, path: str) -> bool:
        """Whether somebody restores a snapshot that needs that object."""
        named = [{file.object_path for file in manifest.files} for manifest in self._manifests.values()]
        return any(path in objects and read in objects for read in self.readers.values() for objects in named)


class SimulatedRemote(Remote):
    """What a process sees of the store: the product's few operations, each a request of the process's task."""

    def __init__(self, server: StoreServer, me: str) -> None:
        self._server, self._me = server, me
        self.task: Task

    def put_file(self, source: Path, path: str) -> None:
        content = source.read_bytes()
        self.task.call("object sent", lambda died: self._server.put(path, content, True, died))

    def put_bytes(self, content: bytes, path: str) -> None:
        step = "manifest sent" if path.startswith("manifests/") else "note sent"
        step = "retired" if path.endswith(RETIRED) else step
        self.task.call(step, lambda died: self._server.put(path, content, self._in_time(), died))

    def read(self, path: str) -> bytes:
        if path.startswith("objects/"):
            self._server.readers[self._me] = path
        content: bytes = self.task.call("read", lambda _: self._server.read(path))
        return content

    def blocks(self, path: str, size: int) -> Iterator[bytes]:  # noqa: ARG002
        yield self.read(path)

    def files(self, folder: str) -> dict[str, RemoteFile]:
        found: dict[str, RemoteFile] = self.task.call(f"{folder} listed", lambda _: self._server.list(folder))
        return found

    def remove(self, path: str) -> None:
        self.task.call("removal sent", lambda _: self._server.remove(path, self._me))

    def _in_time(self) -> bool:
        """Whether the task is not older than half of the grace period: then what it relied on is there for certain."""
        world = self._server._world
        return world.timeline.now - self.task.began < world.redundancy.grace_ms / 2
