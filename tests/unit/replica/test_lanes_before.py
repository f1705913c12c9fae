"""Another number of lanes than the job runs with: what to do about it, on this machine and in a pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.kafka.client import KafkaConnection
from tandem.manifest import Manifest
from tandem.protocol.decisions import Decisions
from tandem.replica.lanes_before import how_to_change, lanes_before
from unit.local.test_lane_checks import JOB, written


def test_on_this_machine_a_command_changes_it() -> None:
    said = how_to_change(2, "tandem run orders.yaml --accept-changes")
    assert said.startswith("Set it to 2, as before")
    assert "`tandem run orders.yaml --accept-changes`" in said


def test_in_a_pod_the_number_is_applied() -> None:
    said = how_to_change(2, "")
    assert "`kubectl apply` the whole job with spec.lanes: 2" in said
    assert "the operator divides its state" in said
    assert "tandem run" not in said


def test_a_job_without_lanes_gets_some_on_kubernetes_as_any_other_number() -> None:
    said = how_to_change(1, "")
    assert "kubectl apply" in said
    assert "spec.lanes: 1" in said
    assert "divides its state" in said


def test_looking_for_the_number_logs_nothing_of_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[KafkaConnection] = []

    def decisions_of(_: Manifest, connection: KafkaConnection) -> Decisions:
        asked.append(connection)
        return Decisions()

    monkeypatch.setattr("tandem.replica.lanes_before.decisions_of", decisions_of)
    assert lanes_before(written(tmp_path, JOB)) is None
    assert asked == [one.silent for one in asked]
