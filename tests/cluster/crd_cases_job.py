"""Trials of the rules about what a job needs, reads and writes."""

from __future__ import annotations

from typing import Final

from cluster.crd_base import ABSENT
from cluster.crd_case import LOGIN, SECRET, TWO_PLACES, Case, mode, properties, sinks

JOB: Final = (
    Case("name-is-a-label", {"metadata.name": "flights-2"}, {"metadata.name": "flights.eu"}, "no DNS-1123 label"),
    Case("code-is-file-or-module", {}, {"spec.job.module": "a.b"}, "names the job's code by none or both"),
    Case(
        "code-is-file-or-module",
        {"spec.job": {"module": "a.b"}},
        {"spec.job.file": ABSENT},
        "names the job's code by none",
    ),
    Case(
        "code-lies-in-the-config-map",
        {"spec.job.configMap": "code"},
        {"spec.job.configMap": "code", "spec.job.file": "jobs/job.py"},
        "Write the name of its key",
    ),
    Case(
        "leader-needs-zookeeper",
        {"spec.ordering.mode": "heartbeat", "spec.zookeeper": ABSENT},
        {"spec.zookeeper": ABSENT},
        "needs ZooKeeper for its election",
    ),
    Case(
        "standbys-need-zookeeper",
        {"spec.standbys": 1},
        {"spec.standbys": 1, "spec.ordering.mode": "heartbeat", "spec.zookeeper": ABSENT},
        "standbys need ZooKeeper",
    ),
    Case(
        "standbys-need-ordering",
        {**mode("heartbeat"), "spec.standbys": 1},
        {**mode("none"), "spec.standbys": 1},
        "a standby has no log to follow",
    ),
    Case(
        "savepoints-lie-in-a-store",
        {"spec.restoreFrom": "before-upgrade", "spec.snapshots": {"store": "s3://b"}},
        {"spec.restoreFrom": "before-upgrade"},
        "no store that the savepoint could be in",
    ),
    Case("no-ordering-only-at-least-once", mode("none"), mode("none", "exactlyOnce"), "can only deliver atLeastOnce"),
    Case(
        "real-time-has-no-executors",
        {"spec.engine": "auto", "spec.executors": {"instances": 2}},
        {"spec.engine": "realTime", "spec.executors": {"instances": 2}},
        "has no use for executors",
    ),
    Case(
        "real-time-has-one-partition",
        {"spec.engine": "realTime", "spec.spark": {"parallelism": 1}},
        {"spec.engine": "realTime", "spec.spark": {"parallelism": 2}},
        "keeps a job's state in one partition",
    ),
    Case(
        "barriers-need-the-real-time-engine",
        {"spec.engine": "auto", "spec.ordering.barrierInterval": "1s"},
        {"spec.ordering.barrierInterval": "1s"},
        "barrierInterval has no meaning",
    ),
    Case(
        "bounds-are-in-order",
        {"spec.takeOver": {"minBound": "0.5s", "maxBound": "1500ms"}},
        {"spec.takeOver": {"minBound": "2s", "maxBound": "1500ms"}},
        "minBound is more than maxBound",
    ),
    Case("bounds-are-in-order", {}, {"spec.takeOver": {"minBound": "5s"}}, "minBound is more than maxBound"),
    Case(
        "secret-comes-from-one-place",
        {"spec.schemaRegistry": {"url": "http://r", "secretProperties": {"bearer.auth.token": SECRET}}},
        {"spec.schemaRegistry": {"url": "http://r", "secretProperties": {"bearer.auth.token": TWO_PLACES}}},
        "of none or of several places",
    ),
    Case(
        "secret-comes-from-one-place",
        properties(LOGIN, {"sasl.password": SECRET}),
        properties(LOGIN, {"sasl.password": TWO_PLACES}),
        "of none or of several places",
    ),
    Case(
        "secret-comes-from-one-place",
        properties(LOGIN, {"sasl.password": {"file": "/run/password"}}),
        properties(LOGIN, {"sasl.password": {}}),
        "of none or of several places",
    ),
    Case(
        "secret-comes-from-one-place",
        {"spec.snapshots": {"store": "s3://b", "secretProperties": {"secret": SECRET}}},
        {"spec.snapshots": {"store": "s3://b", "secretProperties": {"secret": TWO_PLACES}}},
        "of none or of several places",
    ),
    Case(
        "secret-comes-from-one-place",
        {"spec.zookeeper.keyPassword": SECRET},
        {"spec.zookeeper.keyPassword": TWO_PLACES},
        "of none or of several places",
    ),
    Case(
        "secret-comes-from-one-place",
        {"spec.zookeeper.auth": {"credentials": SECRET}},
        {"spec.zookeeper.auth": {"credentials": {}}},
        "of none or of several places",
    ),
    Case(
        "zookeeper-files-need-tls",
        {"spec.zookeeper.useTls": True, "spec.zookeeper.caFile": "/ca.pem"},
        {"spec.zookeeper.caFile": "/ca.pem"},
        "as useTls is false",
    ),
    Case(
        "zookeeper-certificate-has-its-key",
        {"spec.zookeeper.useTls": True, "spec.zookeeper.certFile": "/c.pem", "spec.zookeeper.keyFile": "/k.pem"},
        {"spec.zookeeper.useTls": True, "spec.zookeeper.certFile": "/c.pem"},
        "certFile and keyFile need each other",
    ),
)

