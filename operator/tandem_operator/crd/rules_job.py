"""Rules about what a job needs: code, ordering, ZooKeeper, secrets, resources."""

from __future__ import annotations

from typing import Final

from tandem.manifest import OrderingSpec
from tandem_operator.crd.cel import Rule, exactly_one, is_duration, path, text

_SPEC: Final = (path("spec"),)
_BARRIERS: Final = str(OrderingSpec().barrier_interval)
_ZOOKEEPER: Final = (path("spec.zookeeper"),)
_SECRETS: Final = (
    path("spec.kafka.secretProperties{}"),
    path("spec.snapshots.secretProperties{}"),
    path("spec.schemaRegistry.secretProperties{}"),
    path("spec.zookeeper.keyPassword"),
    path("spec.zookeeper.auth.credentials"),
    path("spec.sinks[].iceberg.secretProperties{}"),
    path("spec.sinks[].postgres.password"),
    path("spec.sinks[].postgres.keyPassword"),
)

JOB: Final[tuple[Rule, ...]] = (
    Rule(
        "name-is-a-label",
        ((),),
        "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "metadata.name is no DNS-1123 label. Use lower-case letters, digits and '-', with a letter or digit at both "
        "ends, e.g. flights",
        field_path=".metadata.name",
    ),
    Rule(
        "code-is-file-or-module",
        (path("spec.job"),),
        exactly_one("self.file", "self.module"),
        "names the job's code by none or both of file and module. Give exactly one, e.g. file: job.py, or module: "
        "package.module",
        mirrors=("code_is_file_or_module",),
    ),
    Rule(
        "code-lies-in-the-config-map",
        (path("spec.job"),),
        "!has(self.configMap) || !has(self.file) || !self.file.contains('/')",
        "file is a path, but the keys of configMap have none. Write the name of its key, e.g. file: job.py, or "
        "remove configMap",
        field_path=".file",
        mirrors=("code_lies_in_the_config_map",),
    ),
    Rule(
        "leader-needs-zookeeper",
        _SPEC,
        "self.ordering.mode != 'leader' || has(self.zookeeper)",
        "ordering.mode leader (the default) needs ZooKeeper for its election. Add zookeeper: {connect: "
        "zookeeper:2181}, or choose ordering: {mode: heartbeat}",
        field_path=".zookeeper",
        reason="FieldValueRequired",
        mirrors=("leader_needs_zookeeper",),
    ),
    Rule(
        "standbys-need-zookeeper",
        _SPEC,
        "self.standbys == 0 || has(self.zookeeper)",
        "standbys need ZooKeeper, where the slots of the active replicas are. Add zookeeper: {connect: "
        "zookeeper:2181}, or remove the standbys",
        field_path=".standbys",
        mirrors=("standbys_need_slots",),
    ),
    Rule(
        "standbys-need-ordering",
        _SPEC,
        "self.standbys == 0 || self.ordering.mode != 'none'",
        "without ordering, a standby has no log to follow. Choose the mode leader or heartbeat, or remove the standbys",
        field_path=".standbys",
        mirrors=("standbys_need_slots",),
    ),
    Rule(
        "savepoints-lie-in-a-store",
        _SPEC,
        "!has(self.restoreFrom) || has(self.snapshots)",
        "there is no store that the savepoint could be in. Add snapshots: {store: …}",
        field_path=".restoreFrom",
        mirrors=("savepoints_lie_in_a_store",),
    ),
    Rule(
        "no-ordering-only-at-least-once",
        _SPEC,
        "self.ordering.mode != 'none' || self.delivery == 'atLeastOnce'",
        "without ordering, replicas can only deliver atLeastOnce. Set spec.delivery: atLeastOnce, or choose the mode "
        "leader or heartbeat",
        field_path=".ordering.mode",
        mirrors=("no_ordering_only_at_least_once",),
    ),
    Rule(
        "real-time-has-no-executors",
        _SPEC,
        "self.engine != 'realTime' || self.executors.instances == 0",
        "the real-time engine runs in the replica itself, and has no use for executors. Remove executors, or set "
        "spec.engine: microBatch",
        field_path=".executors.instances",
        mirrors=("real_time_runs_in_one_task",),
    ),
    Rule(
        "real-time-has-one-partition",
        _SPEC,
        "self.engine != 'realTime' || self.spark.parallelism == 1",
        "the real-time engine keeps a job's state in one partition. Remove spark.parallelism, or set spec.engine: "
        "microBatch",
        field_path=".spark.parallelism",
        mirrors=("real_time_runs_in_one_task",),
    ),
    Rule(
        "barriers-need-the-real-time-engine",
        _SPEC,
        f"self.engine != 'microBatch' || !{is_duration('self.ordering.barrierInterval')}"
        f" || duration(self.ordering.barrierInterval) == duration({text(_BARRIERS)})",
        "barrierInterval has no meaning with the engine microBatch (the default), which commits state behind every epoch. "
        "Remove it, or set spec.engine: realTime or auto",
        field_path=".ordering.barrierInterval",
        mirrors=("barriers_need_the_real_time_engine",),
    ),
    Rule(
        "bounds-are-in-order",
        (path("spec.takeOver"),),
        f"!{is_duration('self.minBound')} || !{is_duration('self.maxBound')}"
        " || duration(self.minBound) <= duration(self.maxBound)",
        "minBound is more than maxBound. Let minBound be at most maxBound",
        field_path=".minBound",
        mirrors=("bounds_are_in_order",),
    ),
    Rule(
        "secret-comes-from-one-place",
        _SECRETS,
        exactly_one("self.env", "self.file", "self.secretKeyRef"),
        "says of none or of several places where the secret is. Give exactly one of {env: NAME}, {file: path} and "
        "{secretKeyRef: {name: …, key: …}}",
        mirrors=("secrets_come_from_one_place",),
    ),
    Rule(
        "zookeeper-files-need-tls",
        _ZOOKEEPER,
        "self.useTls || (!has(self.caFile) && !has(self.certFile) && !has(self.keyFile))",
        "caFile, certFile and keyFile are without effect, as useTls is false. Set useTls: true",
        field_path=".useTls",
        mirrors=("zookeeper_tls_is_complete",),
    ),
    Rule(
        "zookeeper-certificate-has-its-key",
        _ZOOKEEPER,
        "has(self.certFile) == has(self.keyFile)",
        "certFile and keyFile need each other. Add the missing one",
        mirrors=("zookeeper_tls_is_complete",),
    ),
)
