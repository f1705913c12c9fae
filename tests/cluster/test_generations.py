"""A change of what the job computes takes over at one exact epoch, and the reader sees every record once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.jobs import START_S, ClusterJob
from cluster.kubernetes import Object

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0


@pytest.fixture(autouse=True)
def staffed(pair: ClusterJob) -> Iterator[None]:
    pair.when_staffed(1, 1)
    pair.when_known_to_work()
    yield
    pair.check_exactly_once()


def candidates(job: ClusterJob) -> list[Object]:
    return job.kubectl.list("pods", f"tandem.dev/job={job.name},app.kubernetes.io/component=candidate")


def test_another_option_is_another_generation(pair: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in pair.pods()}
    with pair.output_goes_on(2 * MASKED_S):
        pair.patch({"maxRecordBytes": 900_000})
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
        pair.patch({"job": {"function": "no_such_function"}})
        pair.wait(lambda: pair.condition("Progressing")[1] == "UpgradeFailed", 2 * START_S, "the upgrade is given up")
        pair.flows_on(400)
    assert {pod["metadata"]["name"] for pod in pair.pods()} == before
    pair.patch({"job": {"function": asked.get("function")}})
    pair.wait(lambda: pair.condition("Progressing")[:2] == ("True", "Complete"), 60, "the change is taken back")
