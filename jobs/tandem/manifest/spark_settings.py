"""What becomes of each setting of Spark: it is obeyed, or refused. The session is made from these same tables.

A setting that is in none of them is passed on as it is. One that Spark does not know has no effect there, so a name that is
nearly one of Spark's is refused as misspelt; `spark_names.txt` has all that Spark registers, and those of RocksDB.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Final

RETAINED_BATCHES: Final = 200
"""How many batches back Spark keeps logs and state."""

_EPOCHS = "an epoch must be one micro-batch, the same in every replica"
_PLAN = "plans that follow run-time statistics differ between replicas"
_TASKS = "a second attempt of a task may win in one replica only"
_ELSEWHERE = "partitions would move between executors"
_CACHE = "Tandem keeps the checkpoint in memory and ships it from there"
_STATE = "Tandem ships and saves the files of this state store"
_EVICTED = "what others evict comes in another order in a replica that was restored"
_BY_CHANCE = (
    "version 4 files rows without event time under random numbers, so matches come in another order in each replica"
)
_BLOCKS = "blocks would be put together in the order in which they arrive"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

FIXED: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "spark.sql.adaptive.enabled": (("false",), _PLAN),
    "spark.sql.adaptive.coalescePartitions.enabled": (("false",), _PLAN),
    "spark.sql.adaptive.skewJoin.enabled": (("false",), _PLAN),
    "spark.sql.cbo.enabled": (("false",), _PLAN),
    "spark.sql.cbo.joinReorder.enabled": (("false",), _PLAN),
    "spark.speculation": (("false",), _TASKS),
    "spark.dynamicAllocation.enabled": (("false",), _ELSEWHERE),
    "spark.shuffle.service.enabled": (("false",), _ELSEWHERE),
    "spark.shuffle.push.enabled": (("false",), _BLOCKS),
    "spark.shuffle.reduceLocality.enabled": (("false",), _BLOCKS),
    "spark.scheduler.maxRegisteredResourcesWaitingTime": (("0s",), "a replica waits for its executors itself"),
    "spark.task.cpus": (("1",), "spec.spark.parallelism counts tasks"),
    "spark.api.mode": (("classic",), "a replica is a Spark driver of its own"),
    "spark.sql.streaming.noDataMicroBatches.enabled": (("false",), _EPOCHS),
    "spark.sql.streaming.unsupportedOperationCheck": (("true",), "what Spark cannot compute right is refused at start"),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": (("false",), _CACHE),
    "spark.sql.streaming.minBatchesToRetain": ((str(RETAINED_BATCHES),), _CACHE),
    "spark.sql.streaming.offsetLog.formatVersion": (("1",), _CACHE),
    "spark.sql.streaming.join.stateFormatVersion": (("2", "1", "3"), _BY_CHANCE),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": (("1",), _STATE),
    "spark.sql.streaming.stateStore.providerClass": ((ROCKSDB,), _EVICTED),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": (("true",), _STATE),
    "spark.sql.unionOutputPartitioning": (("false",), "each branch of a union is read by itself"),
    "spark.hadoop.fs.defaultFS": (("file:///",), _CACHE),
}
"""Setting → (the values that it may have, the first one by default; why)."""

_CLASSES = ("Tandem puts its file system there", "Use spark.jars for your jars")
_OF_EXECUTORS = ("executors' pods are made like the job's", "Use spec.podTemplate")
_DRIVER = "each replica is a driver of its own"
_ADDRESS = ("a replica's Spark listens where its executors find it, else on this machine only", "Remove it")
_SCRATCH = ("each replica has a folder of its own, removed with it", "Remove it; point TMPDIR elsewhere if need be")
_PYTHON = ("all processes of a replica run one Python", "Run tandem with the Python that the job needs")
_REMOVE = "Remove it"
_WORKERS = ("Python's workers report where the job's code is", _REMOVE)

OWNED: Final[dict[str, tuple[str, str]]] = {
    "spark.master": (_DRIVER, "Use spec.spark.parallelism"),
    "spark.remote": (_DRIVER, _REMOVE),
    "spark.app.name": ("it names the job and the replica", "Use metadata.name"),
    "spark.submit.deployMode": (_DRIVER, _REMOVE),
    "spark.driver.cores": ("it follows from the parallelism", "Use spec.spark.parallelism"),
    "spark.driver.host": _ADDRESS,
    "spark.driver.bindAddress": _ADDRESS,
    "spark.driver.port": _ADDRESS,
    "spark.driver.blockManager.port": _ADDRESS,
    "spark.local.dir": _SCRATCH,
    "spark.sql.warehouse.dir": _SCRATCH,
    "spark.pyspark.python": _PYTHON,
    "spark.pyspark.driver.python": _PYTHON,
    "spark.python.daemon.module": _WORKERS,
    "spark.python.worker.module": _WORKERS,
    "spark.driver.extraClassPath": _CLASSES,
    "spark.executor.extraClassPath": _CLASSES,
    "spark.executorEnv.PYTHONPATH": (
        "the job's code is found by it",
        "Install what the job imports, or use spark.submit.pyFiles",
    ),
    "spark.kubernetes.executor.podTemplateFile": _OF_EXECUTORS,
    "spark.kubernetes.executor.podTemplateContainerName": _OF_EXECUTORS,
    "spark.kubernetes.executor.podNamePrefix": _OF_EXECUTORS,
    "spark.kubernetes.executor.disableConfigMap": _OF_EXECUTORS,
    "spark.kubernetes.executor.eventProcessingInterval": ("a lost executor is replaced without delay", _REMOVE),
    "spark.kubernetes.allocation.batch.delay": ("a lost executor is replaced without delay", _REMOVE),
    "spark.kubernetes.namespace": ("executors run where the job runs", "Use metadata.namespace"),
    "spark.kubernetes.container.image": ("it has a field of its own", "Use spec.image"),
    "spark.kubernetes.container.image.pullPolicy": ("it has a field of its own", "Use spec.imagePullPolicy"),
    "spark.hadoop.fs.file.impl": (_CACHE, _REMOVE),
    "spark.sql.streaming.checkpointLocation": (_CACHE, "Use spec.checkpoint.directory"),
    "spark.sql.streaming.checkpointFileManagerClass": (_CACHE, _REMOVE),
    "spark.sql.streaming.forceDeleteTempCheckpointLocation": (_CACHE, _REMOVE),
    "spark.sql.streaming.asyncProgressTrackingEnabled": (_EPOCHS, _REMOVE),
    "spark.sql.streaming.asyncProgressTrackingCheckpointIntervalMs": (_EPOCHS, _REMOVE),
    "spark.sql.streaming.internal.stateStore.partitions": (
        "the partitions of state must be the same everywhere",
        "Use spec.spark.parallelism",
    ),
}
"""Setting → (why Tandem sets it itself, what to do instead)."""

FIELDS: Final[dict[str, str]] = {
    "spark.driver.memory": "spec.spark.driverMemory",
    "spark.default.parallelism": "spec.spark.parallelism",
    "spark.sql.shuffle.partitions": "spec.spark.parallelism",
    "spark.executor.instances": "spec.executors.instances",
    "spark.executor.cores": "spec.executors.cores",
    "spark.executor.memory": "spec.executors.memory",
}
"""Setting → the field of the manifest that it follows from; the same value is accepted."""

_MANAGER = ("Tandem uses no such cluster manager or server", _REMOVE)
_POD = ("a replica's pod is made by the operator", "Use spec.resources and spec.podTemplate")
_SOURCE = ("the job's sources and sinks are Tandem's own", _REMOVE)
WITHOUT_EFFECT: Final[dict[str, tuple[str, str]]] = {
    "spark.sql.adaptive.": ("spark.sql.adaptive.enabled is false", _REMOVE),
    "spark.sql.cbo.": ("spark.sql.cbo.enabled is false", _REMOVE),
    "spark.speculation.": ("spark.speculation is false", _REMOVE),
    "spark.dynamicAllocation.": ("spark.dynamicAllocation.enabled is false", "Use spec.executors.instances"),
    "spark.kubernetes.dynamicAllocation.": ("spark.dynamicAllocation.enabled is false", _REMOVE),
    "spark.shuffle.service.": ("spark.shuffle.service.enabled is false", _REMOVE),
    "spark.shuffle.push.": ("spark.shuffle.push.enabled is false", _REMOVE),
    "spark.yarn.": _MANAGER,
    "spark.mesos.": _MANAGER,
    "spark.deploy.": _MANAGER,
    "spark.master.": _MANAGER,
    "spark.worker.": _MANAGER,
    "spark.standalone.": _MANAGER,
    "spark.history.": _MANAGER,
    "spark.connect.": _MANAGER,
    "spark.cores.max": _MANAGER,
    "spark.streaming.": ("it is of DStreams, not of Structured Streaming", _REMOVE),
    "spark.driver.memoryOverhead": _POD,
    "spark.driver.minMemoryOverhead": _POD,
    "spark.driver.resource": _POD,
    "spark.driver.supervise": _POD,
    "spark.kubernetes.driver": _POD,
    "spark.kubernetes.submission.": _POD,
    "spark.kubernetes.authenticate.driver.": _POD,
    "spark.kubernetes.file.upload.path": _POD,
    "spark.kubernetes.context": _POD,
    "spark.sql.streaming.fileSource.": _SOURCE,
    "spark.sql.streaming.fileSink.": _SOURCE,
    "spark.sql.streaming.fileStreamSink.": _SOURCE,
    "spark.sql.streaming.kafka.": _SOURCE,
    "spark.sql.streaming.commitProtocolClass": _SOURCE,
    "spark.sql.streaming.disabledV2": _SOURCE,
    "spark.sql.streaming.continuous.": (_EPOCHS, _REMOVE),
    "spark.sql.streaming.realTimeMode.": (_EPOCHS, _REMOVE),
}
"""Beginning of a setting's name → (why it would have no effect, what to do instead)."""

