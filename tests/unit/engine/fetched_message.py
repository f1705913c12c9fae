"""A record as the Kafka client hands it over, which only a broker can make it do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from confluent_kafka import Message


@dataclass(frozen=True)
class _Fetched:
    at: tuple[str, int, int]
    content: tuple[bytes | None, bytes | None]
    created: tuple[int, int]

    def topic(self) -> str:
        return self.at[0]

    def partition(self) -> int:
        return self.at[1]

    def offset(self) -> int:
        return self.at[2]

    def key(self) -> bytes | None:
        return self.content[0]

    def value(self) -> bytes | None:
        return self.content[1]

    def timestamp(self) -> tuple[int, int]:
        return self.created


def fetched_message(
    topic: str,
    partition: int,
    offset: int,
    *,
    key: bytes | None = b"k",
    value: bytes | None = None,
    timestamp: tuple[int, int] = (1, 0),
) -> Message:
    """A record without headers; `timestamp`: its type, as librdkafka numbers them, and ms."""
    return cast(Message, _Fetched((topic, partition, offset), (key, value), timestamp))
