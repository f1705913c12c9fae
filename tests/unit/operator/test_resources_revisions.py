"""What a revision of a job holds, and that the job comes back from it as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tandem_operator.observed import Component
from tandem_operator.resources.pods import template
from tandem_operator.resources.revisions import content_of, digest_of, job_of, revision
from unit.operator.operator_builders import SETTINGS, UID, job

MANY: dict[str, Any] = {
    "image": "example.com/flights:1",
    "restartNonce": 3,
    "ordering": {"mode": "heartbeat", "generators": 3, "minEpochInterval": "1s"},
    "job": {"file": "job.py", "configMap": "code", "options": {"late": "5"}},
    "takeOver": {"minBound": "200ms"},
    "podTemplate": {
        "spec": {"affinity": None, "containers": [{"name": "replica", "env": [{"name": "A", "value": "1"}]}]}
    },
    "snapshots": {"store": "s3://b/x", "secretProperties": {"key": {"secretKeyRef": {"name": "s3", "key": "id"}}}},
}


DEFAULTED: dict[str, Any] = {
    "resources": {"requests": {"memory": "1Gi"}, "limits": {}},
    "job": {"file": "job.py", "function": "job", "options": {}},
    "standbys": 0,
    "suspend": False,
    "takeOver": {"minBound": "50ms", "maxBound": "500ms"},
}
"""With what the API server fills in."""


@pytest.mark.parametrize("spec", [{}, MANY, DEFAULTED], ids=["plain", "many", "defaulted"])
def test_pods_of_a_job_that_comes_back_are_those_that_it_had(spec: dict[str, Any]) -> None:
    was = job(**spec)
    kept = json.loads(json.dumps(revision(was, UID, SETTINGS, 1)))  # as over the network
    back = job_of(kept["data"]["spec"], job(image="example.com/other:2", ordering=spec.get("ordering", {})))

    assert back is not None
    for component in Component:
        assert template(back, SETTINGS, component) == template(was, SETTINGS, component)
    assert digest_of(back, SETTINGS) == digest_of(was, SETTINGS)


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 3},
        {"standbys": 1},
        {"suspend": True},
        {"savepointNonce": 4},
        {"deletionPolicy": "Delete"},
        {"progressDeadlineSeconds": 9},
        {"revisionHistoryLimit": 2},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_what_only_the_operator_reads_makes_no_other_revision(spec: dict[str, Any]) -> None:
    assert digest_of(job(**spec), SETTINGS) == digest_of(job(), SETTINGS)


def test_counts_and_what_only_the_operator_reads_are_those_of_today() -> None:
    now = {
        "replicas": 3,
        "standbys": 1,
        "suspend": True,
        "savepointNonce": 7,
        "progressDeadlineSeconds": 9,
        "revisionHistoryLimit": 2,
        "ordering": {"mode": "heartbeat", "generators": 4},
    }
    back = job_of(content_of(job(**MANY), SETTINGS), job(**now))

    assert back is not None
    assert (back.spec.replicas, back.spec.standbys, back.spec.suspend) == (3, 1, True)
    assert (back.spec.savepoint_nonce, back.spec.restart_nonce) == (7, 3)
    assert (back.spec.progress_deadline_seconds, back.spec.revision_history_limit) == (9, 2)
    assert (back.spec.ordering.generators, back.spec.image) == (4, "example.com/flights:1")
    assert digest_of(job(**now), SETTINGS) == digest_of(job(ordering={"mode": "heartbeat"}), SETTINGS)


def test_a_job_that_names_no_image_is_of_another_revision_when_the_operator_gives_it_another_one() -> None:
    later = replace(SETTINGS, image="example.com/tandem:2")

    assert digest_of(job(), SETTINGS) != digest_of(job(), later)
    assert digest_of(job(image=SETTINGS.image), later) == digest_of(job(), SETTINGS)


def test_each_is_an_object_of_its_own_that_goes_with_the_job() -> None:
    first, third = revision(job(), UID, SETTINGS, 1), revision(job(), UID, SETTINGS, 3)

    assert first["metadata"]["name"] != third["metadata"]["name"]
    assert (third["revision"], third["data"]) == (3, first["data"])
    assert [owner["uid"] for owner in third["metadata"]["ownerReferences"]] == [UID]


def test_one_that_is_no_good_job_by_todays_rules_is_none() -> None:
    assert job_of({"job": {}}, job()) is None
