"""What cannot go on with another number of lanes is refused before anything is written, each with what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.local.lane_checks import check_changeable, check_same, is_changed
from tandem.manifest import Manifest, config_parts, find_code, load
from tandem.process.info import RefusedError
from tandem.protocol.values import Config, Offsets
from tandem.replica.identity_parts import identity_of, plan_parts, with_number_of_lanes, with_plan
from tandem.replica.lanes_before import with_lanes

JOB = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: orders}
spec:
  lanes: 4
  job: {file: job.py, options: {version: "1"}}
  kafka: {bootstrapServers: "kafka:9092"}
  zookeeper: {connect: "zookeeper:2181"}
  sources: [{name: orders, topics: [orders]}]
  sinks: [{name: out, topic: out}]
"""
PLAN = plan_parts({"constants": "c"}, {})


@pytest.fixture
def job(tmp_path: Path) -> Manifest:
    return written(tmp_path, JOB)


def written(folder: Path, text: str) -> Manifest:
    (folder / "job.py").write_text("def job(orders):\n    return orders\n")
    (folder / "job.yaml").write_text(text)
    return load(folder / "job.yaml")


def begun(lane: Manifest) -> Config:
    """The config of a lane that runs."""
    digest = with_plan(identity_of(config_parts(lane, find_code(lane).content)), PLAN)
    return Config(0, digest, Offsets(), "replica-0")


def test_a_job_of_topics_with_enough_partitions_can_change(job: Manifest) -> None:
    check_changeable(job, 2, {"orders": 4})


REFUSED = {
    "no agreement": (
        "  zookeeper:",
        "  ordering: {mode: none}\n  delivery: atLeastOnce\n  zookeeper:",
        "ordering.mode: none",
    ),
    "a table": (
        "sources: [",
        'sources: [{name: prices, topics: [prices], format: json, schema: "id STRING", table: {key: [id]}}, ',
        r"tables from topics cannot change: .* Set it to 2, as before",
    ),
    "partitions of a lane": (
        "{name: out, topic: out}",
        "{name: out, topic: out, partitionBy: lane}",
        r"partitionBy: lane, out\): keys would go to other partitions.* Set it to 2, as before",
    ),
    "another sink": (
        "sinks: [",
        "sinks: [{name: files, parquet: {path: /tmp/files}}, ",
        r"no Kafka topics \(files\): .* Set it to 2, as before",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), REFUSED.values(), ids=REFUSED)
def test_what_lanes_do_not_divide_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        check_changeable(written(tmp_path, JOB.replace(old, new)), 2, {"orders": 4})


def test_lanes_that_would_read_nothing_are_refused(job: Manifest) -> None:
    with pytest.raises(RefusedError, match=r"spec\.lanes is 4, but topic orders has 2 partitions"):
        check_changeable(job, 2, {"orders": 2})


@pytest.mark.parametrize("before", [1, 2, 3])
def test_the_number_of_lanes_alone_may_change(job: Manifest, before: int) -> None:
    for lane in with_lanes(job, before).lanes:
        check_same(lane, begun(lane), PLAN, before)


def test_a_log_that_another_try_has_written_is_known(job: Manifest) -> None:
    before = begun(with_lanes(job, 2).lanes[0])
    moved = replace(before, generation=1, digest=with_number_of_lanes(before.digest, 4), moved=True)
    assert [is_changed(config, 4) for config in (before, moved, replace(moved, moved=False))] == [False, True, False]
    assert not is_changed(moved, 2)


def test_code_that_has_changed_as_well_is_refused(job: Manifest) -> None:
    lane = with_lanes(job, 2).lanes[1]
    config = begun(lane)
    (lane.base / "job.py").write_text("def job(orders):\n    return orders.limit(3)\n")
    with pytest.raises(
        RefusedError, match=r"more than spec\.lanes has changed: .*the job's code .*set spec\.lanes to 2"
    ):
        check_same(lane, config, PLAN, 2)


def test_a_plan_that_has_changed_as_well_is_refused(job: Manifest) -> None:
    lane = with_lanes(job, 2).lanes[0]
    with pytest.raises(RefusedError, match=r"more than spec\.lanes has changed: different is constants"):
        check_same(lane, begun(lane), plan_parts({"constants": "another"}, {}), 2)


@pytest.mark.parametrize("lanes", [1, 3])
def test_the_log_of_a_lane_that_ended_is_that_of_the_same_job_with_another_number(job: Manifest, lanes: int) -> None:
    lane = with_lanes(job, 2).lanes[1]
    ended = begun(lane).digest
    assert with_number_of_lanes(with_number_of_lanes(ended, lanes), 2) == ended
    assert with_number_of_lanes(ended, lanes) != ended
