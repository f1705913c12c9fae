"""Code that lies elsewhere, as in another ConfigMap, begins another generation, if the job can have one."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.plan.events import events_of
from tandem_operator.resources.manifest import config_of, is_other_config
from tandem_operator.status import ConfigHashes, Status, Upgrade
from unit.operator.operator_builders import job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_told import progressing, told

ELSEWHERE = [
    {"file": "job.py", "configMap": "code-2"},
    {"file": "job2.py", "configMap": "code-1"},
    {"module": "flights.job", "configMap": "code-1"},
    {"file": "job.py"},
]


def given(**spec: Any) -> ReplicatedStreamJob:
    return job(**{"replicas": 2, "job": {"file": "job.py", "configMap": "code-1"}, **spec})


def with_snapshots(**spec: Any) -> ReplicatedStreamJob:
    return given(snapshots={"store": "s3://b/x"}, **spec)


def running(job: ReplicatedStreamJob) -> TinyCluster:
    cluster = TinyCluster(job)
    cluster.converge()
    return cluster


@pytest.mark.parametrize("code", ELSEWHERE, ids=str)
def test_a_job_that_takes_snapshots_begins_another_generation_with_it(code: dict[str, str]) -> None:
    cluster = running(with_snapshots())
    before, old = set(cluster.pods), cluster.config
    cluster.change(with_snapshots(job=code))
    reasons = told(cluster, 60)
    cluster.converge()
    assert cluster.config != old
    assert not before & set(cluster.pods)
    assert progressing(cluster)[:2] == ("True", "Complete")
    assert [reason for reason in reasons if reason == "GenerationBegan"] == ["GenerationBegan"]


def test_where_there_are_no_snapshots_it_is_tried_and_what_worked_comes_back_if_the_log_refuses_it() -> None:
    cluster = running(given())
    cluster.change(given(job=ELSEWHERE[0]))
    reasons = told(cluster, 80)
    cluster.converge()
    assert len(cluster.actives()) == 2
    assert {pod.config for pod in cluster.pods.values()} == {cluster.config} == {config_of(given())}
    status, reason, message = progressing(cluster)
    assert (status, reason) == ("False", "RolledBack")
    assert "also change an option" in message
    assert "GenerationBegan" not in reasons


def test_to_an_older_operators_pods_it_is_not_known_where_their_code_was_and_none_is_replaced_for_it() -> None:
    cluster = running(with_snapshots())
    before = set(cluster.pods)
    cluster.config = cluster.config.split("-")[0]
    for pod in cluster.pods.values():
        pod.config = cluster.config
    cluster.status = {**cluster.status, "configHash": {"current": cluster.config, "target": cluster.config}}
    reasons = told(cluster, 10)
    assert set(cluster.pods) == before
    assert progressing(cluster)[:2] == ("True", "Complete")
    assert "GenerationBegan" not in reasons

    cluster.change(with_snapshots(job={"file": "job.py", "configMap": "code-1", "options": {"late": "5"}}))
    assert "GenerationBegan" in told(cluster, 60)
    cluster.converge()
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_the_same_code_from_elsewhere_begins_no_generation_that_could_be_told() -> None:
    old = Status(phase="Running", config_hash=ConfigHashes(current="a-1", target="a-2"))
    told_of = {"phase": "Running", "config_hash": ConfigHashes(current="a-2", target="a-2")}
    assert not events_of(old, Status(**told_of))
    asked_for = old.model_copy(update={"upgrade": Upgrade(revision="r", savepoint="s")})
    assert [event.reason for event in events_of(asked_for, Status(**told_of))] == ["GenerationBegan"]


def test_another_image_is_no_other_configuration_nor_are_counts() -> None:
    one = config_of(with_snapshots())
    same = [given(), with_snapshots(image="a/b:1"), with_snapshots(replicas=3)]
    assert not [other for other in same if is_other_config(one, config_of(other), by_code=True)]


def test_where_the_code_is_counts_only_if_it_is_asked_for_and_known_of_both() -> None:
    assert is_other_config("a-1", "a-2", by_code=True)
    assert not is_other_config("a-1", "a-2", by_code=False)
    assert not is_other_config("a", "a-2", by_code=True)
    assert is_other_config("a-1", "b-1", by_code=False)
