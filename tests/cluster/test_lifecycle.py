"""What users do to a running job: the reader notices nothing of it, or what was asked for.

One job for all: each test begins when one replica is active and one stands by, and ends with everything accounted for.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.commands import one_of, plugin
from cluster.jobs import START_S, ClusterJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MASKED_S = 8.0
FIRST_OUTPUT_S = 180.0
"""From `kubectl apply` to the first output, where the nodes have the image; the figure is printed (`-s`)."""


@pytest.fixture(autouse=True)
def staffed(pair: ClusterJob) -> Iterator[None]:
    pair.when_staffed(1, 1)
    yield
    pair.check_exactly_once()


def test_the_first_output_came_soon_after_the_job_was_applied(pair: ClusterJob) -> None:
    print(f"{pair.name}: the first output came {pair.first_output_s:.1f} s after kubectl apply")
    assert pair.first_output_s <= FIRST_OUTPUT_S


def test_a_promoted_standby_takes_over(pair: ClusterJob) -> None:
    active, standby = one_of(pair, "active"), one_of(pair, "standby")
    with pair.output_goes_on(MASKED_S):
        plugin(pair, "promote", standby)
        pair.flows_on(400)
    pair.wait(lambda: pair.roles() == {standby: "active", active: "standby"}, 60, f"{standby} is shown as active")
    assert f"by {standby}" in plugin(pair, "status")
    told = pair.kubectl("describe", "rsj", pair.name).partition("Events:")[2]
    assert f"promote {standby}@" in told


@pytest.mark.thorough
def test_a_killed_active_is_replaced_by_the_standby_and_the_job_is_whole_again(pair: ClusterJob) -> None:
    active, standby = one_of(pair, "active"), one_of(pair, "standby")
    name = pair.pod_of(active)["metadata"]["name"]
    with pair.output_goes_on(MASKED_S):
        pair.kubectl("delete", "pod", name, "--grace-period=0", "--force")
        pair.flows_on(400)
    pair.wait(lambda: pair.roles() == {standby: "active", active: "standby"}, START_S, f"{active} is back")
    failover = pair.status["lastFailover"]
    assert (failover["from"], failover["to"]) == (active, standby)


@pytest.mark.thorough
def test_an_active_that_is_deleted_with_grace_ends_when_the_standby_has_its_slot(pair: ClusterJob) -> None:
    pair.wait(lambda: pair.is_true("StandbyFresh"), 120, "the standby has proved its state")
    active, standby = one_of(pair, "active"), one_of(pair, "standby")
    name = pair.pod_of(active)["metadata"]["name"]
    following = pair.kubectl.meanwhile("logs", "--follow", "--tail=0", name, "--container=replica")
    with pair.output_goes_on(MASKED_S), following as said:
        pair.kubectl("delete", "pod", name, timeout_s=90)
        pair.flows_on(400)
    assert any('"event": "handed_over"' in line for line in said), "\n".join(said)
    pair.wait(lambda: pair.roles() == {standby: "active", active: "standby"}, START_S, f"{active} is back")


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["drain", "fence"])
def test_a_drained_or_fenced_active_is_relieved_and_gets_another_pod(pair: ClusterJob, command: str) -> None:
    active, standby = one_of(pair, "active"), one_of(pair, "standby")
    before = pair.pod_of(active)["metadata"]["name"]
    with pair.output_goes_on(MASKED_S):
        assert f"{active} has left its pod" in plugin(pair, command, active)
        pair.flows_on(400)
    pair.wait(lambda: pair.roles() == {standby: "active", active: "standby"}, START_S, f"{active} stands by")
    assert pair.pod_of(active)["metadata"]["name"] != before


def test_logs_are_those_of_all_processes_of_the_job(pair: ClusterJob) -> None:
    shown = plugin(pair, "logs", "--tail=5")
    for pod in pair.pods():
        for container in ("replica", "orderer"):
            assert f"[pod/{pod['metadata']['name']}/{container}]" in shown


def test_savepoints_that_are_requested_by_name_or_by_nonce_are_there(pair: ClusterJob) -> None:
    plugin(pair, "savepoint", "before-the-upgrade")
    pair.patch({"savepointNonce": 7})
    pair.wait(lambda: "savepointNonce" in pair.status.get("requests", {}), 60, "the nonce's request is known")
    pair.wait(lambda: pair.status["requests"]["savepointNonce"]["outcome"] != "Pending", START_S, "and carried out")
    assert (
        pair.status["requests"]["savepointNonce"]["value"],
        pair.status["requests"]["savepointNonce"]["outcome"],
    ) == (
        "7",
        "Done",
    )
    command = ("tandem", "savepoint", "list", "/etc/tandem/job/job.yaml")
    pod = pair.pods()[0]["metadata"]["name"]
    there = pair.kubectl("exec", pod, "-c", "replica", "--", *command)
    assert "before-the-upgrade" in there
    assert "nonce-7" in there


def test_a_rolling_upgrade_is_not_noticed(pair: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in pair.pods()}
    with pair.output_goes_on(MASKED_S):
        pair.patch({"resources": {"requests": {"cpu": "150m", "memory": "1Gi"}}})
        pair.wait(lambda: not before & {pod["metadata"]["name"] for pod in pair.pods()}, 300, "all pods are new")
        pair.when_staffed(1, 1)


@pytest.mark.thorough
def test_another_replica_joins_and_leaves_as_the_job_is_scaled(pair: ClusterJob) -> None:
    with pair.output_goes_on(MASKED_S):
        pair.kubectl("scale", f"rsj/{pair.name}", "--replicas=2")
        pair.when_staffed(2, 1)
        pair.kubectl("scale", f"rsj/{pair.name}", "--replicas=1")
        pair.when_staffed(1, 1)
        pair.wait(lambda: len(pair.pods()) == 2, 120, "one pod has left")


def test_a_suspended_job_goes_on_where_it_was(pair: ClusterJob) -> None:
    plugin(pair, "suspend")
    pair.wait(lambda: not pair.pods(), 120, "its pods are gone")
    pair.wait(lambda: pair.status["phase"] == "Suspended", 30, "it says so")
    plugin(pair, "resume")
    ready = ("wait", "--for=condition=Ready", f"rsj/{pair.name}", f"--timeout={START_S:.0f}s")
    pair.kubectl(*ready, timeout_s=START_S + 20)
    pair.when_ready(START_S)
    pair.flows_on(400)
