"""What a standby reports of the state that it follows says nothing once it computes itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from integration.supervised import write_manifest
from tandem.kafka.client import KafkaConnection
from tandem.manifest import load
from tandem.replica.shipping import StateShipping
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter

NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})


class Case:
    """A standby that has followed state to epoch 5, and proved it up to 4."""

    def __init__(self, folder: Path) -> None:
        self.registry, self.reporter = CollectorRegistry(), Reporter("replica-2", "orders.replica-2.cccc")
        metrics = ReplicaMetrics(self.registry, "orders", "replica-2")
        metrics.reported = self.reporter.report
        manifest = load(write_manifest(folder, "orders"))
        incarnation = self.reporter.incarnation
        self.shipping = StateShipping(manifest, NOWHERE, "commits", incarnation, folder, metrics, self.reporter)
        self.shipping._has_followed(5)
        self.shipping._has_proved(4)

    @property
    def shown(self) -> tuple[float | None, float | None]:
        labels = {"job_name": "orders", "replica": "replica-2"}
        names = ("tandem_standby_followed_epoch", "tandem_standby_verified_epoch")
        followed, verified = (self.registry.get_sample_value(name, labels) for name in names)
        return followed, verified


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_a_standby_shows_them(case: Case) -> None:
    assert case.shown == (5, 4)


def test_one_that_is_promoted_follows_nothing_any_more(case: Case, tmp_path: Path) -> None:
    case.shipping.hand_over(tmp_path / "checkpoint")
    assert case.shown == (-1, -1)


def test_a_proof_that_ends_later_does_not_bring_them_back(case: Case) -> None:
    case.shipping.stop()
    case.shipping._has_followed(6)
    case.shipping._has_proved(6)
    assert case.shown == (-1, -1)
