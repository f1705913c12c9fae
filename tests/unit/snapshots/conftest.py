"""A store in a folder, and how it is made to fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tandem.snapshots import SnapshotStore
from unit.snapshots.snapshot_builders import Faults


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
    return logged
