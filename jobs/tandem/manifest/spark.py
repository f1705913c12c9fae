"""Settings of Spark, and those that would make replicas differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from tandem.manifest.problems import refusal
from tandem.manifest.values import Count, Section, Shape

LEAST_DRIVER_MEMORY: Final = 512 * 2**20
_SIZES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def memory_bytes(text: str) -> int:
    """Bytes of `512m`, `1g` (powers of 1024, as Spark reads them)."""
    return int(text[:-1]) * _SIZES[text[-1].lower()]


def _enough(text: str) -> str:
    if memory_bytes(text) < LEAST_DRIVER_MEMORY:
        raise refusal(f"{text} is too little for a Spark driver", "Give at least 512m")
    return text


MemoryText = Annotated[
    str, Shape(r"[0-9]{1,9}[kmgtKMGT]", "is no amount of memory", "Write it as Spark does: 512m, 1g, 4g", 16)
]
Memory = Annotated[MemoryText, AfterValidator(_enough)]


class SparkSpec(Section):
    """Spark's part of a replica."""

    conf: Mapping[str, str] = Field(default_factory=dict, description="Further Spark settings, as strings")
    parallelism: Count = Field(default=1, ge=1, le=1_024, description="Cores of a replica, and partitions of its state")
    driver_memory: Memory = Field(default="1g", description="Heap of a replica's Spark, as Spark writes it: 512m, 1g")


_EPOCHS = "an epoch must be one micro-batch, the same in every replica"
_PLAN = "plans that follow run-time statistics differ between replicas"
_TASKS = "a second attempt of a task may win in one replica only"
_PARTITIONS = ("the partitions of state must be the same everywhere", "Use spec.spark.parallelism")
_CLASSES = ("Tandem puts its file system there", "Use spark.jars for your jars")
_EXECUTORS = ("it has a field of its own", "Use spec.executors")
_CACHE = "Tandem keeps the checkpoint in memory and ships it from there"

FIXED: Final[dict[str, tuple[str, str]]] = {
    "spark.sql.adaptive.enabled": ("false", _PLAN),
    "spark.sql.adaptive.coalescePartitions.enabled": ("false", _PLAN),
    "spark.sql.adaptive.skewJoin.enabled": ("false", _PLAN),
    "spark.sql.cbo.enabled": ("false", _PLAN),
    "spark.sql.cbo.joinReorder.enabled": ("false", _PLAN),
    "spark.speculation": ("false", _TASKS),
    "spark.dynamicAllocation.enabled": ("false", "partitions would move between executors"),
    "spark.sql.streaming.noDataMicroBatches.enabled": ("false", _EPOCHS),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": ("false", _CACHE),
}
"""Setting → (the only value it may have, why)."""

OWNED: Final[dict[str, tuple[str, str]]] = {
    "spark.master": ("each replica is a driver of its own", "Use spec.spark.parallelism"),
    "spark.app.name": ("it names the job and the replica", "Use metadata.name"),
    "spark.submit.deployMode": ("each replica is a driver of its own", "Remove it"),
    "spark.driver.memory": ("it has a field of its own", "Use spec.spark.driverMemory"),
    "spark.driver.cores": ("it follows from the parallelism", "Use spec.spark.parallelism"),
    "spark.default.parallelism": _PARTITIONS,
    "spark.sql.shuffle.partitions": _PARTITIONS,
    "spark.driver.extraClassPath": _CLASSES,
    "spark.executor.extraClassPath": _CLASSES,
    "spark.executor.instances": _EXECUTORS,
    "spark.executor.cores": _EXECUTORS,
    "spark.executor.memory": _EXECUTORS,
    "spark.kubernetes.executor.podTemplateFile": ("executors' pods are made like the job's", "Use spec.podTemplate"),
    "spark.hadoop.fs.file.impl": (_CACHE, "Remove it"),
    "spark.sql.streaming.checkpointLocation": (_CACHE, "Use spec.checkpoint.directory"),
    "spark.sql.streaming.checkpointFileManagerClass": (_CACHE, "Remove it"),
    "spark.sql.streaming.forceDeleteTempCheckpointLocation": (_CACHE, "Remove it"),
    "spark.sql.streaming.asyncProgressTrackingEnabled": (_EPOCHS, "Remove it"),
}
"""Setting → (why Tandem sets it itself, what to do instead)."""
