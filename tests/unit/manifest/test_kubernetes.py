"""What is for Kubernetes only is checked on this machine too, and changes nothing there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.manifest import ManifestError, SecretError, config_hash, load
from tandem.manifest.quantities import amount

Writer = Callable[..., Path]

EVERYTHING = """
  image: registry.example:5000/team/flights:1.2@sha256:abc
  imagePullPolicy: IfNotPresent
  imagePullSecrets: [{name: registry-login}]
  serviceAccount: flights
  resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 2, memory: 1.5Gi}}
  podTemplate:
    metadata: {labels: {team: data}}
    spec:
      priorityClassName: high
      containers: [{name: replica, env: [{name: A, value: "${B}"}]}]
  executors: {instances: 2, cores: 2, memory: 2g}
  suspend: true
  deletionPolicy: Delete
  restartNonce: 7
  savepointNonce: 0
  progressDeadlineSeconds: 900
  revisionHistoryLimit: 0
"""

MISTAKES = {
    "an image with a space": ("image: flights 1", "spec.image", "is no name of an image"),
    "an unknown pull policy": ("imagePullPolicy: Sometimes", "spec.imagePullPolicy", "none of Always, IfNotPresent, Never"),
    "a savepoint with a space": ("restoreFrom: the best", "spec.restoreFrom", "is no name of a savepoint"),
    "a savepoint without a store": ("restoreFrom: best", "spec.restoreFrom", "Add snapshots: {store: …}"),
    "an account in upper case": ("serviceAccount: Flights", "spec.serviceAccount", "no name of a Kubernetes object"),
    "an amount in words": ("resources: {limits: {memory: much}}", "spec.resources.limits.memory", "512Mi or 2Gi"),
    "an amount below nothing": ("resources: {limits: {cpu: -1}}", "spec.resources.limits.cpu", "is no amount"),
    "a request above the limit": (
        "resources: {requests: {cpu: 2}, limits: {cpu: 1900m}}",
        "spec.resources.requests.cpu", "2 is more than the limit 1900m",
    ),
    "a template that is a pod's spec": ("podTemplate: {containers: []}", "spec.podTemplate", "knows no containers"),
    "a template with another name": ("podTemplate: {metadata: {name: a}}", "spec.podTemplate", "labels and annotations"),
    "a template with a volume of ours": (
        "podTemplate: {spec: {volumes: [{name: job, emptyDir: {}}]}}", "spec.podTemplate", "Give yours another name",
    ),
    "a template with a container twice": (
        "podTemplate: {spec: {containers: [{name: replica, image: a}, {name: replica, env: []}]}}",
        "spec.podTemplate", "its containers have replica twice",
    ),
    "a template with a mount over the manifest": (
        "podTemplate: {spec: {containers: [{name: replica, volumeMounts: [{name: a, mountPath: /etc/tandem/job/}]}]}}",
        "spec.podTemplate", "Mount it elsewhere",
    ),
    "a template for one node": ("podTemplate: {spec: {nodeName: a}}", "spec.podTemplate", "nodeSelector or affinity"),
    "a template without containers": ("podTemplate: {spec: {containers: }}", "spec.podTemplate", "cannot be taken away"),
    "a template whose volumes are names": ("podTemplate: {spec: {volumes: [data]}}", "spec.podTemplate", "each with a name"),
    "a template with mounts without a path": (
        "podTemplate: {spec: {containers: [{name: replica, volumeMounts: [{name: a}]}]}}",
        "spec.podTemplate", "its volumeMounts must be a list of mappings, each with a mountPath",
    ),
    "a template with an affinity in words": ("podTemplate: {spec: {affinity: near}}", "spec.podTemplate", "mapping"),
    "a template with a list of affinities": (
        "podTemplate: {spec: {affinity: {podAntiAffinity: [a]}}}", "spec.podTemplate", "podAntiAffinity must be a mapping",
    ),
    "a template whose executor has a misspelt field": (
        "podTemplate: {spec: {containers: [{name: executor, resource: {limits: {cpu: 1}}}]}}",
        "spec.podTemplate", "Kubernetes knows no containers.resource. Did you mean resources?",
    ),
    "a template whose executor has a field of nothing": (
        "podTemplate: {spec: {containers: [{name: executor, colour: red}]}}",
        "spec.podTemplate", "no colour in the container",
    ),
    "a template whose executor has a misspelt field within another": (
        "podTemplate: {spec: {containers: [{name: executor, securityContext: {readonlyRootFilesystem: true}}]}}",
        "spec.podTemplate", "securityContext.readonlyRootFilesystem. Did you mean readOnlyRootFilesystem?",
    ),
    "a template with a misspelt variable": (
        "podTemplate: {spec: {containers: [{name: replica, env: [{name: A, vaule: b}]}]}}",
        "spec.podTemplate", "containers.env.vaule. Did you mean value?",
    ),
    "a template with a misspelt selector": (
        "podTemplate: {spec: {nodeselector: {a: b}}}", "spec.podTemplate", "Did you mean nodeSelector?",
    ),
    "a label that is a number": ("podTemplate: {metadata: {labels: {a: 1}}}", "spec.podTemplate", "Put numbers"),
    "executors below none": ("executors: {instances: -1}", "spec.executors.instances", "The least is 0"),
    "too small an executor": ("executors: {memory: 64m}", "spec.executors.memory", "too little for Spark"),
    "more than a machine has": ("executors: {memory: 65t}", "spec.executors.memory", "Give at most 64t"),
    "another way to delete": ("deletionPolicy: Orphan", "spec.deletionPolicy", "Write Retain or Delete"),
    "a nonce in words": ("restartNonce: again", "spec.restartNonce", "whole number"),
    "no time to come up": ("progressDeadlineSeconds: 0", "spec.progressDeadlineSeconds", "The least is 1"),
    "more revisions than are kept": ("revisionHistoryLimit: 21", "spec.revisionHistoryLimit", "The most is 20"),
    "suspended by a word": ('suspend: "yes"', "spec.suspend", "true or false"),
}  # fmt: skip


def with_fields(write: Writer, fields: str) -> Path:
    return write(("  takeOver: {}\n", f"  takeOver: {{}}\n{fields}\n"))


def test_every_field_is_read(write: Writer) -> None:
    spec = load(with_fields(write, EVERYTHING)).spec

    assert (spec.image, spec.image_pull_policy) == ("registry.example:5000/team/flights:1.2@sha256:abc", "IfNotPresent")
    assert [secret.name for secret in spec.image_pull_secrets] == ["registry-login"]
    assert spec.resources.limits == {"cpu": "2", "memory": "1.5Gi"}
    assert spec.pod_template is not None
    assert spec.pod_template["spec"]["containers"][0]["env"] == [{"name": "A", "value": "${B}"}]
    assert (spec.executors.instances, spec.executors.cores, spec.executors.memory) == (2, 2, "2g")
    assert (spec.suspend, spec.deletion_policy, spec.restart_nonce, spec.savepoint_nonce) == (True, "Delete", 7, 0)


def test_without_them_a_job_has_one_process_each_and_keeps_what_it_wrote(write: Writer) -> None:
    spec = load(write()).spec

    assert (spec.image, spec.service_account, spec.pod_template, spec.restart_nonce) == (None, None, None, None)
    assert (spec.executors.instances, spec.suspend, spec.deletion_policy) == (0, False, "Retain")


def test_they_are_no_part_of_the_jobs_identity(write: Writer) -> None:
    before = config_hash(load(write()))

    assert config_hash(load(with_fields(write, EVERYTHING))) == before
    assert config_hash(load(write(("file: job.py", "file: job.py\n    configMap: code")))) == before


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_shown_with_its_remedy(name: str, write: Writer) -> None:
    line, field, fragment = MISTAKES[name]

    with pytest.raises(ManifestError) as caught:
        load(with_fields(write, f"  {line}"))

    assert [problem.path for problem in caught.value.problems] == [field]
    assert fragment in caught.value.problems[0].detail


def test_code_in_a_config_map_has_no_folder(write: Writer) -> None:
    with pytest.raises(
        ManifestError, match=r"jobs/job\.py is a path, but the keys of configMap have none\. Write the name"
    ):
        load(write(("file: job.py", "file: jobs/job.py\n    configMap: code")))


def test_a_secret_of_kubernetes_is_refused_on_this_machine_with_a_remedy(write: Writer) -> None:
    manifest = load(
        write(("localhost:2181", "localhost:2181\n    auth: {credentials: {secretKeyRef: {name: zk, key: login}}}"))
    )

    with pytest.raises(SecretError, match=r"secretKeyRef is for Kubernetes only\. To run here, write \{env: NAME\}"):
        manifest.zookeeper_options({})


def test_a_secret_from_kubernetes_and_from_a_file_is_from_two_places(write: Writer) -> None:
    reference = "{file: /a, secretKeyRef: {name: zk, key: login}}"

    with pytest.raises(ManifestError, match=r"file and secretKeyRef exclude each other\. Give exactly one of"):
        load(write(("localhost:2181", f"localhost:2181\n    auth: {{credentials: {reference}}}")))


def test_a_name_that_the_api_server_made_is_no_mistake(write: Writer) -> None:
    assert load(write(("  name: flights\nspec", "  name: flights\n  generateName: flig\nspec"))).name == "flights"


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("2", 2),
        ("500m", 0.5),
        ("1.5Gi", 1.5 * 2**30),
        ("1G", 10**9),
        ("12e6", 12 * 10**6),
        ("100k", 10**5),
        ("1Ei", 2**60),
    ],
)
def test_amounts_are_those_of_kubernetes(quantity: str, number: float) -> None:
    assert float(amount(quantity)) == number
