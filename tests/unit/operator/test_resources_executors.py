"""What Spark is told about the executors of a replica, and what it makes their pods from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tandem.manifest import ReplicatedStreamJob, parse
from tandem_operator.observed import Component
from tandem_operator.resources.manifest import runtime_tree
from tandem_operator.resources.names import INDEX
from tandem_operator.resources.objects import wanted_objects
from tandem_operator.resources.pods import pod
from tandem_operator.resources.tasks import promotion
from tandem_operator.resources.tolerations import lost_node
from unit.operator.operator_builders import SETTINGS, UID, job

EXECUTORS = {"instances": 2, "cores": 4, "memory": "2g"}
VOLUME = {"name": "state", "persistentVolumeClaim": {"claimName": "state"}}
MOUNT = {"name": "state", "mountPath": "/state"}


def with_executors(**spec: Any) -> ReplicatedStreamJob:
    return job(executors=EXECUTORS, **spec)


def member(of: ReplicatedStreamJob, index: int = 0) -> dict[str, Any]:
    return pod(of, UID, SETTINGS, Component.MEMBER, index, f"flights-replica-{index}-abcde")


def environment(of: ReplicatedStreamJob, index: int = 0) -> dict[str, str]:
    """The variables of a replica as its process finds them: Kubernetes halves each doubled $."""
    replica = next(one for one in member(of, index)["spec"]["containers"] if one["name"] == "replica")
    return {variable["name"]: variable.get("value", "").replace("$$", "$") for variable in replica["env"]}


def executor(of: ReplicatedStreamJob, index: int = 0) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(environment(of, index)["TANDEM_EXECUTOR_POD"])
    return made


def container(made: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in made["spec"]["containers"] if one["name"] == "executor")


def test_without_executors_a_replica_is_told_nothing_and_has_no_token() -> None:
    assert not [name for name in environment(job()) if name.startswith("TANDEM_")]
    assert member(job())["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    "name",
    [
        "spark.executor.memoryOverhead",
        "spark.kubernetes.executor.request.cores",
        "spark.task.maxFailures",
        "spark.executor.memory",
    ],
)
def test_settings_of_executors_that_the_api_server_takes_the_replicas_take_too(name: str) -> None:
    """They read a manifest without most of what concerns Kubernetes, and check it again."""
    given = with_executors(spark={"conf": {name: "2g"}}, checkpoint={"directory": "/state"})

    assert parse(runtime_tree(given)).spec.spark.conf == {name: "2g"}
    assert "executors" not in runtime_tree(job())["spec"]


def test_executors_belong_to_their_driver_and_are_as_many_and_as_large_as_asked_for() -> None:
    names = list(environment(with_executors()))
    assert names.index("POD_IP") < names.index("TANDEM_SPARK_CONF")
    conf = json.loads(environment(with_executors())["TANDEM_SPARK_CONF"])
    assert conf["spark.kubernetes.driver.pod.name"] == "$(POD_NAME)"
    assert conf["spark.driver.host"] == "$(POD_IP)"
    assert (conf["spark.executor.instances"], conf["spark.executor.cores"]) == ("2", "4")
    assert member(with_executors())["spec"]["automountServiceAccountToken"] is True


def test_no_executor_is_on_the_node_of_another_replica_or_of_its_executors_and_no_replica_on_theirs() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = executor(with_executors(), 1)["spec"]["affinity"]["podAntiAffinity"][required]
    assert {term["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] for term in terms} == {
        "member",
        "executor",
    }
    for term in terms:
        assert term["labelSelector"]["matchExpressions"] == [{"key": INDEX, "operator": "NotIn", "values": ["1"]}]
    (near,) = executor(with_executors(), 1)["spec"]["affinity"]["podAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert near["podAffinityTerm"]["labelSelector"]["matchLabels"] == {"tandem.dev/job": "flights", INDEX: "1"}
    apart, from_executors = member(with_executors(), 1)["spec"]["affinity"]["podAntiAffinity"][required]
    assert "matchExpressions" not in apart["labelSelector"]
    assert from_executors["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "executor"


def test_an_executors_pod_meets_the_restricted_standard_and_may_do_nothing_in_the_cluster() -> None:
    spec = executor(with_executors())["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["serviceAccountName"] == "flights"
    assert spec["securityContext"]["runAsNonRoot"] is True
    security = container(executor(with_executors()))["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}


def test_what_spark_shuffles_lies_in_memory_and_what_it_fetches_can_be_written() -> None:
    made = executor(with_executors())
    (volume,) = (one for one in made["spec"]["volumes"] if one["name"].startswith("spark-local-dir-"))
    assert volume["emptyDir"] == {"medium": "Memory"}
    assert {"name": volume["name"], "mountPath": "/dev/shm"} in container(made)["volumeMounts"]  # noqa: S108
    assert container(made)["workingDir"] == "/tmp"  # noqa: S108


def test_executors_find_the_jobs_code_where_their_driver_does() -> None:
    of = with_executors(job={"file": "job.py", "configMap": "code"})
    assert {"name": "job", "mountPath": "/etc/tandem/job", "readOnly": True} in container(executor(of))["volumeMounts"]
    volume = next(one for one in executor(of)["spec"]["volumes"] if one["name"] == "job")
    assert volume["projected"]["sources"] == [{"configMap": {"name": "code"}}]
    assert "job" not in [one["name"] for one in executor(with_executors())["spec"]["volumes"]]


def test_executors_get_the_volumes_mounts_and_variables_of_the_replica_but_not_its_resources() -> None:
    replica = {
        "name": "replica",
        "env": [{"name": "HOME_OF", "value": "$(HOME)"}],
        "volumeMounts": [MOUNT],
        "resources": {"limits": {"memory": "4Gi"}},
    }
    of = with_executors(
        podTemplate={"spec": {"containers": [replica], "volumes": [VOLUME], "priorityClassName": "high"}}
    )
    made = executor(of)
    assert VOLUME in made["spec"]["volumes"]
    assert made["spec"]["priorityClassName"] == "high"
    assert MOUNT in container(made)["volumeMounts"]
    assert container(made)["env"] == [{"name": "HOME_OF", "value": "$(HOME)"}]
    assert "resources" not in container(made)
    assert [one["name"] for one in made["spec"]["containers"]] == ["executor"]


def test_kubernetes_fills_nothing_into_the_executors_pod_that_is_meant_for_later() -> None:
    replica = {"name": "replica", "env": [{"name": "ME", "value": "$(POD_IP)"}]}
    of = with_executors(podTemplate={"spec": {"containers": [replica]}})
    env = next(one for one in member(of)["spec"]["containers"] if one["name"] == "replica")["env"]
    raw = next(variable["value"] for variable in env if variable["name"] == "TANDEM_EXECUTOR_POD")
    assert "$$(POD_IP)" in raw
    assert "$(POD_IP)" not in raw.replace("$$", "")


def test_what_the_template_says_of_executors_is_for_them_alone() -> None:
    own = {"name": "executor", "env": [{"name": "ONLY", "value": "here"}]}
    gpu = {"key": "gpu", "operator": "Exists"}
    of = with_executors(podTemplate={"spec": {"containers": [own], "tolerations": [gpu]}})
    assert container(executor(of))["env"] == own["env"]
    assert [one["name"] for one in member(of)["spec"]["containers"]] == ["replica", "orderer"]
    assert executor(of)["spec"]["tolerations"] == [*lost_node(), gpu]


def test_a_changed_template_or_size_of_executors_makes_other_pods() -> None:
    def template(of: ReplicatedStreamJob) -> str:
        made: str = member(of)["metadata"]["annotations"]["tandem.dev/template"]
        return made

    larger = job(executors={**EXECUTORS, "memory": "3g"})
    assert len({template(job()), template(with_executors()), template(larger)}) == 3


def test_tasks_manage_no_executors() -> None:
    task = promotion(with_executors(), UID, SETTINGS, "replica-0", "")
    assert task["spec"]["automountServiceAccountToken"] is False


def test_tasks_run_on_the_nodes_that_the_job_may_run_on_also_beside_its_members() -> None:
    arch = {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
    nodes = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [arch]}}
    task = promotion(job(podTemplate={"spec": {"affinity": {"nodeAffinity": nodes}}}), UID, SETTINGS, "replica-0", "")

    assert task["spec"]["affinity"] == {"nodeAffinity": nodes}
    assert "affinity" not in promotion(job(), UID, SETTINGS, "replica-0", "")["spec"]


def test_scrapers_are_not_sent_to_executors() -> None:
    (service,) = (one for one in wanted_objects(with_executors(), UID, SETTINGS) if one["kind"] == "Service")
    labels = executor(with_executors())["metadata"]["labels"]
    assert not service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= member(with_executors())["metadata"]["labels"].items()
