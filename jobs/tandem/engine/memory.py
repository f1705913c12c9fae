"""When memory or disk does not suffice: how much a container may use, and what did not fit and what would help.

A JVM that runs out of memory ends at once: one that goes on after an `OutOfMemoryError` is in a state that nobody knows, as
the thread that got it may be any.
"""

import errno
import math
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkContext

from tandem.manifest.models import HEAP_PER_BYTE
from tandem.manifest.rules_spark import BESIDE_HEAP
from tandem.manifest.spark import memory_bytes
from tandem.process.info import RefusedError

EXIT_ON_OUT_OF_MEMORY: Final = "-XX:+ExitOnOutOfMemoryError"
_OUT_OF_MEMORY_CODES: Final = (3, 52)
"""Of a JVM that ends at once, and of Spark, where memory outside of the heap is what was missing."""
_MISSING: Final = {3: "Java heap space", 52: "memory for rows on their way, of which there is as much as heap"}
_KILLED: Final = (-9, 137)
_REAPED_S: Final = 3.0
_OUT_OF_MEMORY = re.compile(r"OutOf\w*Memory\w*(?:Error|Exception)[^\n]*")
_HOPELESS_PER_BYTE: Final = 4
"""No plan does with less heap for a byte of an epoch (measured): with more than that missing, a restart would not help."""
_OVER_ARROW = re.compile(
    r"OversizedAllocationException|Required (?:length exceeds|array (?:length|size) too large)"
    r"|ArithmeticException: integer overflow"
)
"""What Java says of a column, or of an array of bytes, over 2 GiB."""
_TO_ARROW = re.compile(r"EpochBridge\.toArrow|FeedWriter\.(?:write|passed)|Frame\.write")
"""In the stack where an epoch's rows leave Spark, of either engine."""
_BASE_BYTES: Final = 256 * 2**20
_MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class EpochSize:
    """What Spark was given last: `size` are the bytes of its records as Arrow."""

    epoch: int
    records: int
    size: int


class OutOfMemoryError(Exception):
    """Spark's heap was full. A restart may help: it was not only the epoch."""


class EpochTooLargeError(RefusedError):
    """An epoch that is in the log does not fit into the heap. A restart would not help."""


class JvmEndedError(Exception):
    """Spark's JVM ended by itself, or was killed."""


def explained(error: BaseException, heap: str, last: EpochSize | None, small: str = "") -> BaseException:
    """`error`, or what stands behind it: the JVM has ended, or was out of memory.

    `heap` : the manifest's `spec.spark.driverMemory`.
    `last` : the epoch that was computed; None: none was yet.
    `small` : what is known against the container's memory, "": nothing.
    """
    if last is not None and exceeds_arrow(error):
        return _output_too_large(last)
    text = str(error)
    found = _OUT_OF_MEMORY.search(text)
    code = jvm_exit_code(wait=isinstance(error, Py4JError | OSError | EOFError))
    if found is not None or code in _OUT_OF_MEMORY_CODES:
        return out_of_memory(heap, last, found[0].strip() if found else _MISSING[code or 3])
    if code in _KILLED:
        return JvmEndedError(
            f"Spark's JVM was killed by signal 9{_while_computing(last)}. Where there is no other reason, the machine or "
            f"the container was out of memory: beside the heap (spec.spark.driverMemory: {heap}) a replica needs about "
            "700Mi, and eight times spec.ordering.maxBytesPerEpoch" + (f"; {small}" if small else "")
        )
    if small and "JAVA_GATEWAY_EXITED" in text:
        return JvmEndedError(f"Spark's JVM ended before it could be used; {small}")
    if code is not None and isinstance(error, Py4JError | OSError | EOFError):
        return JvmEndedError(
            f"Spark's JVM ended with exit code {code}{_while_computing(last)}: see the lines before in the log"
        )
    return error


def exceeds_arrow(error: BaseException) -> bool:
    """Whether an epoch's output is larger than Arrow holds: no record is the cause alone, and a restart does not help."""
    texts = [f"{one} {getattr(one, '_stackTrace', '')}" for one in _chain(error)]
    return any(_TO_ARROW.search(text) is not None and _OVER_ARROW.search(text) is not None for text in texts)


def _output_too_large(last: EpochSize) -> EpochTooLargeError:
    return EpochTooLargeError(
        f"the rows that the job makes of epoch {last.epoch}, with {last.records:,} records of {in_mib(last.size)} in all, "
        "are over 2 GiB, which a column of Arrow holds, for all sinks together. The epoch is in the log, and stays as it "
        "is; nothing is lost. Let the job's code make less of its records, and let it go on with the changed code. For "
        "epochs that are not cut yet, lower spec.ordering.maxRecordsPerEpoch or spec.ordering.maxBytesPerEpoch"
    )


def jvm_exit_code(wait: bool = False) -> int | None:
    """How the JVM of this process ended; None while it runs, or if there is none. `wait`: it is about to end."""
    gateway: Any = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:
        return None
    if wait:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_REAPED_S)
    return process.poll()


