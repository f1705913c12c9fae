"""What a job has in Kubernetes beside its pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tandem.manifest import config_hash, load, parse
from tandem_operator.observed import Component
from tandem_operator.resources import wanted_objects
from tandem_operator.resources.manifest import (
    config_map,
    config_map_name,
    config_of,
    render,
    runtime_tree,
    secret_variables,
)
from tandem_operator.resources.names import APPLIED, pod_name, suffix_after
from unit.operator.operator_builders import SETTINGS, UID, job, tree

_SECRETS = {
    "bootstrapServers": "kafka:9092",
    "properties": {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"},
    "secretProperties": {"sasl.password": {"secretKeyRef": {"name": "kafka-login", "key": "pass.word"}}},
}
_MANY: dict[str, Any] = {
    "replicas": 3,
    "standbys": 1,
    "kafka": _SECRETS,
    "job": {"file": "job.py", "configMap": "code", "options": {"late": "5", "on": "yes", "text": "a: b #c"}},
    "image": "example.com/flights:1",
    "imagePullSecrets": [{"name": "login"}],
    "serviceAccount": "mine",
    "resources": {"limits": {"memory": "2Gi"}},
    "podTemplate": {"spec": {"containers": [{"name": "replica", "env": [{"name": "A", "value": "{{x}}"}]}]}},
    "executors": {"instances": 1},
    "suspend": True,
    "deletionPolicy": "Delete",
    "restartNonce": 3,
    "savepointNonce": 4,
    "takeOver": {"minBound": "200ms"},
    "snapshots": {"store": "s3://bucket/x", "secretProperties": {"key": {"secretKeyRef": {"name": "s3", "key": "id"}}}},
}


def _of(kind: str, **spec: Any) -> list[dict[str, Any]]:
    return [thing for thing in wanted_objects(job(**spec), UID, SETTINGS) if thing["kind"] == kind]


def test_a_version_that_a_job_may_go_back_to_keeps_its_manifest() -> None:
    now, before = job(image="example.com/a:2"), job(takeOver={"minBound": "200ms"})
    usual, both = (
        {(thing["kind"], thing["metadata"]["name"]) for thing in wanted_objects(now, UID, SETTINGS, fallback)}
        for fallback in (None, before)
    )

    assert both - usual == {("ConfigMap", config_map_name(before))}


@pytest.mark.parametrize("spec", [{}, _MANY], ids=["plain", "many"])
def test_the_runtime_reads_the_manifest_as_it_was_meant(spec: dict[str, Any], tmp_path: Path) -> None:
    given = job(**spec)
    path = tmp_path / "job.yaml"
    path.write_text(render(given))
    read = load(path).model
    assert read == parse(runtime_tree(given))
    assert (read.spec.metrics.enabled, read.spec.metrics.port) == (True, 9400)
    assert read.spec.job.options == given.spec.job.options
    assert read.spec.replicas == given.spec.replicas
    assert read.spec.take_over == given.spec.take_over


def test_nothing_that_is_for_kubernetes_only_reaches_the_runtime_but_what_settings_of_spark_are_judged_by() -> None:
    read = parse(runtime_tree(job(**_MANY)))
    assert read.spec.image is None
    assert read.spec.pod_template is None
    assert read.spec.job.config_map is None
    assert read.spec.executors.instances == 1
    assert read.spec.suspend is False


def test_secrets_of_kubernetes_become_variables_of_the_same_names_as_in_the_pod() -> None:
    given = job(**_MANY)
    variables = {variable.variable: (variable.secret, variable.key) for variable in secret_variables(given)}
    reference = parse(runtime_tree(given)).spec.kafka.secret_properties["sasl.password"]
    assert reference.env is not None
    assert variables[reference.env] == ("kafka-login", "pass.word")
    assert sorted(variables.values()) == [("kafka-login", "pass.word"), ("s3", "id")]


def test_the_runtime_computes_what_the_spec_says(tmp_path: Path) -> None:
    given = job(**{**_MANY, "kafka": {"bootstrapServers": "k:1"}, "snapshots": {"store": "/x"}})
    path = tmp_path / "job.yaml"
    path.write_text(render(given))
    loaded = load(path)
    whole = type(loaded)(given, path, tmp_path)
    assert config_hash(loaded, b"", {}) == config_hash(whole, b"", {})


def test_another_manifest_is_another_config_map_and_labels_make_none() -> None:
    thing = config_map(job(), UID)
    assert thing["immutable"] is True
    assert thing["metadata"]["name"] == config_map_name(job())
    assert config_map_name(job()) != config_map_name(job(replicas=3))
    assert config_map_name(job()) == config_map_name(job(image="example.com/other:1"))


def test_the_configuration_is_what_the_job_computes_not_how_often_or_where() -> None:
    same = [job(), job(replicas=3), job(image="a/b:1"), job(takeOver={"maxBound": "3s"})]
    assert len({config_of(one) for one in same}) == 1
    other = job(job={"file": "job.py", "options": {"late": "5"}})
    assert config_of(other) != config_of(job())
    assert len({config_of(job(engine=engine)) for engine in ("microBatch", "auto", "realTime")}) == 3
    assert config_of(job(engine="microBatch")) == config_of(job())


def test_every_object_belongs_to_the_job_and_says_what_was_applied() -> None:
    things = wanted_objects(job(ordering={"mode": "heartbeat"}, executors={"instances": 1}), UID, SETTINGS)
    for thing in things:
        assert thing["metadata"]["ownerReferences"][0]["uid"] == UID
        assert thing["metadata"]["annotations"][APPLIED]
        assert thing["metadata"]["namespace"] == "streaming"
    names = [(thing["kind"], thing["metadata"]["name"]) for thing in things]
    assert len(set(names)) == len(names)


def test_what_was_applied_changes_with_the_object_only() -> None:
    (before,), (after,), (again,) = (
        _of("PodDisruptionBudget", replicas=2),
        _of("PodDisruptionBudget", replicas=3),
        _of("PodDisruptionBudget", replicas=2),
    )
    assert before == again
    assert before["metadata"]["annotations"][APPLIED] != after["metadata"]["annotations"][APPLIED]


def test_one_pod_at_a_time_may_be_evicted_standbys_counted() -> None:
    (budget,) = _of("PodDisruptionBudget", replicas=2, standbys=1)
    assert budget["spec"]["minAvailable"] == 2
    assert budget["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"] == "member"
    members, generators = _of("PodDisruptionBudget", ordering={"mode": "heartbeat", "generators": 3})
    assert (members["spec"]["minAvailable"], generators["spec"]["minAvailable"]) == (1, 2)


def test_only_the_operator_and_scrapers_reach_the_metrics_and_only_the_job_itself_the_rest() -> None:
    (policy,) = _of("NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    metrics, own = policy["spec"]["ingress"]
    assert [port["port"] for port in metrics["ports"]] == [9400, 9401]
    assert metrics["from"][0] == {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "tandem-system"}}
    }
    assert own["from"] == [{"podSelector": {"matchLabels": {"tandem.dev/job": "flights"}}}]


def test_the_metrics_service_is_headless_and_shows_pods_that_are_not_ready() -> None:
    (service,) = _of("Service")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert [port["port"] for port in service["spec"]["ports"]] == [9400, 9401]
    (service,) = _of("Service", ordering={"mode": "heartbeat"})
    assert [port["port"] for port in service["spec"]["ports"]] == [9400]


def test_the_candidates_of_a_next_generation_are_evicted_one_at_a_time() -> None:
    _, candidates = _of("PodDisruptionBudget", replicas=2, standbys=1, snapshots={"store": "s3://bucket/snapshots"})
    assert candidates["metadata"]["name"] == "flights-candidates"
    assert candidates["spec"]["minAvailable"] == 1
    assert candidates["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"] == "candidate"


def test_a_service_is_called_by_a_name_that_services_may_have() -> None:
    assert [_of("Service")[0]["metadata"]["name"]] == ["flights-metrics"]
    named = parse({**tree(), "metadata": {"name": "2024-flights", "namespace": "streaming"}})
    (service,) = (thing for thing in wanted_objects(named, UID, SETTINGS, None) if thing["kind"] == "Service")
    assert service["metadata"]["name"] == "metrics-2024-flights"


def test_the_jobs_account_may_do_nothing_and_with_executors_only_manage_pods() -> None:
    (account,) = _of("ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    assert not _of("Role")
    (role,) = _of("Role", executors={"instances": 1})
    assert [rule["resources"] for rule in role["rules"]] == [["pods"]]
    (binding,) = _of("RoleBinding", executors={"instances": 1})
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]


def test_an_account_of_the_users_is_neither_made_nor_given_rights() -> None:
    kinds = {
        thing["kind"] for thing in wanted_objects(job(serviceAccount="mine", executors={"instances": 1}), UID, SETTINGS)
    }
    assert not kinds & {"ServiceAccount", "Role", "RoleBinding"}


def test_a_pods_name_follows_from_its_predecessors() -> None:
    first = suffix_after(UID, Component.MEMBER, 0, "")
    assert first == suffix_after(UID, Component.MEMBER, 0, "")
    assert len(first) == 5
    names = [pod_name("flights", Component.MEMBER, 0, first)]
    for _ in range(50):
        names.append(pod_name("flights", Component.MEMBER, 0, suffix_after(UID, Component.MEMBER, 0, names[-1])))
    assert len(set(names)) == 51
    assert pod_name("f" * 44, Component.GENERATOR, 98, first) == f"{'f' * 44}-generator-98-{first}"
    assert len(pod_name("f" * 44, Component.GENERATOR, 98, first)) == 63
    others = {suffix_after("else", Component.MEMBER, 0, ""), suffix_after(UID, Component.MEMBER, 1, "")}
    assert first not in others
