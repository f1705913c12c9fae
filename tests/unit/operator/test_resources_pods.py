"""What the pods of a job are made of."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import Component
from tandem_operator.resources.manifest import config_map_name, config_of
from tandem_operator.resources.names import CONFIG, DEFAULT_CONTAINER, MANIFEST, TEMPLATE
from tandem_operator.resources.pods import dated, pod, template
from unit.operator.operator_builders import SETTINGS, UID, job


def _pod(of: ReplicatedStreamJob, component: Component = Component.MEMBER, index: int = 0) -> dict[str, Any]:
    return pod(of, UID, SETTINGS, component, index, f"flights-replica-{index}-abcde")


def _container(made: dict[str, Any], name: str) -> dict[str, Any]:
    return next(container for container in made["spec"]["containers"] if container["name"] == name)


def test_a_member_is_a_replica_with_an_orderer_beside_it() -> None:
    made = _pod(job(), index=2)
    assert [container["name"] for container in made["spec"]["containers"]] == ["replica", "orderer"]
    replica, orderer = (_container(made, name)["args"] for name in ("replica", "orderer"))
    assert replica[:6] == ["python", "-m", "tandem.replica", "/etc/tandem/job/job.yaml", "--name", "replica-2"]
    assert replica[replica.index("--metrics-port") + 1] == "9400"
    assert orderer[4:8] == ["--name", "orderer-2", "--replica", "replica-2"]
    assert orderer[orderer.index("--metrics-port") + 1] == "9401"


def test_with_heartbeats_members_have_no_orderer_and_generators_have_one_container() -> None:
    beating = job(ordering={"mode": "heartbeat"})
    assert [container["name"] for container in _pod(beating)["spec"]["containers"]] == ["replica"]
    generator = _pod(beating, Component.GENERATOR, 1)
    assert [container["name"] for container in generator["spec"]["containers"]] == ["generator"]
    assert "generator-1" in _container(generator, "generator")["args"]


def test_a_pod_belongs_to_its_job_and_can_be_found_by_it() -> None:
    meta = _pod(job(), index=1)["metadata"]
    assert meta["namespace"] == "streaming"
    assert meta["labels"] == {
        "app.kubernetes.io/name": "tandem",
        "app.kubernetes.io/instance": "flights",
        "app.kubernetes.io/component": "member",
        "app.kubernetes.io/managed-by": "tandem-operator",
        "tandem.dev/job": "flights",
        "tandem.dev/index": "1",
        "tandem.dev/role": "starting",
    }
    owner = meta["ownerReferences"][0]
    assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (UID, True, False)


def test_a_pod_meets_the_restricted_standard() -> None:
    made = _pod(job())
    spec = made["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 65532
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    for container in spec["containers"]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
    assert not any("hostPath" in volume for volume in spec["volumes"])


def test_members_never_share_a_node_and_leave_a_dead_one_soon() -> None:
    spec = _pod(job())["spec"]
    terms = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms == [
        {
            "labelSelector": {"matchLabels": {"tandem.dev/job": "flights", "app.kubernetes.io/component": "member"}},
            "topologyKey": "kubernetes.io/hostname",
        }
    ]
    assert {(t["key"].rpartition("/")[2], t["tolerationSeconds"]) for t in spec["tolerations"]} == {
        ("not-ready", 5),
        ("unreachable", 5),
    }
    assert spec["terminationGracePeriodSeconds"] == 45
    assert spec["topologySpreadConstraints"][0]["whenUnsatisfiable"] == "ScheduleAnyway"


def test_checkpoints_are_in_memory_and_nothing_but_two_folders_can_be_written() -> None:
    made = _pod(job())
    volumes = {volume["name"]: volume for volume in made["spec"]["volumes"]}
    assert volumes["checkpoint"]["emptyDir"] == {"medium": "Memory"}
    writable = [m["mountPath"] for m in _container(made, "replica")["volumeMounts"] if not m.get("readOnly")]
    assert writable == ["/tmp", "/dev/shm"]  # noqa: S108


def test_the_code_in_a_config_map_lies_beside_the_manifest() -> None:
    made = _pod(job(job={"file": "job.py", "configMap": "flights-code"}))
    sources = made["spec"]["volumes"][0]["projected"]["sources"]
    assert [source["configMap"]["name"] for source in sources] == [
        made["metadata"]["annotations"][MANIFEST],
        "flights-code",
    ]


def test_a_pod_says_what_it_was_made_from() -> None:
    given = job()
    notes = _pod(given, index=3)["metadata"]["annotations"]
    assert notes == {
        DEFAULT_CONTAINER: "replica",
        TEMPLATE: template(given, SETTINGS, Component.MEMBER),
        MANIFEST: config_map_name(given),
        CONFIG: config_of(given),
    }


@pytest.mark.parametrize(
    "change",
    [
        {"image": "example.com/flights:2"},
        {"restartNonce": 1},
        {"resources": {"requests": {"cpu": "2"}}},
        {"podTemplate": {"spec": {"priorityClassName": "high"}}},
        {"takeOver": {"maxBound": "2s"}},
        {"kafka": {"bootstrapServers": "other:9092"}},
        {"standbys": 1},
    ],
    ids=str,
)
def test_what_changes_a_process_changes_the_template(change: dict[str, Any]) -> None:
    assert template(job(**change), SETTINGS, Component.MEMBER) != template(job(), SETTINGS, Component.MEMBER)


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 3},
        {"suspend": True},
        {"deletionPolicy": "Delete"},
        {"progressDeadlineSeconds": 9},
        {"revisionHistoryLimit": 1},
    ],
    ids=str,
)
def test_what_changes_no_process_changes_no_template(change: dict[str, Any]) -> None:
    assert template(job(**change), SETTINGS, Component.MEMBER) == template(job(), SETTINGS, Component.MEMBER)


def test_a_change_of_slots_changes_the_template_but_another_standby_does_not() -> None:
    templates = [
        template(job(replicas=replicas, standbys=standbys), SETTINGS, Component.MEMBER)
        for replicas, standbys in ((2, 1), (2, 2), (3, 1))
    ]
    assert templates[0] == templates[1] != templates[2]


def test_a_pod_can_be_given_the_manifest_of_another() -> None:
    made = dated(_pod(job(job={"file": "job.py", "configMap": "code"})), "older", "cfg", "tpl")
    made_from = {TEMPLATE: "tpl", MANIFEST: "older", CONFIG: "cfg"}
    assert made["metadata"]["annotations"] == {DEFAULT_CONTAINER: "replica", **made_from}
    names = [source["configMap"]["name"] for source in made["spec"]["volumes"][0]["projected"]["sources"]]
    assert names == ["older", "code"]


def test_the_user_chooses_image_account_and_resources() -> None:
    made = _pod(
        job(
            image="example.com/flights:1",
            imagePullPolicy="Always",
            imagePullSecrets=[{"name": "login"}],
            serviceAccount="mine",
            resources={"requests": {"cpu": "500m"}, "limits": {"memory": "2Gi"}},
        )
    )
    replica = _container(made, "replica")
    assert (replica["image"], replica["imagePullPolicy"]) == ("example.com/flights:1", "Always")
    assert replica["resources"] == {"requests": {"cpu": "500m"}, "limits": {"memory": "2Gi"}}
    assert made["spec"]["imagePullSecrets"] == [{"name": "login"}]
    assert made["spec"]["serviceAccountName"] == "mine"
    assert _container(_pod(job()), "replica")["image"] == SETTINGS.image


def test_secrets_reach_the_process_as_variables() -> None:
    kafka = {
        "bootstrapServers": "kafka:9092",
        "properties": {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"},
        "secretProperties": {"sasl.password": {"secretKeyRef": {"name": "login", "key": "password"}}},
    }
    env = _container(_pod(job(kafka=kafka)), "replica")["env"]
    refs = [e["valueFrom"]["secretKeyRef"] for e in env if "secretKeyRef" in e.get("valueFrom", {})]
    assert refs == [{"name": "login", "key": "password"}]
