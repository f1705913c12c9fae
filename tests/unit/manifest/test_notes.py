"""What has no effect is noted, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.manifest import load
from tandem.manifest.notes import notes

MANIFEST = """\
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: orders}
spec:
  job: {file: job.py, configMap: code}
  kafka: {bootstrapServers: "kafka:9092"}
  zookeeper: {connect: "zookeeper:2181"}
  sources: [{name: orders, topics: [orders]}]
  sinks: [{name: counts, topic: counts}]
  podTemplate:
    spec:
      containers:
        - name: CONTAINER
          env:
            - {name: MODEL, value: large}
            - {name: VARIABLE, value: x}
  executors: {instances: 1}
"""


@pytest.mark.parametrize(
    ("container", "variable", "noted"),
    [
        ("replica", "TZ", True),
        ("replica", "PYTHONHASHSEED", True),
        ("executor", "TZ", True),
        ("mesh", "TZ", False),
        ("replica", "HTTP_PROXY", False),
    ],
)
def test_a_variable_that_replicas_do_not_follow_is_noted(
    tmp_path: Path, container: str, variable: str, noted: bool
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MANIFEST.replace("CONTAINER", container).replace("VARIABLE", variable))

    told = [str(note) for note in notes(load(path))]

    assert [f"{variable} has no effect on the job" in text and "containers[0].env[1]" in text for text in told] == [
        True
    ] * noted, told


@pytest.mark.parametrize(
    ("container", "changed", "reason"),
    [
        ("executor", ("instances: 1", "instances: 0"), "the job has no executors"),
        ("orderer", ("kafka: {", "ordering: {mode: heartbeat}\n  kafka: {"), "in mode heartbeat no orderer runs"),
        ("generator", ("", ""), "there are no generators in mode leader"),
        ("executor", ("", ""), ""),
        ("orderer", ("", ""), ""),
        ("task", ("", ""), ""),
    ],
)
def test_a_container_that_the_job_has_not_is_noted(
    tmp_path: Path, container: str, changed: tuple[str, str], reason: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MANIFEST.replace("CONTAINER", container).replace("VARIABLE", "A").replace(*changed))

    told = [str(note) for note in notes(load(path))]

    assert [f"containers[0]: the container {container} has no effect: {reason}" in text for text in told] == [
        True
    ] * bool(reason), told


def test_what_a_pod_keeps_whatever_the_template_says_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    pod = "    spec:\n      restartPolicy: Never\n      securityContext: {runAsNonRoot: false}\n"
    path.write_text(MANIFEST.replace("    spec:\n", pod).replace("VARIABLE", "HTTP_PROXY"))

    told = [str(note) for note in notes(load(path))]

    assert len(told) == 2
    assert "spec.podTemplate.spec.restartPolicy: has no effect" in told[0]
    assert "spec.podTemplate.spec.securityContext.runAsNonRoot: has no effect" in told[1]


@pytest.mark.parametrize(
    ("engine", "interval", "barriers", "noted"),
    [
        ("realTime", "1s", "5s", True),
        ("realTime", "5s", "5s", False),
        ("realTime", "1s", "1s", False),
        ("microBatch", "1s", "5s", False),
    ],
)
def test_snapshots_closer_to_each_other_than_the_barriers_are_noted(
    tmp_path: Path, engine: str, interval: str, barriers: str, noted: bool
) -> None:
    path = tmp_path / "job.yaml"
    spec = (
        f"  engine: {engine}\n  ordering: {{barrierInterval: {barriers}}}\n"
        f"  snapshots: {{store: /data, interval: {interval}}}\n"
    )
    path.write_text(MANIFEST.partition("  podTemplate")[0] + spec)

    said = [str(note) for note in notes(load(path))]

    assert ["a snapshot is of a barrier, and these are 5s apart" in text for text in said] == [True] * noted, said


@pytest.mark.parametrize(
    ("topics", "elsewhere", "noted"),
    [
        ("[on]", True, "on"),
        ("[NO]", True, "NO"),
        ("[on]", False, ""),
        ("['on']", True, ""),
        ("[orders]", True, ""),
    ],
)
def test_what_kubectl_reads_otherwise_is_noted(tmp_path: Path, topics: str, elsewhere: bool, noted: str) -> None:
    path = tmp_path / "job.yaml"
    text = MANIFEST.partition("  podTemplate")[0].replace("topics: [orders]", f"topics: {topics}")
    path.write_text(text if elsewhere else text.replace(", configMap: code", ""))

    said = [str(note) for note in notes(load(path)) if "kubectl" in str(note)]

    assert [f'If it is a text, write "{noted}"' in text for text in said] == [True] * bool(noted), said


def test_a_number_that_kubectl_takes_for_an_octal_one_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MANIFEST.partition("  podTemplate")[0] + "  replicas: 010\n")

    said = [str(note) for note in notes(load(path))]

    assert ["where 010 without quotes" in text for text in said] == [True], said