STREAMS: Final = (
    Case(
        "sink-is-of-one-kind",
        {"spec.sinks.0": {"name": "delays", "delta": {"path": "/data/delta"}}},
        {"spec.sinks.0.delta": {"path": "/data/delta"}},
        "none or of several places where to write",
    ),
    Case("sink-is-of-one-kind", {}, {"spec.sinks.0.topic": ABSENT}, "none or of several places where to write"),
    Case(
        "tables-do-not-meet",
        sinks({"parquet": {"path": "/data/out"}}, {"delta": {"path": "/data/out-2"}}),
        sinks({"parquet": {"path": "/data/out"}}, {"delta": {"path": "/data"}}),
        "lie within each other",
    ),
    Case(
        "tables-do-not-meet",
        sinks({"parquet": {"path": "/data/a/"}}, {"parquet": {"path": "/data/b"}}),
        sinks({"parquet": {"path": "/data/a/"}}, {"parquet": {"path": "/data/a"}}),
        "lie within each other",
    ),
    Case(
        "topic-is-of-one-source",
        {"spec.sources.1.topics": ["weather", "winds"]},
        {"spec.sources.1.topics": ["weather", "flights"]},
        "an input of two sources",
    ),
    Case(
        "output-is-no-input",
        {"spec.sinks.0.topic": "late"},
        {"spec.sinks.0.topic": "weather"},
        "would read its own output",
    ),
    Case(
        "topic-is-of-one-sink",
        sinks({"topic": "a"}, {"topic": "b"}),
        sinks({"topic": "a"}, {"topic": "a"}),
        "the output of two sinks",
    ),
    Case(
        "own-topics-differ",
        {"spec.kafka.topics": {"ordering": "o", "commits": "c"}},
        {"spec.kafka.topics": {"ordering": "o", "commits": "o"}},
        "two of Tandem's own topics",
    ),
    Case(
        "own-topics-differ",
        {"spec.kafka.topics.checkpoints": "flights.commits"},
        {"spec.kafka.topics.checkpoints": "flights.commits", "spec.standbys": 1},
        "two of Tandem's own topics",
    ),
    Case(
        "own-topic-is-no-input",
        {"spec.sources.1.topics": ["weather.ordering"]},
        {"spec.sources.1.topics": ["flights.ordering"]},
        "an input is one of Tandem's own topics",
    ),
    Case(
        "own-topic-is-no-output",
        {"spec.sinks.0.topic": "flights.checkpoints"},
        {"spec.sinks.0.topic": "flights.checkpoints", "spec.checkpoint.shipping": True},
        "an output is one of Tandem's own topics",
    ),
)
