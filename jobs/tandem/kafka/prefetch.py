"""How much of each input partition a consumer fetches ahead: partitions share the memory, however many there are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_ALL_KIB: Final = 65_536
_ALL_RECORDS: Final = 80_000
_MOST_KIB: Final = 16_384
_MOST_RECORDS: Final = 20_000
_LEAST_KIB: Final = 64
_LEAST_RECORDS: Final = 500
"""One partition has at most, and at least, so much; all together the rest."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one partition may have waiting in librdkafka, and once more with who consumes. A single record may be larger.

    >>> Share.of(1), Share.of(64)
    (Share(kib=16384, records=20000), Share(kib=1024, records=1250))
    """

    kib: int
    records: int

    @classmethod
    def of(cls, partitions: int, all_kib: int = _ALL_KIB, most_records: int = _MOST_RECORDS) -> Share:
        """Of one of so many partitions; `all_kib`: of all of them together."""
        count = max(1, partitions)
        return cls(
            min(_MOST_KIB, max(_LEAST_KIB, all_kib // count)),
            min(most_records, max(_LEAST_RECORDS, _ALL_RECORDS // count)),
        )

    @property
    def bytes(self) -> int:
        """`kib` in bytes."""
        return self.kib * 1_024

    @property
    def queue(self) -> dict[str, str | int | bool]:
        """Settings of a consumer: it asks for no more of a partition of which so much waits."""
        return {"queued.max.messages.kbytes": self.kib, "queued.min.messages": self.records}

    @property
    def settings(self) -> dict[str, str | int | bool]:
        """A setting that the user may choose: how much of a partition an answer of a broker has at most, bytes."""
        return {"fetch.message.max.bytes": min(1_048_576, self.bytes)}
