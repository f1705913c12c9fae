"""A record to publish."""

from collections.abc import Sequence
from typing import NamedTuple

Headers = Sequence[tuple[str, bytes | None]]


class OutputRecord(NamedTuple):
    """One record to publish. `partition` −1 leaves it to the key (murmur2, as every Java producer does)."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int = -1
