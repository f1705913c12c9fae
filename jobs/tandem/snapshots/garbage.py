"""Which snapshots and objects may go. Pure; `SnapshotStore.collect_garbage` carries it out.

An object may go once nothing has named it for a grace period. So a manifest is first retired, by a mark beside it: from
then on no reader finds it any more, and what it names stays for the grace period, for readers and writers that found it
before. A writer relies on an object only if a manifest that is not retired names it, or if it wrote it itself just now, and
its own manifest must be there within half of that period. Names of objects are never used again. So nobody comes to name an
object that a collector, however long it sleeps between deciding and deleting, has found unnamed and old.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tandem.snapshots.remote import RemoteFile
from tandem.snapshots.values import SnapshotManifest


@dataclass(frozen=True, slots=True)
class Retention:
    """How many of the newest snapshots stay however old they are, and how long every snapshot stays, in ms."""

    count: int = 10
    age_ms: int = 600_000

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"{self.count} snapshots cannot be retained: keep at least 1")


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection removed: snapshots that were retired, and files with their bytes."""

    retired: int = 0
    removed: int = 0
    removed_bytes: int = 0


def newest_first(manifests: Iterable[SnapshotManifest]) -> list[SnapshotManifest]:
    """By epoch, then by the time that they were taken at."""
    return sorted(manifests, key=lambda manifest: (manifest.epoch, manifest.taken_at_ms, manifest.name), reverse=True)


def to_retire(manifests: Sequence[SnapshotManifest], retention: Retention, now_ms: int) -> list[SnapshotManifest]:
    """Those that are neither among the newest nor young. `manifests` are in the order of `newest_first`.

    Of the state that the newest one in time is of, the newest are those of the latest epochs. Of others they are so in time:
    those of a job that was deleted and begun again may be of later epochs than all that follow.
    """
    oldest = now_ms - retention.age_ms
    last = max(manifests, key=lambda manifest: manifest.taken_at_ms, default=None)
    same = [one for one in manifests if last is not None and one.config_digest == last.config_digest]
    others = sorted((one for one in manifests if one not in same), key=lambda one: one.taken_at_ms, reverse=True)
    stay = {one.name for one in [*same, *others][: retention.count]}
    return [one for one in manifests if one.name not in stay and one.taken_at_ms < oldest]


def older_than(files: Mapping[str, RemoteFile], grace_ms: int, now_ms: int) -> list[str]:
    """The paths of files that were written longer ago than the grace period."""
    return [path for path, file in files.items() if file.written_at_ms < now_ms - grace_ms]


def unnamed(old: Iterable[str], manifests: Iterable[SnapshotManifest]) -> list[str]:
    """Those of the old objects that no manifest names."""
    named: Collection[str] = {file.object_path for manifest in manifests for file in manifest.files}
    return [path for path in old if path not in named]
