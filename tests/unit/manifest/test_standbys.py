"""Standbys need slots in ZooKeeper and a log to follow; a manifest that gives them neither is refused at their line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.manifest import ManifestError, load
from unit.manifest.mistakes import HERE

Writer = Callable[..., Path]

WITH_STANDBY = ("  replicas: 2", f"  replicas: 1\n  standbys: 1 {HERE}")
WITHOUT_ZOOKEEPER = ("  zookeeper:\n    connect: localhost:2181\n", "")
HEARTBEAT = ("mode: leader", "mode: heartbeat")
NONE = ("mode: leader", "mode: none")
AT_LEAST_ONCE = ("delivery: exactlyOnce", "delivery: atLeastOnce")


def refused(path: Path) -> list[tuple[str, bool, str]]:
    """Of each problem its field, whether it names the marked line, and what it says."""
    with pytest.raises(ManifestError) as caught:
        load(path)
    lines = path.read_text().splitlines()
    return [(found.path, HERE in lines[(found.line or 1) - 1], found.detail) for found in caught.value.problems]


@pytest.mark.parametrize("mode", [("mode: leader", "mode: leader"), HEARTBEAT], ids=["leader", "heartbeat"])
def test_with_zookeeper_standbys_are_accepted_in_both_modes(mode: tuple[str, str], write: Writer) -> None:
    assert load(write(WITH_STANDBY, mode)).spec.standbys == 1


def test_standbys_without_zookeeper_have_no_slots(write: Writer) -> None:
    ((field, here, text),) = refused(write(WITH_STANDBY, WITHOUT_ZOOKEEPER, HEARTBEAT))

    assert (field, here) == ("spec.standbys", True)
    assert "standbys need ZooKeeper, where the slots of the active replicas are" in text
    assert "Add zookeeper: {connect: localhost:2181}, or remove the standbys" in text


def test_standbys_without_ordering_have_no_log_to_follow(write: Writer) -> None:
    ((field, here, text),) = refused(write(WITH_STANDBY, NONE, AT_LEAST_ONCE))

    assert (field, here) == ("spec.standbys", True)
    assert "without ordering, a standby has no log to follow" in text
    assert "Choose the mode leader or heartbeat, or remove the standbys" in text


def test_a_job_without_standbys_needs_neither(write: Writer) -> None:
    assert load(write(WITHOUT_ZOOKEEPER, HEARTBEAT)).spec.standbys == 0