ABOVE_ZERO: Final[dict[str, str]] = {
    "spark.broadcast.blockSize": "Spark would cut blocks of nothing for ever, until its heap is full",
    "spark.sql.streaming.stateStore.maintenanceInterval": "Spark's state store does not start with it",
}
"""Setting → what would become of a value that is not above zero. Spark itself checks it too late, or not at all."""

_UI_WITHOUT_PAGES: Final = (
    *("spark.ui.enabled", "spark.ui.showConsoleProgress", "spark.ui.consoleProgress.", "spark.ui.liveUpdate."),
    *("spark.ui.retained", "spark.ui.dagGraph."),
)
"""Beginnings of names that have an effect without Spark's pages, too: on the terminal, and on what listeners hold."""

OF_EXECUTORS: Final = (
    *("spark.kubernetes.", "spark.decommission.", "spark.storage.decommission.", "spark.task.maxFailures"),
    *("spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions", "spark.executor.extraLibraryPath"),
    *("spark.executor.memoryOverhead", "spark.executor.minMemoryOverhead", "spark.executor.resource."),
    *("spark.executor.logs.", "spark.executor.maxNumFailures", "spark.executor.failuresValidityInterval"),
    *("spark.executor.decommission.", "spark.executor.userClassPathFirst", "spark.executor.defaultExtraClassPath"),
)
"""Beginnings of names that have an effect only where a job has executors."""

