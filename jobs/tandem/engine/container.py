"""How much memory the container of this process may use: what its pod asked for, or what a LimitRange has given it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tandem.manifest.rules_spark import BESIDE_HEAP
from tandem.manifest.spark import memory_bytes

_MIB: Final = 2**20
_CGROUPS: Final = Path("/sys/fs/cgroup")
_FILES: Final = ("memory.max", "memory/memory.limit_in_bytes")
_NONE_BYTES: Final = 2**60
"""Version 1 of cgroups writes a number of about this size where there is no limit."""


def memory_limit(cgroups: Path = _CGROUPS) -> int | None:
    """The limit of the container, in bytes; None: there is none, or nobody says."""
    for name in _FILES:
        try:
            told = (cgroups / name).read_text().strip()
        except OSError:
            continue
        return int(told) if told.isdecimal() and int(told) < _NONE_BYTES else None
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
