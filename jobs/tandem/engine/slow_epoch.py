"""An epoch that lasts, in words: what it is, what it may wait for, and what to do."""

from typing import Final

from tandem.engine.memory import EpochSize, in_mib, is_hopeless, suggested_heap
from tandem.engine.stacks import places
from tandem.manifest.spark import memory_bytes
from tandem.protocol.values import EpochRange

_MOST_INPUTS: Final = 3
_NO_PLACE: Final = (
    "No Python code of the job is seen to run: a large epoch or a slow machine ends by itself, a join that makes far more "
    "rows than it gets may not."
)
_CORRECT: Final = "Nothing is lost meanwhile. If it does not end: correct the job's code, and let the changed job go on"


def begun(epoch: EpochRange) -> tuple[str, str]:
    """What an epoch is, and its first step: its records are fetched."""
    inputs = sorted(tp for tp, end in epoch.ends.items() if end > epoch.starts.get(tp, 0))
    places = ", ".join(f"{tp.topic}/{tp.partition} up to {epoch.ends[tp]}" for tp in inputs[:_MOST_INPUTS])
    more = f" and {len(inputs) - _MOST_INPUTS} more" if len(inputs) > _MOST_INPUTS else ""
    count = epoch.ends.records_since(epoch.starts)
    records = "1 record" if count == 1 else f"{count:,} records"
    return f"epoch {epoch.epoch} with {records}", f"its records in Kafka, {places}{more}"


def remedy(command: str, given: EpochSize | None, heap: str) -> str:
    """Where the job's code is that computes now, and what to do; takes a second or two at most.

    `command` : by which the user lets the job go on with changed code.
    `given`, `heap` : the epoch, and the manifest's `spec.spark.driverMemory`.
    """
    return (
        f"{too_small(given, heap)}{places() or _NO_PLACE} {_CORRECT} with `{command}`, or on Kubernetes by applying it"
    )


def too_small(given: EpochSize | None, heap: str) -> str:
    """That an epoch may not fit into a heap: a JVM that is nearly full is busy with that for minutes before it ends."""
    if given is None or not is_hopeless(given.size, memory_bytes(heap)):
        return ""
    need = f"{suggested_heap(given.size, memory_bytes(heap))}m"
    return (
        f"Its {in_mib(given.size)} may not fit into Spark's heap of {heap}: if so, raise spec.spark.driverMemory to {need} "
        "or more, and the container's memory with it. "
    )
