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
