"""Replicas that are drivers: each computes on executors in pods of its own, which go with it, and may be lost.

The job keeps state, so its checkpoint is on a volume that all of them share.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from cluster.executing import EXECUTOR_S, SMALL, executors, granted_executors, job_with_executors, owner
from cluster.installed import may, no_operator
from cluster.jobs import ClusterJob, manifests, submit
from cluster.kubernetes import Kubectl, Object
from integration.workload import Cluster
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(900)]

MASKED_S = 5.0
GONE_S = 180.0
"""Pods have 45 s to end, and their executors end after them."""


@pytest.fixture(scope="module")
def granted(tandem: str) -> Iterator[None]:
    with granted_executors(tandem):
        yield


@pytest.fixture(scope="module")
def spread(servers: Cluster, granted: None) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be so
    """Two replicas with an executor each, on three nodes."""
    with job_with_executors(servers, "spread") as job:
        yield job


def nodes(job: ClusterJob, replica: str) -> set[str]:
    """Where a replica and its executors are."""
    return {pod["spec"]["nodeName"] for pod in (job.pod_of(replica), *executors(job, replica))}


def said(kubectl: Kubectl, name: str) -> str:
    """All that the job's conditions say."""
    conditions = kubectl.get("rsj", name).get("status", {}).get("conditions", ())
    return " ".join(condition["message"] for condition in conditions)


def test_an_operator_that_may_not_grant_executors_says_how_it_may(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    kubectl.apply(*manifests(servers, "request", **SMALL))
    kubectl.wait(lambda: "executors.enabled: true" in said(kubectl, "request"), 60, "a condition with the remedy")
    assert not kubectl.list("pods", "tandem.dev/job=request")


def test_state_that_executors_cannot_share_is_refused_with_what_to_do(
    kubectl: Kubectl,
    servers: Cluster,
    granted: None,  # noqa: ARG001, it must be so
) -> None:
    name = f"apart-{uuid.uuid4().hex[:6]}"
    submit(kubectl, servers, name, replicas=1, **SMALL)
    kubectl.wait(lambda: "ReadWriteMany" in said(kubectl, name), 240, "a condition with the remedy")
    kubectl("delete", "rsj", name, "--wait")


def test_each_replica_computes_on_executors_of_its_own_and_never_on_a_node_of_the_other(spread: ClusterJob) -> None:
    for replica in ("replica-0", "replica-1"):
        (executor,) = executors(spread, replica)
        assert owner(executor) == spread.pod_of(replica)["metadata"]["name"]
    places = {replica: nodes(spread, replica) for replica in ("replica-0", "replica-1")}
    print(f"{spread.name}: {places}")
    assert not places["replica-0"] & places["replica-1"]
    spread.check_exactly_once()


def test_the_jobs_account_may_manage_pods_and_nothing_else(spread: ClusterJob) -> None:
    namespace = spread.kubectl.namespace
    account = f"system:serviceaccount:{namespace}:{spread.name}"
    assert may(account, "create pods", namespace)
    assert not any(may(account, f"get {what}", namespace) for what in ("secrets", "configmaps", "replicatedstreamjobs"))


def test_a_lost_executor_is_replaced_and_the_reader_notices_nothing(spread: ClusterJob) -> None:
    replica = spread.publisher()
    (lost,) = executors(spread, replica)
    with spread.output_goes_on(MASKED_S):
        spread.kubectl("delete", "pod", lost["metadata"]["name"], "--grace-period=0", "--force", timeout_s=90)
        spread.flows_on(400)
    spread.wait(lambda: names(executors(spread, replica)) - names([lost]) != set(), EXECUTOR_S, "another executor")
    published = spread.reader.newest
    spread.wait(lambda: spread.epochs()[replica] >= published, EXECUTOR_S, "it has computed what the other published")
    spread.when_ready()
    spread.check_exactly_once()


def test_the_executors_of_a_lost_replica_go_with_it_and_its_successor_has_its_own(spread: ClusterJob) -> None:
    replica = spread.publisher()
    lost = spread.pod_of(replica)["metadata"]["name"]
    with spread.output_goes_on(MASKED_S):
        spread.kubectl("delete", "pod", lost, "--grace-period=0", "--force", timeout_s=90)
        spread.flows_on(400)
    spread.wait(lambda: lost not in map(owner, executors(spread, replica)), 60, "the end of its executors")
    spread.when_ready()
    assert [owner(pod) for pod in executors(spread, replica)] == [spread.pod_of(replica)["metadata"]["name"]]
    spread.check_exactly_once()


def test_nothing_is_left_of_a_job_that_is_deleted_while_no_operator_runs(spread: ClusterJob, tandem: str) -> None:
    """The last test here: afterwards the job is gone."""
    users = {f"configmap/{spread.name}-code", "persistentvolumeclaim/state"}
    with no_operator(tandem):
        assert spread.kubectl.everything() > users
        spread.delete()
        wait_until(lambda: spread.kubectl.everything() == users, Deadline(GONE_S), 1.0)
        assert spread.kubectl.everything() == users


def names(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}
