"""What the settings of Spark must keep to, and what its memory must fit into."""

import re
from collections.abc import Iterator
from typing import Final

from tandem.manifest.models import LEAST_HEAP_PER_BYTE, MOST_BYTES_PER_EPOCH, ReplicatedStreamJob, Spec
from tandem.manifest.problems import Issue, Location
from tandem.manifest.quantities import amount
from tandem.manifest.spark import memory_bytes
from tandem.manifest.spark_settings import (
    FIELDS,
    FIXED,
    OWNED,
    allowed,
    misspelt,
    not_above_zero,
    without_effect,
)
from tandem.manifest.time_zones import wrong_time_zone

_CONF: Final[Location] = ("spec", "spark", "conf")
_JAVA_OPTIONS: Final = ("extraJavaOptions", "defaultJavaOptions")
_MIB: Final = 2**20
BESIDE_HEAP: Final = 384 * _MIB
"""Bytes that a replica needs at least beside its heap, for the rest of the JVM and for Python; as many as Spark takes."""


def spark_settings_keep_replicas_equal(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for key, value in job.spec.spark.conf.items():
        at: Location = (*_CONF, key)
        if not key.startswith("spark."):
            yield Issue(at, f"{key} is no setting of Spark", f"Settings begin with spark., perhaps spark.{key}")
        elif key in OWNED:
            reason, remedy = OWNED[key]
            yield Issue(at, f"Tandem sets {key} itself: {reason}", remedy)
        elif key in FIXED and not allowed(key, value):
            values, reason = FIXED[key]
            yield Issue(at, f"{key} must be {' or '.join(values)}: {reason}", "Remove it")


def spark_settings_have_an_effect(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """Finds what Spark, or Tandem, would pass over in silence, and what Spark would fail of without a word."""
    conf = job.spec.spark.conf
    for key, value in conf.items():
        at: Location = (*_CONF, key)
        if not key.startswith("spark."):
            continue
        if key in FIELDS and not _same(key, value, job.spec):
            remedy = f"Use {FIELDS[key]}, which is {_field(key, job.spec)}"
            yield Issue(at, f"Tandem sets {key} itself: it has a field of its own", remedy)
        elif refusal := without_effect(key, conf, bool(job.spec.executors.instances)) or not_above_zero(key, value):
            yield Issue(at, refusal.message, refusal.remedy)
        elif (meant := misspelt(key)) is not None:
            yield Issue(at, f"Spark has no setting {key}, and passes over it in silence", f"Did you mean {meant}?")
        elif key == "spark.sql.session.timeZone" and (wrong := wrong_time_zone(value)) is not None:
            yield Issue(at, wrong.message, wrong.remedy)
        elif key.endswith(_JAVA_OPTIONS) and (heap := re.search(r"(?<!\S)-Xmx\S*", value)) is not None:
            field = "spec.executors.memory" if ".executor." in key else "spec.spark.driverMemory"
            yield Issue(at, f"Spark takes no {heap[0]} in {key}", f"Use {field}")


def _field(key: str, spec: Spec) -> str:
    section, name = FIELDS[key].split(".")[1:]
    return str(getattr(getattr(spec, section), "driver_memory" if name == "driverMemory" else name))


def _same(key: str, value: str, spec: Spec) -> bool:
    given, field = value.strip().lower(), _field(key, spec).lower()
    if key.endswith("memory") and re.fullmatch(r"[0-9]+[kmgt]b?", given):
        return memory_bytes(given.removesuffix("b")) == memory_bytes(field)
    return given == field


def epochs_fit_into_the_heap(job: ReplicatedStreamJob) -> Iterator[Issue]:
    given, heap = job.spec.ordering.max_bytes_per_epoch, memory_bytes(job.spec.spark.driver_memory)
    if given is None:
        return
    most = heap // LEAST_HEAP_PER_BYTE // _MIB
    if amount(given) > MOST_BYTES_PER_EPOCH:
        yield Issue(("spec", "ordering", "maxBytesPerEpoch"), f"an epoch of {given} is too large", "Give 1Gi or less")
        return
    if amount(given) > most * _MIB:
        at: Location = ("spec", "ordering", "maxBytesPerEpoch")
        message = (
            f"an epoch of {given} does not fit into a heap of {job.spec.spark.driver_memory} (spec.spark.driverMemory): "
            f"Spark needs at least {LEAST_HEAP_PER_BYTE} bytes for each, and for many plans twice as many"
        )
        yield Issue(
            at, message, f"Give {most}Mi or less, or raise driverMemory", (at, ("spec", "spark", "driverMemory"))
        )


def heap_fits_into_the_container(job: ReplicatedStreamJob) -> Iterator[Issue]:
    limit = job.spec.resources.limits.get("memory")
    if limit is None:
        return
    heap = memory_bytes(job.spec.spark.driver_memory)
    needed = -(-(heap + max(BESIDE_HEAP, heap // 10)) // _MIB)
    if amount(limit) < needed * _MIB:
        at: Location = ("spec", "resources", "limits", "memory")
        message = (
            f"a heap of {job.spec.spark.driver_memory} (spec.spark.driverMemory) does not fit into {limit}: beside it, a "
            f"replica needs {BESIDE_HEAP // _MIB}Mi, or a tenth of the heap if that is more, and room for its state"
        )
        yield Issue(
            at, message, f"Give {needed}Mi or more, or lower driverMemory", (at, ("spec", "spark", "driverMemory"))
        )
