"""A rolling change whose pods fail is rolled back, and the reader notices nothing of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.jobs import START_S, ClusterJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0
SOON_S = 45
NO_JVM = {"name": "replica", "env": [{"name": "JAVA_TOOL_OPTIONS", "value": "-XX:+NoSuchOption"}]}


@pytest.fixture(autouse=True)
def whole(two: ClusterJob) -> Iterator[None]:
    two.when_ready()
    two.wait(lambda: progressing(two)[1] == "Complete" and is_good(two), 60, "what runs is known to work")
    yield
    two.check_exactly_once()


def patch(job: ClusterJob, spec: dict[str, Any]) -> None:
    job.kubectl("patch", "rsj", job.name, "--type=merge", "-p", json.dumps({"spec": spec}))


def progressing(job: ClusterJob) -> tuple[str, str, str]:
    found = next((one for one in job.status.get("conditions", ()) if one["type"] == "Progressing"), None)
    return (found["status"], found["reason"], found["message"]) if found else ("", "", "")


def is_good(job: ClusterJob) -> bool:
    revision = job.status.get("revision", {})
    return bool(revision.get("current")) and revision["current"] == revision["target"]


def made_from(job: ClusterJob) -> set[str]:
    return {pod["metadata"]["annotations"]["tandem.dev/template"] for pod in job.pods()}


def rolled_back(job: ClusterJob, good: set[str]) -> str:
    """Wait until the job runs as before; what it says about that."""
    job.wait(lambda: progressing(job)[1] == "RolledBack", 2 * START_S, "the job is rolled back")
    assert made_from(job) == good
    assert job.status["revision"]["failed"] == job.status["revision"]["target"]
    told = json.loads(job.kubectl("get", "events", "-o", "json", "--field-selector", "reason=RolledBack"))["items"]
    assert any(event["involvedObject"]["name"] == job.name for event in told)
    status, _, message = progressing(job)
    assert status == "False"
    return message


def test_an_image_that_does_not_exist_is_gone_back_from(two: ClusterJob) -> None:
    good = made_from(two)
    with two.output_goes_on(MASKED_S):
        patch(two, {"image": "example.com/no/such:1", "progressDeadlineSeconds": SOON_S})
        said = rolled_back(two, good)
        two.flows_on(400)
    assert f"is not at the head after {SOON_S} s" in said

    before = {pod["metadata"]["name"] for pod in two.pods()}
    patch(two, {"image": None, "progressDeadlineSeconds": 600})
    two.wait(lambda: progressing(two)[:2] == ("True", "Complete"), 60, "the change is taken back")
    assert {pod["metadata"]["name"] for pod in two.pods()} == before


def test_a_setting_with_which_replicas_end_again_and_again_is_gone_back_from(two: ClusterJob) -> None:
    good, containers = made_from(two), two.kubectl.get("rsj", two.name)["spec"]["podTemplate"]["spec"]["containers"]
    with two.output_goes_on(MASKED_S):
        patch(two, {"podTemplate": {"spec": {"containers": [NO_JVM]}}})
        said = rolled_back(two, good)
        two.flows_on(400)
    assert "ended 3 times" in said or "refuses to run" in said
    patch(two, {"podTemplate": {"spec": {"containers": containers}}})