_FREE: Final = (
    *("spark.hadoop.", "spark.executorEnv.", "spark.sql.catalog.", "spark.metrics.conf.", "spark.ssl."),
    *(
        "spark.kubernetes.executor.label.",
        "spark.kubernetes.executor.annotation.",
        "spark.kubernetes.executor.secrets.",
    ),
    *("spark.kubernetes.executor.secretKeyRef.", "spark.kubernetes.executor.volumes.", "spark.kubernetes.node."),
    *("spark.kubernetes.executor.node.", "spark.kubernetes.executor.scheduler."),
)
"""Beginnings of names whose rest the user chooses."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a setting cannot be obeyed, and what to do instead."""

    message: str
    remedy: str


def allowed(name: str, value: str) -> bool:
    """Whether a setting of `FIXED` may have this value; case and outer spaces do not count."""
    return value.strip().lower() in (one.lower() for one in FIXED[name][0])


def not_above_zero(name: str, value: str) -> Refusal | None:
    """Why a setting of `ABOVE_ZERO` cannot have this value; None: it can, or Spark says itself what is wrong with it."""
    match = re.fullmatch(r"\s*(-?[0-9]+)\s*[A-Za-z]*\s*", value)
    if name not in ABOVE_ZERO or match is None or int(match[1]) > 0:
        return None
    return Refusal(f"{name} cannot be {value.strip()}: {ABOVE_ZERO[name]}", "Give more, or remove it")


def fixed_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """Every setting of `FIXED`, with the value that the user chose where it is one of those allowed."""
    return {name: conf[name].strip() if name in conf and allowed(name, conf[name]) else values[0]
            for name, (values, _) in FIXED.items()}  # fmt: skip


def without_effect(name: str, conf: Mapping[str, str], has_executors: bool) -> Refusal | None:
    """Why a setting would be passed to Spark for nothing; None: it is not known to be so."""
    if name in FIXED or name in OWNED or name in FIELDS:
        return None
    for beginning, (reason, remedy) in WITHOUT_EFFECT.items():
        if name.startswith(beginning):
            return Refusal(f"{name} would have no effect: {reason}", remedy)
    if not has_executors and name.startswith(OF_EXECUTORS):
        return Refusal(
            f"{name} would have no effect: the job has no executors", "Set spec.executors.instances, or remove it"
        )
    if (
        name.startswith("spark.ui.")
        and not name.startswith(_UI_WITHOUT_PAGES)
        and conf.get("spark.ui.enabled", "").strip().lower() != "true"
    ):
        return Refusal(
            f"{name} would have no effect: Spark's pages are off", 'Set spark.ui.enabled: "true" too, or remove it'
        )
    return None


def misspelt(name: str) -> str | None:
    """The setting of Spark that `name` was probably meant to be; None: Spark knows it, or nothing is like it."""
    known = known_settings()
    if name in known or name in OWNED or name in FIXED or name.startswith(_FREE):
        return None
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, 1, 0.93)
    return by_lower[near[0]] if near else None


def unknown(name: str) -> bool:
    """Whether Spark itself has no such setting: a library may, or the job's own code."""
    return name not in known_settings() and name not in OWNED and not name.startswith(_FREE)


@cache
def known_settings() -> frozenset[str]:
    """The names of all settings that Spark registers, of the version that Tandem depends on."""
    return frozenset(files(__package__).joinpath("spark_names.txt").read_text().split())
