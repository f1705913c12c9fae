"""A store in a folder, how it is made to fail, and replicas that save their state there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tandem.snapshots import SnapshotStore, SnapshotterSettings
from unit.snapshots.snapshot_builders import Faults
from unit.snapshots.snapshotting import DEFAULTS, Clock, Replica, Start


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The store's folder."""
    return tmp_path / "store" / "j"


@pytest.fixture
def store(root: Path) -> SnapshotStore:
    """A store in a folder."""
    return SnapshotStore(str(root))


@pytest.fixture
def faults() -> Iterator[type[Faults]]:
    """Lets the stores `faulty://` fail until the end of the test."""
    yield Faults
    Faults.heal()


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The events that were logged as warnings, with what was said about them."""
    logged: list[str] = []

    class Log:
        def info(self, event: str, **_: object) -> None: ...

        def debug(self, event: str, **_: object) -> None: ...

        def warning(self, event: str, **said: object) -> None:
            logged.append(" ".join([event, *map(str, said.values())]))

    monkeypatch.setattr("tandem.snapshots.store._log", Log())
    monkeypatch.setattr("tandem.snapshots.usable._log", Log())
    monkeypatch.setattr("tandem.snapshots.snapshotter._log", Log())
    monkeypatch.setattr("tandem.snapshots.store_clock._log", Log())
    return logged


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def start(tmp_path: Path, root: Path, clock: Clock) -> Iterator[Start]:
    """Starts replicas, which are stopped at the end of the test."""
    with ExitStack() as running:

        def starter(
            name: str = "replica-0", settings: SnapshotterSettings = DEFAULTS, has_clock: bool = False
        ) -> Replica:
            replica = Replica(name, tmp_path, root, clock, settings, has_clock)
            running.callback(replica.snapshotter.stop)
            return replica

        yield starter
