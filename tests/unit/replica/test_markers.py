"""What an active does with markers: its state counts for others, is shipped and saved, and what was waited for is over."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from tandem.checkpoint.compared import compared_epoch
from tandem.core.effects import Marked
from tandem.kafka.watching import Troubles
from tandem.protocol.values import Marker
from tandem.replica.markers import Markers
from tandem.replica.shipping import StateShipping
from tandem.replica.states import States
from tandem.replica.steps import OUTPUT
from tandem.snapshots import Retention, SnapshotIdentity, SnapshotStore, Snapshotter, SnapshotterSettings
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter
from tandem.waits import Task
from unit.replica.looping import cut
from unit.replica.test_states_of_others import states

ME, OTHER = "orders.replica-0.aaaa", "orders.replica-1.bbbb"


class Shipped:
    """State shipping, by what it may ship."""

    def __init__(self) -> None:
        self.epochs: list[int] = []

    def published(self, epoch: int) -> None:
        self.epochs.append(epoch)


class Case:
    """An active with snapshots."""

    def __init__(self, folder: Path) -> None:
        self.registry, self.shipped, self.reporter = CollectorRegistry(), Shipped(), Reporter("replica-0", ME)
        self.metrics = ReplicaMetrics(self.registry, "orders", "replica-0")
        self.troubles = Troubles(tuple, self.metrics.refused)
        self.states: States = states(folder, ME)
        self.sinking = Task()
        self.snapshotter = Snapshotter(
            SnapshotStore(str(folder / "store")),
            SnapshotIdentity("orders", ME, "c", "f"),
            self.states.checkpoint,
            SnapshotterSettings(1_000, Retention(1, 0)),
        )

    def markers(self, snapshotter: Snapshotter | None) -> Markers:
        shipping = cast(StateShipping, self.shipped)
        return Markers(
            self.troubles,
            self.sinking,
            self.states,
            shipping,
            snapshotter,
            self.metrics,
            self.reporter,
            clock_s=lambda: 3.25,
        )

    @property
    def latencies(self) -> tuple[float | None, float | None]:
        labels = {"job_name": "orders", "replica": "replica-0"}
        name = "tandem_publish_latency_seconds"
        found = (self.registry.get_sample_value(f"{name}_{what}", labels) for what in ("count", "sum"))
        return next(found), next(found)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_state_that_was_compared_counts_for_others_and_is_shipped_and_saved(case: Case) -> None:
    case.markers(case.snapshotter).compared(3)
    assert (case.states.compared_epoch, compared_epoch(case.states.checkpoint)) == (3, 3)
    assert case.shipped.epochs == [3]
    assert not case.snapshotter.is_waiting, "a snapshot is due"


def test_state_of_a_candidate_does_not_go_to_the_store(case: Case) -> None:
    case.reporter.candidate = True
    markers = case.markers(case.snapshotter)
    markers.compared(3)
    assert case.snapshotter.is_waiting
    assert compared_epoch(case.states.checkpoint) == 3
    case.reporter.candidate = False
    markers.compared(4)
    assert not case.snapshotter.is_waiting, "its generation has begun"


def test_a_job_without_snapshots_takes_none(case: Case) -> None:
    case.markers(None).compared(3)
    assert (case.states.compared_epoch, case.shipped.epochs) == (3, [3])


def test_an_epoch_that_is_published_is_waited_for_no_more(case: Case) -> None:
    case.sinking.begins("the tables of epoch 3")
    case.troubles.failed_as(OUTPUT, "nobody answers")
    case.markers(None).marked(Marked(Marker(3, 0, OTHER, "d", 1, 30), cut(3)))
    assert case.sinking.work is None
    assert case.troubles._reasons == {}


def test_the_time_to_a_commit_is_that_of_this_replicas_own(case: Case) -> None:
    markers = case.markers(None)
    markers.marked(Marked(Marker(3, 0, OTHER, "d", 1, 30), cut(3)))
    markers.marked(Marked(Marker(3, 0, ME, "d", 1, 30), None))
    assert case.latencies[0] == 0
    markers.marked(Marked(Marker(3, 0, ME, "d", 1, 30), cut(3)))
    assert case.latencies == (1, 0.25)
    markers.marked(Marked(Marker(4, 0, ME, "d", 1, 40), cut(4)))
    assert case.latencies == (2, 0.25), "a clock that is behind makes no time negative"
