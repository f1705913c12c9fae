"""Mistakes in how it runs: ordering, take-over, ZooKeeper, Spark."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

RUNNING: dict[str, Mistake] = {
    "a leader without ZooKeeper": (
        "  zookeeper:\n    connect: localhost:2181\n", "",
        "spec.zookeeper", "Add zookeeper: {connect: localhost:2181}",
    ),
    "an unknown mode": ("mode: leader", f"mode: raft {HERE}", "spec.ordering.mode", "none of leader, heartbeat, none"),
    "exactly once without ordering": ("mode: leader", f"mode: none {HERE}", "spec.ordering.mode", "atLeastOnce"),
    "a period without a unit": (
        "mode: leader", f"heartbeatPeriod: 10 {HERE}",
        "spec.ordering.heartbeatPeriod", "10 has no unit. Write 10ms or 10s",
    ),
    "a period of another unit": (
        "mode: leader", f"heartbeatPeriod: 10us {HERE}", "spec.ordering.heartbeatPeriod", "e.g. 10ms, 5s, 1m",
    ),
    "a period of a fraction": (
        "mode: leader", f"heartbeatPeriod: 0.5ms {HERE}", "spec.ordering.heartbeatPeriod", "fraction of a millisecond",
    ),
    "a period of nothing": (
        "mode: leader", f"heartbeatPeriod: 0ms {HERE}", "spec.ordering.heartbeatPeriod", "Choose between 1ms and 10s",
    ),
    "barriers without the real-time engine": (
        "mode: leader", f"barrierInterval: 1s {HERE}",
        "spec.ordering.barrierInterval", "has no barriers. Remove it, or set spec.engine: realTime or auto",
    ),
    "barriers too close": (
        "mode: leader", f"barrierInterval: 99ms {HERE}", "spec.ordering.barrierInterval", "between 100ms and 1h",
    ),
    "more replicas than any cluster could give nodes": (
        "replicas: 2", f"replicas: 100 {HERE}", "spec.replicas", "The most is 99",
    ),
    "epochs of more records than fit into memory": (
        "mode: leader", f"maxRecordsPerEpoch: 1000000001 {HERE}",
        "spec.ordering.maxRecordsPerEpoch", "The most is 1000000000",
    ),
    "more heap than any machine has": (
        "spark: {}", f"spark: {{driverMemory: 65t}} {HERE}", "spec.spark.driverMemory", "Give at most 64t",
    ),
    "no generators": ("mode: leader", f"generators: 0 {HERE}", "spec.ordering.generators", "The least is 1"),
    "bounds in the wrong order": (
        "takeOver: {}", f"takeOver:\n    minBound: 2s {HERE}\n    maxBound: 1s",
        "spec.takeOver.minBound", "more than maxBound 1s",
    ),
    "a lower bound above the default upper one": (
        "takeOver: {}", f"takeOver: {{minBound: 5s}} {HERE}", "spec.takeOver.minBound", "more than maxBound 500ms",
    ),
    "ZooKeeper's address with a scheme": (
        "localhost:2181", f"zk://a:2181 {HERE}", "spec.zookeeper.connect", "no ZooKeeper connect string",
    ),
    "certificates without TLS": (
        "localhost:2181", f"localhost:2181\n    caFile: ca.pem {HERE}", "spec.zookeeper.caFile", "Set useTls: true",
    ),
    "a certificate without its key": (
        "localhost:2181", f"localhost:2181\n    useTls: true\n    certFile: c.pem {HERE}",
        "spec.zookeeper.certFile", "Add keyFile",
    ),
    "a yes of YAML 1.1": (
        "localhost:2181", f"localhost:2181\n    useTls: yes {HERE}", "spec.zookeeper.useTls", "true or false",
    ),
    "adaptive execution": (
        "spark: {}", f"spark:\n    conf:\n      spark.sql.adaptive.enabled: 'true' {HERE}",
        "spec.spark.conf[spark.sql.adaptive.enabled]", "run-time statistics differ between replicas",
    ),
    "adaptive execution without quotes": (
        "spark: {}", f"spark:\n    conf:\n      spark.sql.adaptive.enabled: true {HERE}",
        "spec.spark.conf[spark.sql.adaptive.enabled]", "must be false",
    ),
    "a Spark setting that Tandem owns": (
        "spark: {}", f"spark:\n    conf:\n      spark.driver.memory: 4g {HERE}",
        "spec.spark.conf[spark.driver.memory]", "Use spec.spark.driverMemory",
    ),
    "a Spark setting without its prefix": (
        "spark: {}", f"spark:\n    conf:\n      sql.session.timeZone: UTC {HERE}",
        "spec.spark.conf[sql.session.timeZone]", "perhaps spark.sql.session.timeZone",
    ),
    "memory in Kubernetes' notation": (
        "spark: {}", f"spark: {{driverMemory: 1Gi}} {HERE}", "spec.spark.driverMemory", "512m, 1g",
    ),
    "too little memory": (
        "spark: {}", f"spark: {{driverMemory: 64m}} {HERE}", "spec.spark.driverMemory", "at least 512m",
    ),
    "epochs larger than the heap takes": (
        "mode: leader", f"maxBytesPerEpoch: 1Gi {HERE}",
        "spec.ordering.maxBytesPerEpoch", "Give 128Mi or less, or raise driverMemory",
    ),
    "an epoch of more than a column holds": (
        "mode: leader", f"maxBytesPerEpoch: 2Gi {HERE}", "spec.ordering.maxBytesPerEpoch", "Give 1Gi or less",
    ),
    "epochs of half a byte": (
        "mode: leader", f"maxBytesPerEpoch: '0.5' {HERE}", "spec.ordering.maxBytesPerEpoch", "whole bytes",
    ),
    "a checkpoint in a store": (
        "  spark: {}", f"  checkpoint: {{directory: 's3://lake/flights'}} {HERE}",
        "spec.checkpoint.directory", "What has to outlast machines goes to spec.snapshots.store",
    ),
    "a checkpoint by a URI of Hadoop": (
        "  spark: {}", f"  checkpoint: {{directory: 'dbfs:/flights'}} {HERE}",
        "spec.checkpoint.directory", "Give a path",
    ),
    "a text for a section": ("spark: {}", f"spark: fast {HERE}", "spec.spark", "must be a mapping, not a text"),
    "a port too high": ("spark: {}", f"metrics: {{port: 70000}} {HERE}", "spec.metrics.port", "The most is 65535"),
    "another version": ("dev/v1alpha1", f"dev/v1 {HERE}", "apiVersion", "Write apiVersion: tandem.dev/v1alpha1"),
    "a misspelt kind": (
        "ReplicatedStreamJob", f"ReplicatedStreamjob {HERE}", "kind", "Write kind: ReplicatedStreamJob",
    ),
}  # fmt: skip
