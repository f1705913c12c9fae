"""Pods of ours have only fields that Kubernetes knows: it is asked to refuse the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from tandem_operator.observed import Component
from tandem_operator.resources import pods, tasks
from unit.operator.operator_builders import SETTINGS, UID, job

LIMITS = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}}
JOB: dict[str, Any] = {
    "resources": LIMITS,
    "standbys": 1,
    "snapshots": {"store": "s3://b/x", "secretProperties": {"key": {"secretKeyRef": {"name": "s", "key": "k"}}}},
    "kafka": {
        "bootstrapServers": "kafka:9092",
        "properties": {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"},
        "secretProperties": {"sasl.password": {"secretKeyRef": {"name": "s", "key": "k"}}},
    },
    "podTemplate": {
        "spec": {"tolerations": [{"key": "a", "operator": "Exists"}], "volumes": [{"name": "v", "emptyDir": {}}]}
    },
}


def unknown(kind: str, body: Any, at: str = "") -> Iterator[str]:
    """The fields of `body` that the type `kind` of Kubernetes' API has not got."""
    if match := re.fullmatch(r"list\[(.*)\]", kind):
        for one in body:
            yield from unknown(match[1], one, at)
    elif isinstance(body, Mapping) and not kind.startswith("dict") and hasattr(client, kind):
        model = getattr(client, kind)
        names = {name: model.openapi_types[field] for field, name in model.attribute_map.items()}
        for name, value in body.items():
            if name in names:
                yield from unknown(names[name], value, f"{at}.{name}")
            else:
                yield f"{at}.{name}"


def made() -> dict[str, Mapping[str, Any]]:
    """A pod of each kind."""
    it, beats = job(**JOB), job(ordering={"mode": "heartbeat"}, resources=LIMITS)
    spread = job(**{**JOB, "executors": {"instances": 1}, "checkpoint": {"directory": "/state/checkpoint"}})
    return {
        "member": pods.pod(it, UID, SETTINGS, Component.MEMBER, 0, "m"),
        "member with executors": pods.pod(spread, UID, SETTINGS, Component.MEMBER, 0, "m"),
        "candidate": pods.pod(it, UID, SETTINGS, Component.CANDIDATE, 0, "c"),
        "generator": pods.pod(beats, UID, SETTINGS, Component.GENERATOR, 0, "g"),
        "savepoint": tasks.savepoint(it, UID, SETTINGS, "s", "w"),
        "cleanup": tasks.cleanup(it, UID, SETTINGS, 1),
    }


@pytest.mark.parametrize("kind", made())
def test_a_pod_has_only_fields_that_kubernetes_knows(kind: str) -> None:
    assert list(unknown("V1Pod", made()[kind])) == []


def test_a_misspelt_field_is_found() -> None:
    pod = {"spec": {"nodeselector": {"a": "b"}, "containers": [{"name": "x", "env": [{"name": "A", "vaule": "b"}]}]}}

    assert list(unknown("V1Pod", pod)) == [".spec.nodeselector", ".spec.containers.env.vaule"]
