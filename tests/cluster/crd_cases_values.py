"""Trials of the rules about single values, and about what may not change."""

from __future__ import annotations

from typing import Final

from cluster.crd_case import Case, mode

VALUES: Final = (
    Case("name-is-no-keyword", {}, {"spec.job.function": "lambda"}, "a word of the Python language"),
    Case("name-is-no-keyword", {}, {"spec.sinks.0.name": "class"}, "a word of the Python language"),
    Case("source-is-not-the-context", {}, {"spec.sources.1.name": "ctx"}, "'ctx' is the job's context"),
    Case("topic-is-free", {"spec.sinks.0.topic": "_late"}, {"spec.sinks.0.topic": "__late"}, "belongs to Kafka itself"),
    Case("topic-is-free", {}, {"spec.sources.1.topics": [".."]}, "belongs to Kafka itself"),
    Case("topic-is-free", {}, {"spec.kafka.topics.commits": "."}, "belongs to Kafka itself"),
    Case("code-is-python", {"spec.job.file": "/opt/job.py"}, {"spec.job.file": "job.jar"}, "is no Python file"),
    Case("code-is-no-uri", {}, {"spec.job.file": "s3://jobs/job.py"}, "is a URI"),
    Case(
        "port-exists",
        {"spec.kafka.bootstrapServers": "a:65535, [::1]:1"},
        {"spec.kafka.bootstrapServers": "a:9092,b:65536"},
        "names a port that cannot be",
    ),
    Case(
        "port-exists",
        {"spec.zookeeper.connect": "a:2181,b:2181/tandem"},
        {"spec.zookeeper.connect": "a:0/tandem"},
        "names a port that cannot be",
    ),
    Case(
        "memory-is-enough", {"spec.spark.driverMemory": "524288K"}, {"spec.spark.driverMemory": "511m"}, "at least 512m"
    ),
    Case("memory-is-enough", {"spec.executors.memory": "1G"}, {"spec.executors.memory": "0g"}, "at least 512m"),
    Case(
        "memory-is-in-a-machine",
        {"spec.spark.driverMemory": "64t"},
        {"spec.spark.driverMemory": "65T"},
        "more than any machine has",
    ),
    Case(
        "memory-is-in-a-machine",
        {"spec.executors.memory": "65536g"},
        {"spec.executors.memory": "65537g"},
        "more than any machine has",
    ),
    Case(
        "memory-is-in-a-machine",
        {"spec.executors.memory": "999999999k"},
        {"spec.executors.memory": "67108865m"},
        "more than any machine has",
    ),
    Case(
        "snapshot-store-is-a-url",
        {"spec.snapshots.store": "/mnt/snapshots"},
        {"spec.snapshots.store": "S3://bucket"},
        "is no URL",
    ),
    Case(
        "snapshot-store-names-a-place",
        {"spec.snapshots.store": "file:///mnt/snapshots"},
        {"spec.snapshots.store": "s3:///"},
        "names no bucket or host",
    ),
    Case(
        "snapshot-store-has-no-secret",
        {"spec.snapshots.store": "hdfs://user@namenode:8020/tandem"},
        {"spec.snapshots.store": "hdfs://user:password@namenode/tandem"},
        "holds a secret",
    ),
    Case(
        "snapshot-secret-inline",
        {"spec.snapshots": {"store": "s3://b", "properties": {"endpoint_url": "http://s3:9000"}}},
        {"spec.snapshots": {"store": "s3://b", "properties": {"secret": "hush"}}},
        "a secret must not stand in a manifest",
    ),
    Case(
        "duration-zookeeper-sessionTimeout",
        {"spec.zookeeper.sessionTimeout": "0.5s"},
        {"spec.zookeeper.sessionTimeout": "499ms"},
        "Choose between 500ms and 1m",
    ),
    Case(
        "duration-ordering-heartbeatPeriod",
        {"spec.ordering.heartbeatPeriod": "10s"},
        {"spec.ordering.heartbeatPeriod": "0ms"},
        "Choose between 1ms and 10s",
    ),
    Case(
        "duration-ordering-minEpochInterval",
        {"spec.ordering.minEpochInterval": "60m"},
        {"spec.ordering.minEpochInterval": "1.1h"},
        "Choose between 0ms and 1h",
    ),
    Case(
        "duration-ordering-idleEpochInterval",
        {"spec.ordering.idleEpochInterval": "10ms"},
        {"spec.ordering.idleEpochInterval": "9ms"},
        "Choose between 10ms and 1h",
    ),
    Case(
        "duration-ordering-barrierInterval",
        {"spec.engine": "realTime", "spec.ordering.barrierInterval": "100ms"},
        {"spec.engine": "realTime", "spec.ordering.barrierInterval": "99ms"},
        "Choose between 100ms and 1h",
    ),
    Case(
        "duration-sources-[]-idleTimeout",
        {"spec.sources.1.idleTimeout": "24h"},
        {"spec.sources.1.idleTimeout": "99ms"},
        "Choose between 100ms and 24h",
    ),
    Case(
        "duration-takeOver-minBound",
        {"spec.takeOver": {"minBound": "10m", "maxBound": "10m"}},
        {"spec.takeOver.minBound": "0s"},
        "Choose between 1ms and 10m",
    ),
    Case("duration-takeOver-maxBound", {}, {"spec.takeOver.maxBound": "11m"}, "Choose between 1ms and 10m"),
    Case(
        "duration-snapshots-interval",
        {"spec.snapshots": {"store": "/s", "interval": "24h"}},
        {"spec.snapshots": {"store": "/s", "interval": "50ms"}},
        "Choose between 100ms and 24h",
    ),
    Case(
        "duration-snapshots-retainAge",
        {"spec.snapshots": {"store": "/s", "retainAge": "0s"}},
        {"spec.snapshots": {"store": "/s", "retainAge": "8761h"}},
        "Choose between 0ms and 8760h",
    ),
    Case(
        "duration-is-whole-milliseconds",
        {"spec.takeOver.minBound": "0.125s"},
        {"spec.takeOver.minBound": "0.1255s"},
        "a fraction of a millisecond",
    ),
    Case(
        "duration-is-whole-milliseconds",
        {"spec.ordering.heartbeatPeriod": "2.0ms"},
        {"spec.ordering.heartbeatPeriod": "2.5ms"},
        "a fraction of a millisecond",
    ),
)

