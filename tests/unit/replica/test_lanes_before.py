"""Another number of lanes than the job runs with: what to do about it, on this machine and in a pod."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from tandem.kafka.client import KafkaConnection
from tandem.manifest import Manifest
from tandem.protocol.decisions import Decisions
from tandem.replica.lanes_before import how_to_change, lanes_before, with_lanes
from unit.local.test_lane_checks import JOB, begun, written


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
    monkeypatch.setattr("tandem.replica.lanes_before.lanes_with_records", lambda *_: ())
    assert lanes_before(written(tmp_path, JOB)) is None
    assert asked == [one.silent for one in asked]


@pytest.mark.parametrize(
    ("generations", "number"),
    [
        pytest.param({"orders": (2, 1), "orders.lane-0": (4, 2)}, 4, id="1-2-4, the first log was closed by 1-2"),
        pytest.param({"orders": (1, 3), "orders.lane-0": (2, 2)}, 1, id="2-1"),
        pytest.param({"orders": (2, 1), "orders.lane-0": (2, 1)}, 2, id="1-2"),
        pytest.param({"orders.lane-3": (4, 0)}, 4, id="the first lane has not begun"),
        pytest.param({}, None, id="never ran"),
    ],
)
def test_the_number_is_that_of_the_newest_generation(
    generations: dict[str, tuple[int, int]], number: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = written(tmp_path, JOB)

    def decisions_of(lane: Manifest, _: KafkaConnection) -> Decisions:
        decisions = Decisions()
        if lane.name in generations:
            lanes, generation = generations[lane.name]
            decisions.config = replace(begun(with_lanes(job, lanes).lanes[0]), generation=generation)
        return decisions

    def lanes_with_records(job: Manifest, _: KafkaConnection) -> tuple[Manifest, ...]:
        return tuple(lane for lane in with_lanes(job, 4).lanes if lane.name in generations)

    monkeypatch.setattr("tandem.replica.lanes_before.decisions_of", decisions_of)
    monkeypatch.setattr("tandem.replica.lanes_before.lanes_with_records", lanes_with_records)
    assert lanes_before(job) == number


def test_logs_that_are_being_made_keep_no_lane_from_its_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_leader_yet(*_: object) -> tuple[Manifest, ...]:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))

    monkeypatch.setattr("tandem.replica.lanes_before.decisions_of", lambda *_: Decisions())
    monkeypatch.setattr("tandem.replica.lanes_before.lanes_with_records", no_leader_yet)
    job = written(tmp_path, JOB)
    assert lanes_before(job) is None
    with pytest.raises(KafkaException):
        lanes_before(job, must_know=True)
