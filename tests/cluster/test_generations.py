"""A change of what the job computes takes over at one exact epoch, and the reader sees every record once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.jobs import START_S, ClusterJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0


@pytest.fixture(autouse=True)
def staffed(pair: ClusterJob) -> Iterator[None]:
    pair.when_staffed(1, 1)
    pair.wait(lambda: progressing(pair)[1] == "Complete" and is_good(pair), 60, "what runs is known to work")
    yield
    pair.check_exactly_once()


def patch(job: ClusterJob, spec: dict[str, Any]) -> None:
    job.kubectl("patch", "rsj", job.name, "--type=merge", "-p", json.dumps({"spec": spec}))


def progressing(job: ClusterJob) -> tuple[str, str, str]:
    found = next((one for one in job.status.get("conditions", ()) if one["type"] == "Progressing"), None)
    return (found["status"], found["reason"], found["message"]) if found else ("", "", "")


def is_good(job: ClusterJob) -> bool:
    revision = job.status.get("revision", {})
    return bool(revision.get("current")) and revision["current"] == revision["target"]


def candidates(job: ClusterJob) -> list[Any]:
    return job.kubectl.list("pods", f"tandem.dev/job={job.name},app.kubernetes.io/component=candidate")


def test_another_option_is_another_generation(pair: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in pair.pods()}
    with pair.output_goes_on(2 * MASKED_S):
        patch(pair, {"maxRecordBytes": 900_000})
        pair.wait(lambda: bool(candidates(pair)), 120, "a candidate is made")
        pair.wait(lambda: not before & {pod["metadata"]["name"] for pod in pair.pods()}, 2 * START_S, "new members")
        pair.when_staffed(1, 1)
        pair.wait(lambda: not candidates(pair), START_S, "the candidates are gone")
        pair.flows_on(400)
    config = pair.status["configHash"]
    assert config["current"] == config["target"]


def test_a_generation_that_does_not_come_up_changes_nothing(pair: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in pair.pods()}
    asked = pair.kubectl.get("rsj", pair.name)["spec"].get("job", {})
    with pair.output_goes_on(MASKED_S):
        patch(pair, {"job": {"function": "no_such_function"}})
        pair.wait(lambda: progressing(pair)[1] == "UpgradeFailed", 2 * START_S, "the upgrade is given up")
        pair.flows_on(400)
    assert {pod["metadata"]["name"] for pod in pair.pods()} == before
    patch(pair, {"job": {"function": asked.get("function")}})
    pair.wait(lambda: progressing(pair)[:2] == ("True", "Complete"), 60, "the change is taken back")