CHANGES: Final = (
    Case(
        "ordering-stays",
        {"spec.ordering.mode": "heartbeat"},
        mode("none", "exactlyOnce"),
        "mode none cannot be changed",
        old={"spec.ordering.mode": "leader"},
    ),
    Case("ordering-stays", mode("none"), mode("leader"), "mode none cannot be changed", old=mode("none")),
    Case(
        "delivery-stays", {"spec.replicas": 3}, {"spec.delivery": "atMostOnce"}, "what one guarantee left open", old={}
    ),
    Case(
        "own-topics-stay",
        {"spec.kafka.topics.ordering": "flights.ordering"},
        {"spec.kafka.topics.ordering": "other"},
        "names of Tandem's own topics cannot change",
        old={},
    ),
    Case(
        "own-topics-stay",
        {"spec.kafka.topics.deadLetter": "lost"},
        {},
        "names of Tandem's own topics cannot change",
        old={"spec.kafka.topics.deadLetter": "lost"},
    ),
    Case(
        "inputs-stay",
        {"spec.sources.1.name": "climate"},
        {"spec.sources.1.topics": ["weather", "winds"]},
        "the topics that a job reads cannot change",
        old={},
    ),
    Case(
        "inputs-stay",
        {"spec.sources.1.topics": ["winds", "weather"]},
        {"spec.sources.1.topics": ["winds"]},
        "the topics that a job reads cannot change",
        old={"spec.sources.1.topics": ["weather", "winds"]},
    ),
    Case(
        "snapshot-store-stays",
        {"spec.snapshots.store": "/old", "spec.suspend": False, "spec.replicas": 3},
        {"spec.snapshots.store": "/new", "spec.suspend": False},
        "the snapshot store cannot change while the job runs",
        old={"spec.snapshots.store": "/old", "spec.suspend": False},
    ),
    Case(
        "snapshot-store-stays",
        {"spec.snapshots.store": "/new"},
        {"spec.snapshots.store": "/new", "spec.suspend": False},
        "the snapshot store cannot change while the job runs",
        old={"spec.snapshots.store": "/old"},
    ),
)
