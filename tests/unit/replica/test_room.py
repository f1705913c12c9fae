"""What stands behind an error is looked for, and where that cannot be found out the error is what it was."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from integration.supervised import write_manifest
from tandem.engine.memory import NoRoomError
from tandem.manifest import load
from tandem.replica.setting import Setting
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter


class OfJavaError(Exception):
    """Asks a JVM for its words that has ended."""

    def __str__(self) -> str:
        raise ConnectionError("Answer from Java side is empty")


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    metrics = ReplicaMetrics(CollectorRegistry(), "orders", "replica-0")
    return Setting.of(load(write_manifest(tmp_path, "orders")), "replica-0", metrics, Reporter("replica-0", "o.r.a"))


def test_a_full_disk_is_named(setting: Setting) -> None:
    with pytest.raises(NoRoomError), setting.room():
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_error_that_cannot_say_what_it_is_stays_what_it_is(setting: Setting) -> None:
    raised = OfJavaError("An error occurred while calling o42.start")
    with pytest.raises(OfJavaError) as found, setting.room():
        raise raised
    assert found.value is raised
