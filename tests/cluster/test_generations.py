"""A change of what the job computes takes over at one exact epoch, and the reader sees every record once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.conftest import with_snapshots
from cluster.jobs import START_S, ClusterJob, manifests, running_job
from cluster.kubernetes import Kubectl, Object
from integration.workload import JOB, Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0


@pytest.fixture
def whole(pair: ClusterJob) -> Iterator[ClusterJob]:
    pair.when_staffed(1, 1)
    pair.when_known_to_work()
    yield pair
    pair.check_exactly_once()


@pytest.fixture
def twins(servers: Cluster, kubectl: Kubectl, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """Two actives and no standby. They come before the pair: all of them together are too much for a small machine."""
    with running_job(kubectl, servers, "twins", **with_snapshots(kubectl)) as job:
        job.when_known_to_work()
        yield job


def candidates(job: ClusterJob) -> list[Object]:
    return job.kubectl.list("pods", f"tandem.dev/job={job.name},app.kubernetes.io/component=candidate")


def test_two_replicas_with_other_code_follow_two(twins: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in twins.pods()}
    code, _ = manifests(twins.cluster, "twins-2", f"{JOB}\n# Other code, as far as anybody can tell.\n")
    twins.kubectl.apply(code)
    with twins.output_goes_on(2 * MASKED_S):
        twins.patch({"job": {"configMap": code["metadata"]["name"]}})
        twins.wait(lambda: len(candidates(twins)) == 2, 120, "two candidates")
        twins.wait(lambda: not before & {pod["metadata"]["name"] for pod in twins.pods()}, 2 * START_S, "new members")
        twins.when_staffed(2, 0)
        twins.wait(lambda: not candidates(twins), START_S, "the candidates are gone")
        twins.flows_on(400)
    twins.check_exactly_once()


def test_another_option_is_another_generation_which_may_begin_with_a_savepoint_that_is_there(whole: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in whole.pods()}
    whole.patch({"savepointNonce": 1})
    whole.wait(lambda: "savepointNonce" in whole.status.get("requests", {}), 120, "a savepoint is requested")
    whole.wait(lambda: whole.status["requests"]["savepointNonce"]["outcome"] == "Done", 120, "and made")
    with whole.output_goes_on(2 * MASKED_S):
        whole.patch({"maxRecordBytes": 900_000, "restoreFrom": "nonce-1"})
        whole.wait(lambda: bool(candidates(whole)), 120, "a candidate is made")
        assert whole.status["upgrade"]["savepoint"] == "nonce-1"
        whole.wait(lambda: not before & {pod["metadata"]["name"] for pod in whole.pods()}, 2 * START_S, "new members")
        whole.when_staffed(1, 1)
        whole.wait(lambda: not candidates(whole), START_S, "the candidates are gone")
        whole.flows_on(400)
    config = whole.status["configHash"]
    assert config["current"] == config["target"]


def test_a_generation_that_does_not_come_up_changes_nothing(whole: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in whole.pods()}
    asked = whole.kubectl.get("rsj", whole.name)["spec"].get("job", {})
    with whole.output_goes_on(MASKED_S):
        whole.patch({"job": {"function": "no_such_function"}})
        whole.wait(lambda: whole.condition("Progressing")[1] == "UpgradeFailed", 2 * START_S, "the upgrade is given up")
        whole.flows_on(400)
    assert {pod["metadata"]["name"] for pod in whole.pods()} == before
    whole.patch({"job": {"function": asked.get("function")}})
    whole.wait(lambda: whole.condition("Progressing")[:2] == ("True", "Complete"), 60, "the change is taken back")
