"""Manifests that users get wrong, who finds out, and what is said. Run against a real API server and a running operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from cluster.crd_base import ABSENT, Overrides, manifest

Finder = Literal["schema", "rule", "operator"]
"""The API server by the shape of a value, the API server by a rule, or the operator in a condition of an accepted object."""


@dataclass(frozen=True)
class Wrong:
    """What is wrong, who says so, and a part of what is said."""

    name: str
    overrides: Overrides
    found_by: Finder
    fragment: str

    @property
    def manifest(self) -> dict[str, Any]:
        """The whole manifest."""
        return manifest(self.overrides)


_AMOUNT: Final = {"limits": {"memory": "two gigabytes"}}

WRONG: Final[tuple[Wrong, ...]] = (
    Wrong("no replicas", {"spec.replicas": 0}, "schema", "greater than or equal to 1"),
    Wrong("replicas as text", {"spec.replicas": "2"}, "schema", "must be of type integer"),
    Wrong("negative standbys", {"spec.standbys": -1}, "schema", "greater than or equal to 0"),
    Wrong("a misspelt delivery", {"spec.delivery": "exactly-once"}, "schema", "supported values"),
    Wrong("a misspelt key", {"spec.delivry": "atLeastOnce"}, "schema", "unknown field"),
    Wrong("a key in snake_case", {"spec.take_over": {}}, "schema", "unknown field"),
    Wrong("a key in the wrong place", {"spec.maxRecordsPerEpoch": 5}, "schema", "unknown field"),
    Wrong("no spec", {"spec": ABSENT}, "schema", "Required value"),
    Wrong("no code", {"spec.job": ABSENT}, "schema", "Required value"),
    Wrong("no brokers", {"spec.kafka.bootstrapServers": ABSENT}, "schema", "Required value"),
    Wrong("no sources", {"spec.sources": []}, "schema", "should have at least 1 items"),
    Wrong("no sinks", {"spec.sinks": ABSENT}, "schema", "Required value"),
    Wrong("a text for a list of topics", {"spec.sources.0.topics": "flights"}, "schema", "must be of type array"),
    Wrong("one topic twice", {"spec.sources.1.topics": ["weather", "weather"]}, "schema", "Duplicate value"),
    Wrong("two sinks of one name", {"spec.sinks.1.name": "delays"}, "schema", "Duplicate value"),
    Wrong("two sources of one name", {"spec.sources.1.name": "flights"}, "schema", "Duplicate value"),
    Wrong("a pattern of topics", {"spec.sources.0.topics": ["flights.*"]}, "schema", "should match"),
    Wrong("an unknown format", {"spec.sources.0.format": "csv"}, "schema", "supported values"),
    Wrong("an unknown mode", {"spec.ordering.mode": "raft"}, "schema", "supported values"),
    Wrong("a period without a unit", {"spec.ordering.heartbeatPeriod": "10"}, "schema", "should match"),
    Wrong("a period as a number", {"spec.ordering.heartbeatPeriod": 10}, "schema", "must be of type string"),
    Wrong("brokers with a scheme", {"spec.kafka.bootstrapServers": "kafka://a:9092"}, "schema", "should match"),
    Wrong(
        "a property that is no text", {"spec.kafka.properties": {"log_level": 7}}, "schema", "must be of type string"
    ),
    Wrong("a name too long for a pod", {"metadata.name": "f" * 45}, "schema", "Too long"),
    Wrong("memory in Kubernetes' notation", {"spec.spark.driverMemory": "1Gi"}, "schema", "should match"),
    Wrong("memory in words", {"spec.resources": _AMOUNT}, "schema", "should match"),
    Wrong("a port too high", {"spec.metrics.port": 70000}, "schema", "less than or equal to 65535"),
    Wrong("an image with a space", {"spec.image": "flights 1.2"}, "schema", "should match"),
    Wrong("a pull secret by name only", {"spec.imagePullSecrets": ["login"]}, "schema", "must be of type object"),
    Wrong("containers beside the spec", {"spec.podTemplate": {"containers": []}}, "schema", "unknown field"),
    Wrong("a nonce that is no number", {"spec.restartNonce": "again"}, "schema", "must be of type integer"),
    Wrong("no time to come up", {"spec.progressDeadlineSeconds": 0}, "schema", "should be greater than or equal to 1"),
    Wrong("a negative number of revisions", {"spec.revisionHistoryLimit": -1}, "schema", "greater than or equal to 0"),
    Wrong("suspended by a word", {"spec.suspend": "yes"}, "schema", "must be of type boolean"),
    Wrong(
        "a Secret without a key", {"spec.zookeeper.keyPassword": {"secretKeyRef": {"name": "a"}}}, "schema", "Required"
    ),
    Wrong("a leader without ZooKeeper", {"spec.zookeeper": ABSENT}, "rule", "needs ZooKeeper for its election"),
    Wrong("exactly once without ordering", {"spec.ordering.mode": "none"}, "rule", "can only deliver atLeastOnce"),
    Wrong("adaptive execution", {"spec.spark.conf": {"spark.sql.adaptive.enabled": "true"}}, "rule", "must be false"),
    Wrong("a property that Tandem owns", {"spec.kafka.properties": {"transactional.id": "a"}}, "rule", "fencing fails"),
    Wrong("a password inline", {"spec.kafka.properties": {"sasl.password": "hush"}}, "rule", "a secret must not stand"),
    Wrong("an output that is an input", {"spec.sinks.0.topic": "flights"}, "rule", "would read its own output"),
    Wrong("an output to a topic of Tandem", {"spec.sinks.0.topic": "flights.commits"}, "rule", "Tandem's own topics"),
    Wrong("a sink to two places", {"spec.sinks.0.delta": {"path": "/d"}}, "rule", "exactly one of topic"),
    Wrong("a schema for raw bytes", {"spec.sources.1.schema": "a INT"}, "rule", "has no schema"),
    Wrong("bounds in the wrong order", {"spec.takeOver.minBound": "5s"}, "rule", "minBound is more than maxBound"),
    Wrong("a misspelt type", {"spec.sources.0.schema": "carrier STRNG"}, "operator", "perhaps STRING"),
    Wrong("two columns of one name", {"spec.sources.0.schema": "a INT, a INT"}, "operator", "two columns are named a"),
    Wrong("a variable to be replaced", {"spec.job.file": "${CODE}/job.py"}, "operator", "would not be replaced"),
    Wrong("a fraction of a millisecond", {"spec.takeOver.minBound": "0.00251m"}, "operator", "whole milliseconds"),
    Wrong(
        "an option that hides a secret",
        {"spec.snapshots": {"store": "s3://b", "properties": {"my_secret_word": "hush"}}},
        "operator",
        "a secret must not stand",
    ),
    Wrong(
        "a request above the limit",
        {"spec.resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "2G"}}},
        "operator",
        "is more than the limit",
    ),
    Wrong("less than no memory", {"spec.resources": {"limits": {"memory": -1}}}, "operator", "no amount of a resource"),
)