def out_of_memory(heap: str, last: EpochSize | None, said: str) -> Exception:
    """The error for a heap that was full. Raises nothing."""
    have = memory_bytes(heap)
    if last is None:
        return OutOfMemoryError(
            f"Spark's heap of {heap} was full before any epoch was computed ({said}): the job's plan, a broadcast or a "
            "table that it reads needs more. Raise spec.spark.driverMemory, and the container's memory with it"
        )
    what = f"epoch {last.epoch} with {last.records:,} records of {in_mib(last.size)} in all"
    if is_hopeless(last.size, have):
        need = f"{suggested_heap(last.size, have)}m"
        return EpochTooLargeError(
            f"{what} does not fit into Spark's heap of {heap} ({said}). It is in the log, and stays as it is: raise "
            f"spec.spark.driverMemory to {need} or more, and the container's memory with it, and start the job again; "
            "nothing is lost. When the epoch is published, the old value does again: later epochs are no larger than "
            "spec.ordering.maxBytesPerEpoch, unless a single record is"
        )
    return OutOfMemoryError(
        f"Spark's heap of {heap} was full in {what} ({said}). The job's state, what its code keeps, or what it makes of a "
        "record (explode) needs more; the epoch is in the log, and stays as it is: raise spec.spark.driverMemory and the "
        "container's memory, or lower spec.ordering.maxBytesPerEpoch (for epochs that are not cut yet)"
    )


def is_hopeless(size: int, heap: int) -> bool:
    """Whether no plan computes an epoch of `size` bytes with so much heap, bytes."""
    return size * _HOPELESS_PER_BYTE > heap


def suggested_heap(size: int, have: int) -> int:
    """MiB of heap that an epoch of `size` bytes is computed with, at least twice what there was."""
    needed = max(2 * have, HEAP_PER_BYTE * size // 2 + _BASE_BYTES)
    return math.ceil(needed / (256 * _MIB)) * 256


def in_mib(size: int) -> str:
    """`343.3 MiB`."""
    return f"{size / _MIB:,.1f} MiB"


def _while_computing(last: EpochSize | None) -> str:
    return (
        "" if last is None else f" while it computed epoch {last.epoch} ({last.records:,} records, {in_mib(last.size)})"
    )


_CGROUPS: Final = Path("/sys/fs/cgroup")
_FILES: Final = ("memory.max", "memory/memory.limit_in_bytes")
_NONE_BYTES: Final = 2**60
"""Version 1 of cgroups writes a number of about this size where there is no limit."""


def memory_limit(cgroups: Path = _CGROUPS) -> int | None:
    """The limit of the container, in bytes; None: there is none, or nobody says."""
    for name in _FILES:
        try:
            limit = (cgroups / name).read_text().strip()
        except OSError:
            continue
        return int(limit) if limit.isdecimal() and int(limit) < _NONE_BYTES else None
    return None


def too_small(heap: str, limit: int | None) -> str:
    """What is to be said of a limit that a replica with a full heap (`spec.spark.driverMemory`) exceeds; "": nothing."""
    needed = memory_bytes(heap) + max(BESIDE_HEAP, memory_bytes(heap) // 10)
    if limit is None or limit >= needed:
        return ""
    return (
        f"this container may use {limit // _MIB}Mi of memory, by spec.resources.limits.memory or a LimitRange of the "
        f"namespace, and a replica with a heap of {heap} (spec.spark.driverMemory) needs {-(-needed // _MIB)}Mi or more. It "
        "is killed when it takes more than it may: set spec.resources.limits.memory, or lower driverMemory"
    )


_SAID: Final = ("No space left on device", "Disk quota exceeded")
_CODES: Final = (errno.ENOSPC, errno.EDQUOT)


class NoRoomError(Exception):
    """A file could not be written. A restart may help: what is not needed any more is removed then."""


def no_room(error: BaseException, checkpoint: Path) -> NoRoomError | None:
    """What is to be said of `error` if a full disk is behind it; None: it is something else.

    `checkpoint` : the place of the job's checkpoint.
    """
    if not any(_tells(one) for one in _chain(error)):
        return None
    place = next((folder for folder in (checkpoint, *checkpoint.parents) if folder.exists()), Path("/"))
    about = os.statvfs(place)
    size, free = about.f_frsize * about.f_blocks // _MIB, about.f_frsize * about.f_bavail // _MIB
    return NoRoomError(
        f"there was no room left for a file: {_first(error)}. The checkpoint is in {checkpoint}, whose file system has "
        f"{size:,} MiB, {free:,} of them free now; nothing is lost. Give it more room: spec.checkpoint.directory on a "
        "larger disk or, in a pod, where it is in memory, a larger spec.resources.limits.memory and no small sizeLimit of "
        "the volume `checkpoint`; in a container of Docker a larger --shm-size"
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__, getattr(one, "_cause", None)]


def _tells(error: BaseException) -> bool:
    text = f"{error} {getattr(error, '_stackTrace', '')}"
    return getattr(error, "errno", None) in _CODES or any(said in text for said in _SAID)


def _first(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
