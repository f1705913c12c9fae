"""Spark's part of a manifest; what becomes of each of its settings is in `spark_settings`."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from tandem.manifest.problems import refusal
from tandem.manifest.values import Count, Section, Shape

LEAST_MEMORY: Final = 512 * 2**20
MOST_MEMORY: Final = 64 * 2**40
"""Above what any machine has, and below what a JVM can count."""
_SIZES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def memory_bytes(text: str) -> int:
    """Bytes of `512m`, `1g` (powers of 1024, as Spark reads them)."""
    return int(text[:-1]) * _SIZES[text[-1].lower()]


def _possible(text: str) -> str:
    if memory_bytes(text) < LEAST_MEMORY:
        raise refusal(f"{text} is too little for Spark", "Give at least 512m")
    if memory_bytes(text) > MOST_MEMORY:
        raise refusal(f"{text} is more than any machine has", "Give at most 64t")
    return text


Memory = Annotated[
    str,
    Shape(r"[0-9]{1,9}[kmgtKMGT]", "is no amount of memory", "Write it as Spark does: 512m, 1g, 4g", 16),
    AfterValidator(_possible),
]


class SparkSpec(Section):
    """Spark's part of a replica."""

    conf: Mapping[str, str] = Field(default_factory=dict, description="Further Spark settings, as strings")
    parallelism: Count = Field(default=1, ge=1, le=1_024, description="Cores of a replica, and partitions of its state")
    driver_memory: Memory = Field(default="1g", description="Heap of a replica's Spark, as Spark writes it: 512m, 1g")
