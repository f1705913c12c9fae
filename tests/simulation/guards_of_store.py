"""The snapshot store with one of its guards against races removed; see `guards` and `store_races`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simulation.deviation import Deviation
from simulation.guards import Guard
from tandem.snapshots import SnapshotHead, SnapshotManifest, SnapshotStore, garbage, store, values
from tandem.snapshots.remote import RemoteFile


class ReliesOnRetired(SnapshotStore):
    """Names contents in its snapshots that only a retired one names."""

    _saving = False

    def _reliable(self, wanted: set[str], now: float) -> dict[str, str]:
        self._saving = True
        try:
            return super()._reliable(wanted, now)
        finally:
            self._saving = False

    def _manifests(self) -> tuple[dict[str, RemoteFile], dict[str, RemoteFile]]:
        paths, marks = super()._manifests()
        return paths, {} if self._saving else marks


class NeverTooSlow(SnapshotStore):
    """Finishes a snapshot however long it has taken."""

    def save(self, head: SnapshotHead, folder: Path, stopped: Callable[[], bool] = lambda: False) -> SnapshotManifest:
        clock, began = self._clock_ms, self._clock_ms()
        self._clock_ms = lambda: began
        try:
            return super().save(head, folder, stopped)
        finally:
            self._clock_ms = clock


class CollectsWhatItMissed(SnapshotStore):
    """Goes on collecting although a snapshot vanished before it was read: it takes it for one that names nothing."""

    def _read(self, path: str, collecting: bool = False) -> SnapshotManifest | None:  # noqa: ARG002
        return super()._read(path)


def _no_grace_for(prefix: str) -> Callable[..., list[str]]:
    """`older_than` that finds everything old whose path begins with `prefix`."""

    def older(files: Mapping[str, RemoteFile], grace_ms: int, now_ms: int) -> list[str]:
        return [path for path in files if path.startswith(prefix)] or garbage.older_than(files, grace_ms, now_ms)

    return older


def _same_name(content_hash: str, _upload: str) -> str:
    return f"objects/{content_hash[:2]}/{content_hash}"


_ONE_NAME: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (store, "object_path", _same_name),
    (values, "object_path", _same_name),
)

GUARDS_OF_STORE = (
    Guard("contents have a grace period", rules=((store, "older_than", _no_grace_for("objects/")),)),
    Guard("retired snapshots have a grace period", rules=((store, "older_than", _no_grace_for("manifests/")),)),
    Guard("a snapshot relies on no retired one", Deviation(store=ReliesOnRetired), near=70),
    Guard("a snapshot that takes too long is given up", Deviation(store=NeverTooSlow)),
    Guard("a content's name is used once", rules=_ONE_NAME),
    Guard("a collector that missed a snapshot gives up", Deviation(store=CollectsWhatItMissed), near=1_190),
)
