"""A job with lanes that runs: what its logs say is given, its snapshots are in a store in a folder, which can be away."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tandem.cli import kept, stores
from tandem.manifest import Manifest
from tandem.protocol.values import Config, Marker, Offsets
from tandem.snapshots import SnapshotManifest, SnapshotStore
from unit.local.test_lane_checks import JOB, written
from unit.snapshots.savepoint_builders import INPUTS
from unit.snapshots.snapshot_builders import fill, head

RUNS = Config(0, "c0ffee", Offsets(), "replica-0")


class Lanes:
    """`configs`, `published`: by lane. Those of the whole job are its first lane's."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        places = f"  snapshots: {{store: {folder / 'store'}}}\n  checkpoint: {{directory: {folder / 'checkpoints'}}}\n"
        self.job = written(folder, JOB + places)
        self.configs: dict[str, Config] = {lane.name: RUNS for lane in self.job.lanes}
        self.published: dict[str, int] = dict.fromkeys(self.configs, 7)
        by_topic = {topic: lane.name for lane in self.job.lanes for topic in self._topics(lane)}

        def last_marker(_: object, commits: str) -> Marker | None:
            epoch = self.published.get(by_topic[commits])
            return None if epoch is None else Marker(epoch, 0, "a", "d", 0, epoch * 10)

        monkeypatch.setattr(stores, "SnapshotStore", lambda url, _: SnapshotStore(f"faulty://{url}"))
        monkeypatch.setattr(kept, "Topics", lambda _: SimpleNamespace(partitions=lambda _: {}))
        monkeypatch.setattr(kept, "current_config", lambda _, ordering, __: self.configs.get(by_topic[ordering]))
        monkeypatch.setattr(kept, "last_marker", last_marker)
        monkeypatch.setattr(kept, "inputs_of", lambda *_: INPUTS)

    @property
    def path(self) -> str:
        """The manifest's."""
        return str(self.job.path)

    @staticmethod
    def _topics(lane: Manifest) -> tuple[str, str]:
        return lane.model.topics.ordering, lane.model.topics.commits

    def store(self, lane: int) -> SnapshotStore:
        """Of one lane."""
        one = self.job.lanes[lane]
        assert one.spec.snapshots is not None
        return SnapshotStore(one.spec.snapshots.url(one.name, one.base))

    def snapshot(self, lane: int, epoch: int = 7, config: str = RUNS.lineage) -> SnapshotManifest:
        """Taken by a replica."""
        folder = self.folder / f"{lane}-{epoch}-{config}"
        return self.store(lane).save(head(epoch, config=config), fill(folder, {"metadata": f"{lane} {epoch}".encode()}))


@pytest.fixture
def lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lanes:
    """Four, each with a snapshot of its last epoch."""
    made = Lanes(tmp_path, monkeypatch)
    for lane in range(4):
        made.snapshot(lane)
    return made
