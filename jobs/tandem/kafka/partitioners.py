"""Which partition a key goes to, by the producers' partitioner, and which partitioner a topic's producers use. Pure.

Equal keys are in one partition whatever the partitioner is. Which of a lane's keys another lane is to have, only the
partitioner says.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from zlib import crc32

_MASK: Final = 0xFFFFFFFF
_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C


def murmur2(key: bytes) -> int:
    """The hash of Kafka's own clients, without its sign.

    >>> murmur2(b"21") % 1_000
    340
    """
    length = len(key)
    h = (_SEED ^ length) & _MASK
    whole = length // 4 * 4
    for start in range(0, whole, 4):
        k = int.from_bytes(key[start : start + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if left := key[whole:]:
        h = (h ^ int.from_bytes(left, "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return (h ^ h >> 15) & 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Partitioner:
    """`hashed` modulo the number of partitions is a key's partition; `sql`: the same of an expression of bytes, in Spark."""

    name: str
    hashed: Callable[[bytes], int]
    sql: str

    def partition(self, key: bytes, partitions: int) -> int:
        """Of a topic with so many."""
        return self.hashed(key) % partitions


PARTITIONERS: Final[Mapping[str, Partitioner]] = MappingProxyType(
    {
        one.name: one
        for one in (
            Partitioner("murmur2", murmur2, "tandem_murmur2({})"),  # Kafka's Java clients, and most others
            Partitioner("crc32", crc32, "crc32({})"),  # librdkafka's `consistent`
        )
    }
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A record of an input: its key, the partition that it is in, and of how many."""

    key: bytes
    partition: int
    partitions: int


def fitting(seen: Iterable[Seen]) -> tuple[Partitioner, ...]:
    """The partitioners that put all these records where they are."""
    records = tuple(seen)
    return tuple(
        one
        for one in PARTITIONERS.values()
        if all(one.partition(record.key, record.partitions) == record.partition for record in records)
    )
